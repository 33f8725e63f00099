/** The first page: what arrives, what was found, how far the pass is behind, which rules run. */
import { SEVERITIES, type Severity, type SupportCounts } from '../../model.ts';
import { type Html, html } from '../html.ts';
import { countBars, line, severityBars } from './charts.ts';
import { ago, count, duration, words } from './format.ts';
import { appPage, empty, type Look, type Viewer } from './shell.ts';

/** Counts of a workspace, as the database has them. */
export interface Overview {
  /** per hour of the last day, oldest first: steps that arrived */
  readonly arrivals: readonly { readonly atMs: number; readonly steps: number }[];
  /** per day of the last two weeks, oldest first */
  readonly findings: readonly {
    readonly atMs: number;
    readonly counts: Readonly<Partial<Record<Severity, number>>>;
  }[];
  /** of the last two weeks, the most frequent first */
  readonly categories: readonly { readonly category: string; readonly findings: number }[];
  readonly runs: {
    /** has anything arrived at all? */
    readonly any: boolean;
    /** finished and waiting for the pass */
    readonly waiting: number;
    /** when the longest waiting one was last added to */
    readonly oldestWaitingMs: number | null;
    /** of the last day */
    readonly withoutText: number;
    readonly failedEvaluations: number;
  };
}

export interface RuleCounts {
  readonly counts: SupportCounts;
  readonly enabled: number;
  readonly experimental: boolean;
  readonly version: string;
}

const hour = (atMs: number, iso: (ms: number) => string) => iso(atMs).slice(11, 16);
const day = (atMs: number, iso: (ms: number) => string) => iso(atMs).slice(5, 10);

export interface OverviewPage {
  readonly overview: Overview;
  readonly rules: RuleCounts;
  readonly observeUrl: string;
  readonly nowMs: number;
  /** milliseconds since 1970 as RFC 3339 */
  readonly iso: (ms: number) => string;
}

export function overviewPage(look: Look, viewer: Viewer, data: OverviewPage): Html {
  const main = !data.overview.runs.any ? firstSteps(data.observeUrl) : figures(data);
  return appPage(look, viewer, {
    title: 'Overview',
    current: '/app',
    main: html`<h1>Overview</h1>
<p class="lead">What arrives in ${viewer.workspaceName}, and what the rules found in it. Advisory: nothing is ever blocked.</p>
${main}`,
  });
}

function firstSteps(observeUrl: string): Html {
  return empty(
    'Nothing has arrived yet',
    html`<p>Make an <a href="/app/keys">agent key</a> and point an exporter here:</p>
<pre><code>OTEL_EXPORTER_OTLP_ENDPOINT=${observeUrl}
OTEL_EXPORTER_OTLP_PROTOCOL=http/json
OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer &lt;agent key&gt;</code></pre>
<p>Most instrumentations leave prompts out until they are told otherwise:
<a href="/docs/instrumentations">what to switch on</a>. To see it work at once, run <code>npm run demo</code>.</p>`,
  );
}

/** Small rates keep a digit behind the point. */
const perMinute = (rate: number): string => (rate < 10 ? rate.toFixed(1) : count(rate));

function figures({ overview, rules, nowMs, iso }: OverviewPage): Html {
  const { runs, arrivals, findings, categories } = overview;
  const steps = arrivals.reduce((sum, slot) => sum + slot.steps, 0);
  const found = findings.flatMap((slot) => Object.values(slot.counts));
  const total = found.reduce((sum, value) => sum + value, 0);
  return html`<div class="grid">
<div class="panel"><h2>Findings, 14 days</h2><p class="figure"><a href="/app/findings">${count(total)}</a></p>
<p class="soft">${SEVERITIES.map((severity) => {
    const value = findings.reduce((sum, slot) => sum + (slot.counts[severity] ?? 0), 0);
    return value > 0 && html`<span class="${severity}">${count(value)} ${severity}</span> `;
  })}</p></div>
<div class="panel"><h2>Steps, 24 hours</h2><p class="figure">${count(steps)}</p>
<p class="soft">${perMinute(steps / 1440)} a minute on average</p></div>
<div class="panel"><h2>The pass</h2><p class="figure">${count(runs.waiting)} waiting</p>
<p class="soft">${
    runs.oldestWaitingMs === null
      ? 'nothing is due'
      : `the longest for ${duration(nowMs - runs.oldestWaitingMs)}`
  }</p></div>
<div class="panel"><h2>Rules</h2><p class="figure"><a href="/app/rules">${count(rules.enabled)} run</a></p>
<p class="soft">${count(rules.counts.as_written)} as written, ${count(rules.counts.degraded)} degraded,
${count(rules.counts.unsupported)} cannot, ${count(rules.counts.fails_own_examples)} fail their own examples;
corpus ${rules.version}${rules.experimental ? ', experimental tier on' : ''}</p></div>
</div>
${
  runs.failedEvaluations > 0 &&
  html`<p class="notice error">${count(runs.failedEvaluations)} runs could not be evaluated in the last day:
<a href="/app/runs?evaluation=evaluation_failed">look at them</a>.</p>`
}
${
  runs.withoutText > 0 &&
  html`<p class="notice">${count(runs.withoutText)} runs of the last day told no text a rule could look at.
<a href="/docs/instrumentations">What to switch on</a>.</p>`
}
<div class="grid wide">
<section class="panel"><h2>Findings by day</h2>
${severityBars(
  'Findings by day and severity',
  findings.map(({ atMs, counts }) => ({ label: day(atMs, iso), counts })),
)}</section>
<section class="panel"><h2>Steps by hour</h2>
${line(
  'Steps that arrived, by hour',
  arrivals.map(({ atMs, steps: value }) => ({ label: hour(atMs, iso), value })),
)}</section>
<section class="panel"><h2>By category</h2>
${
  categories.length === 0
    ? html`<p class="soft">No findings in two weeks.</p>`
    : countBars(
        'Findings of two weeks',
        categories.map(({ category, findings: value }) => ({
          label: words(category),
          href: `/app/findings?category=atr_${category.replaceAll('-', '_')}`,
          value,
        })),
      )
}</section>
</div>
<p class="soft">As of ${ago(nowMs, nowMs)}; times are UTC.</p>`;
}
