/** The first page: arrivals, findings, time to evaluation, the rules that run, refused requests. */
import { categoryName } from '../../model/finding-fields.ts';
import type {
  CountedFindings,
  KindCount,
  NamedCount,
  OverviewVisit,
  ReplicaState,
  Slot,
  WorkspaceOverview,
} from '../../model/overview.ts';
import {
  type ListedRefusal,
  type ListedRefusals,
  NOTHING_KNOWN,
} from '../../model/refused-requests.ts';
import { allRules, CATEGORIES, runningRules, SEVERITIES } from '../../model/rules.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { barChart, courses } from './charts.ts';
import { withParameters } from './findings/finding-filters.ts';
import { count, dayLabel, duration, hourLabel, moment, term, time, words } from './format.ts';
import { corpusName, type RuleFacts, settingsText, stateTable } from './rule-counts.ts';
import { appPage, empty, type Look, listTable, NUMBER, type Viewer } from './shell.ts';

export interface OverviewPage {
  readonly overview: WorkspaceOverview;
  /** null: there is none */
  readonly replica: ReplicaState | null;
  readonly rules: RuleFacts;
  readonly refused: ListedRefusals;
  readonly visit: OverviewVisit;
  readonly titleOf: (ruleId: string) => string;
  readonly observeUrl: string;
  readonly nowMs: number;
  readonly iso: (ms: number) => string;
}

export function overviewPage(look: Look, viewer: Viewer, data: OverviewPage): Html {
  const main = !data.overview.runs.any
    ? firstSteps(viewer, data.observeUrl)
    : figures(data, viewer);
  return appPage(look, viewer, {
    title: 'Overview',
    current: '/app',
    main: html`<h1>Overview</h1>
<p class="lead">Telemetry that arrives in ${viewer.workspaceName}, and what the ${term('rule-and-corpus', 'rules')} found in it. ${term('finding', 'Findings')} are advisory: nothing is blocked.</p>
${main}
${refusedPanel(data.refused, data.nowMs)}`,
  });
}

function firstSteps(viewer: Viewer, observeUrl: string): Html {
  const key = viewer.isAdmin
    ? html`Create an <a href="/app/keys">agent key</a>`
    : html`Ask an admin for an agent key`;
  return empty(
    'Nothing has arrived yet',
    html`<ol class="first"><li><p>${key}, and point an exporter here:</p>
<pre tabindex="0"><code>OTEL_EXPORTER_OTLP_ENDPOINT=${observeUrl}
OTEL_EXPORTER_OTLP_PROTOCOL=http/json
OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20&lt;agent key&gt;</code></pre></li>
<li><p>Most instrumentations do not send prompts by default:
<a href="/docs/instrumentations">turn on content capture</a>.</p></li>
<li><p>A ${term('run', 'run')} is ${term('evaluation', 'evaluated')} about a minute after its last ${term('step', 'step')} arrived. What the rules find is listed under
<a href="/app/findings">findings</a>.</p></li></ol>
<p>To see an example now, run <code>npm run demo</code> on the server’s machine.</p>`,
  );
}

/** Small rates have one decimal. */
const perMinute = (rate: number): string =>
  rate > 0 && rate < 0.1 ? 'less than 0.1' : rate < 10 ? rate.toFixed(1) : count(rate);

const MINUTES_PER_DAY = 1440;

type Days = WorkspaceOverview['days'];

function foundOn({ counts }: Days[number], fits: (kind: KindCount) => boolean): number | null {
  if (counts === null) return null;
  return counts.reduce((sum, kind) => sum + (fits(kind) ? kind.findings : 0), 0);
}

const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((all, value) => all + (value ?? 0), 0);

/** Returns the time of the oldest counted slot; slots are counted from the newest back. */
function countedSince(slots: readonly Slot<unknown>[], iso: OverviewPage['iso']): string {
  const [oldest] = slots.filter(({ counts }) => counts !== null);
  return iso(oldest?.atMs ?? 0);
}

function openList({ overview, iso }: OverviewPage, filter: Readonly<Record<string, string>>) {
  return withParameters('state=open', { since: countedSince(overview.days, iso), ...filter });
}

function runList({ overview, iso }: OverviewPage, filter: Readonly<Record<string, string>>) {
  const since = countedSince(overview.hours, iso);
  return `/app/runs?${new URLSearchParams({ ...filter, since })}`;
}

function figures(data: OverviewPage, viewer: Viewer): Html {
  return html`${notices(data)}${cards(data)}
${topLists(data.overview.top, data.titleOf, (filter) => openList(data, filter))}
<div class="grid wide">
<section class="panel">${severityChart(data)}</section>
<section class="panel">${categoryCourses(data)}</section>
<section class="panel">${arrivalChart(data)}</section>
<section class="panel">${lagChart(data)}</section>
<section class="panel"><h2>Rules by state</h2>${stateTable(data.rules, viewer)}<p class="soft">Corpus ${corpusName(data.rules.snapshot.version, data.rules.snapshot.identity)}</p></section>
</div>
<p class="soft">Counted at ${moment(data.iso(data.nowMs - (data.nowMs % 1000)))}; days are in UTC.
${hasGaps(data.overview) && 'Older hours and days are still being counted.'}
${data.replica !== null && replicaLine(data.replica)}</p>`;
}

/** How old a page may be that a replica answered. */
const replicaLine = ({ isUsed, lagMs }: ReplicaState): string =>
  isUsed
    ? `Read replica: at most ${duration(lagMs)} behind.`
    : `Read replica: not used, last known to be up to date ${duration(lagMs)} ago; pages are read from the primary.`;

const hasGaps = ({ hours, days }: WorkspaceOverview): boolean =>
  [...hours, ...days].some(({ counts }) => counts === null);

const upTo = ({ findings, more }: CountedFindings): Html => html`${count(findings)}${more && '+'}`;

function newCard({ visit: { since, newFindings }, nowMs }: OverviewPage): HtmlValue {
  if (newFindings === null || since === null) return null;
  const list = withParameters('state=open', { since: since.toISOString() });
  return html`<section class="panel"><h2>New since your last visit</h2><p class="figure"><a href="${list}">${upTo(newFindings)}</a></p>
<p class="soft">findings since you looked ${time(since, nowMs)}</p></section>`;
}

function assignedCard({ visit: { assigned } }: OverviewPage): Html {
  const list = withParameters('state=open', { assignee: 'me' });
  return html`<section class="panel"><h2>Assigned to you</h2><p class="figure"><a href="${list}">${upTo(assigned)}</a></p>
<p class="soft">open findings${assigned.new > 0 && html`, <strong>${count(assigned.new)} assigned since your last visit</strong>`}</p></section>`;
}

function evaluationHealth({ hours, runs }: WorkspaceOverview): string {
  const failed = sum(hours.map(({ counts }) => counts?.failedEvaluations ?? 0));
  const lags = hours.flatMap(({ counts }) => counts?.lagMs ?? []);
  const slowest = Math.max(0, ...lags.map(({ most }) => most));
  const lag = lags.length === 0 ? '' : `, slowest evaluation ${duration(slowest)}`;
  const state = failed > 0 ? `${count(failed)} failed` : runs.moreWait ? 'behind' : 'healthy';
  return `24 hours: ${state}${lag}`;
}

function cards(data: OverviewPage): Html {
  const { overview, rules, nowMs } = data;
  const { runs, hours, days } = overview;
  const steps = sum(hours.map(({ counts }) => counts?.steps ?? 0));
  const severities = SEVERITIES.map((severity) => ({
    severity,
    findings: sum(days.map((day) => foundOn(day, (kind) => kind.severity === severity))),
  })).filter(({ findings }) => findings > 0);
  const total = sum(severities.map(({ findings }) => findings));
  const perDay = days.map((day) => foundOn(day, () => true));
  return html`<div class="grid cards">${newCard(data)}${assignedCard(data)}
<section class="panel"><h2>Open findings, 14 days</h2><p class="figure"><a href="${openList(data, {})}">${count(total)}</a></p>
<p class="soft">${
    severities.length === 0
      ? 'no open findings'
      : html`<span class="row">${severities.map(
          ({ severity, findings }) =>
            html`<a class="${severity}" href="${openList(data, { severity })}">${count(findings)} ${severity}</a> `,
        )}</span>`
  }</p>${weekTrend(perDay)}</section>
<section class="panel"><h2>${term('step', 'Steps')}, 24 hours</h2><p class="figure">${count(steps)}</p>
<p class="soft">${perMinute(steps / MINUTES_PER_DAY)} per minute on average, in ${count(sum(hours.map(({ counts }) => counts?.runs ?? 0)))} <a href="${runList(data, {})}">runs</a> (${term('run', 'what is a run?')})</p></section>
<section class="panel"><h2>${term('evaluation', 'Evaluation')} queue</h2><p class="figure">${runs.waiting === 0 ? 'empty' : html`${count(runs.waiting)}${runs.moreWait && ' or more'} waiting`}</p>
<p class="soft">${
    runs.oldestWaitingMs === null
      ? 'every finished run has been evaluated'
      : `the oldest has waited ${duration(nowMs - runs.oldestWaitingMs)}`
  }</p><p class="soft">${evaluationHealth(overview)}</p></section>
${ruleCard(rules)}
</div>`;
}

function ruleCard(rules: RuleFacts): Html {
  return html`<section class="panel"><h2>Rules ${term('effective-rule-set', 'that run')}</h2><p class="figure"><a href="/app/rules">${count(runningRules(rules.states))}</a></p>
<p class="soft">Of ${count(allRules(rules.states))}. ${settingsText(rules)}</p></section>`;
}

function notices(data: OverviewPage): HtmlValue {
  const { refused } = data;
  const { hours } = data.overview;
  const failed = sum(hours.map(({ counts }) => counts?.failedEvaluations ?? 0));
  const silent = sum(hours.map(({ counts }) => counts?.withoutText ?? 0));
  const runs = (value: number) => `${count(value)} ${value === 1 ? 'run' : 'runs'}`;
  const { requests } = refused;
  return html`${
    requests > 0 &&
    html`<p class="notice error">${count(requests)} ${requests === 1 ? 'request' : 'requests'} with telemetry ${requests === 1 ? 'was' : 'were'} refused in the last hour:
<a href="#refused">see what to change</a>.</p>`
  }${
    failed > 0 &&
    html`<p class="notice error">${runs(failed)} of the last day could not be evaluated:
<a href="${runList(data, { evaluation: 'evaluation_failed' })}">show them</a>.</p>`
  }${
    silent > 0 &&
    html`<p class="notice">${runs(silent)} of the last day had no text to check, or only
<a href="${runList(data, { checked: 'tool_names_only' })}">tool names</a>: <a href="/docs/instrumentations">how to send text</a>.</p>`
  }`;
}

const dayLabels = ({ overview, iso }: OverviewPage): string[] =>
  overview.days.map(({ atMs }) => dayLabel(iso(atMs)));
/** Hours in UTC, which the script shows in the viewer's time; days begin at midnight UTC. */
function hourSlots({ overview, iso }: OverviewPage) {
  const times = overview.hours.map(({ atMs }) => iso(atMs));
  return { labels: times.map((time) => `${hourLabel(time)} UTC`), times };
}

function severityChart(data: OverviewPage): Html {
  const { days } = data.overview;
  const series = SEVERITIES.map((severity) => ({
    name: severity,
    look: `bar-${severity}`,
    values: days.map((day) => foundOn(day, (kind) => kind.severity === severity)),
  }));
  const seen = series.filter(({ values }) => sum(values) > 0);
  return barChart({
    title: 'Open findings by day and severity',
    slot: 'Day (UTC)',
    labels: dayLabels(data),
    series: seen.length === 0 ? series.slice(0, 1) : seen,
    isStacked: true,
  });
}

function categoryCourses(data: OverviewPage): Html {
  const { days } = data.overview;
  const rows = CATEGORIES.map((category) => ({
    label: words(category),
    href: openList(data, { category: categoryName(category) }),
    values: days.map((day) => foundOn(day, (kind) => kind.category === category) ?? 0),
  })).filter(({ values }) => sum(values) > 0);
  rows.sort((a, b) => sum(b.values) - sum(a.values));
  const title = html`<h2>Open findings by day and category</h2>`;
  if (rows.length === 0) return html`${title}<p class="soft">None in two weeks.</p>`;
  return html`${title}${courses('Open findings by day and category', 'Category', dayLabels(data), rows)}`;
}

function arrivalChart(data: OverviewPage): Html {
  return barChart({
    title: 'Steps by hour',
    slot: 'Hour',
    ...hourSlots(data),
    series: [
      {
        name: 'steps',
        look: 'bar-accent',
        values: data.overview.hours.map(({ counts }) => counts?.steps ?? null),
      },
    ],
    isStacked: true,
    note: 'A run’s steps are counted in the hour in which its first step arrived.',
  });
}

function lagChart(data: OverviewPage): Html {
  const { hours } = data.overview;
  const of = (pick: 'mean' | 'most') => hours.map(({ counts }) => counts?.lagMs?.[pick] ?? null);
  return barChart({
    title: 'Time to evaluation by hour',
    slot: 'Hour',
    ...hourSlots(data),
    series: [
      { name: 'slowest run', look: 'bar-soft', values: of('most') },
      { name: 'mean', look: 'bar-accent', values: of('mean') },
    ],
    isStacked: false,
    format: duration,
    note: html`From the arrival of a run’s last step to the end of its evaluation, including the wait for late steps (<code>RUN_SETTLE_MS</code>).`,
  });
}

const DAYS_OF_WEEK = 7;

/** The findings of the last seven days beside those of the seven before; nothing without both. */
function weekTrend(perDay: readonly (number | null)[]): HtmlValue {
  if (perDay.length < 2 * DAYS_OF_WEEK || perDay.includes(null)) return null;
  const sum = (days: readonly (number | null)[]): number =>
    days.reduce<number>((all, value) => all + (value ?? 0), 0);
  const last = sum(perDay.slice(-DAYS_OF_WEEK));
  const before = sum(perDay.slice(-2 * DAYS_OF_WEEK, -DAYS_OF_WEEK));
  if (last === before)
    return html`<p class="soft">${count(last)} this week, as the week before</p>`;
  return html`<p class="soft">${count(last)} this week, ${count(before)} the week before</p>`;
}

/** A filter finds every name that contains its text, but in quotes only the whole name. */
const LISTS = [
  { by: 'agent', title: 'Agents', filter: (name: string) => ({ agent: `"${name}"` }) },
  { by: 'service', title: 'Services', filter: (name: string) => ({ service: `"${name}"` }) },
  { by: 'rule', title: 'Rules', filter: (name: string) => ({ rule_id: name }) },
] as const;

/** @param listOf returns the address of the list of these findings with a filter */
function topLists(
  top: readonly NamedCount[],
  titleOf: (ruleId: string) => string,
  listOf: (filter: Readonly<Record<string, string>>) => string,
): HtmlValue {
  if (top.length === 0) return null;
  return html`<div class="grid">${LISTS.map(({ by, title, filter }) => {
    const own = top.filter((one) => one.by === by);
    if (own.length === 0) return null;
    const most = Math.max(...own.map(({ findings }) => findings));
    return html`<section class="panel"><h2>${title} with most open ${term('finding', 'findings')}</h2><ol class="top">${own.map(
      (one) =>
        item(one, listOf(filter(one.name)), by === 'rule' ? titleOf(one.name) : one.name, most),
    )}</ol></section>`;
  })}</div>`;
}

function item({ findings }: NamedCount, href: string, label: string, most: number): Html {
  const width = Math.max(1, Math.round((findings / most) * 100));
  return html`<li><a href="${href}">${label}</a> <span class="number">${count(findings)}</span>
<svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="6"/><rect class="share" width="${width}" height="6"/></svg></li>`;
}

interface Advice {
  readonly what: string;
  readonly change: HtmlValue;
}

const ENDPOINT = html`Set <code>OTEL_EXPORTER_OTLP_ENDPOINT</code> to the observe address without a path: exporters add <code>/v1/traces</code>, <code>/v1/metrics</code> or <code>/v1/logs</code> themselves.`;

/** By the codes of the error table that a sender of telemetry can get, `NOTHING_KNOWN` and `revoked_key`. */
const ADVICE: Readonly<Record<string, Advice>> = {
  revoked_key: {
    what: 'Revoked key',
    change: html`Create a <a href="/app/keys">key</a> and set it in the exporter.`,
  },
  invalid_credential: {
    what: 'Key not active yet',
    change: 'Nothing: a new key works within five seconds.',
  },
  wrong_key_kind: {
    what: 'Workspace key used to send',
    change: html`Workspace keys can only read. Send telemetry with an <a href="/app/keys">agent key</a>.`,
  },
  rate_limited: {
    what: 'Rate limit exceeded',
    change: html`Raise the limit of the <a href="/app/keys">key</a>, or export larger batches less often.`,
  },
  unsupported_type: {
    what: 'Protobuf or another content type',
    change: html`Set <code>OTEL_EXPORTER_OTLP_PROTOCOL=http/json</code>. If the SDK cannot send JSON, put an OpenTelemetry Collector in between: <a href="/docs/instrumentations">instrumentations</a>.`,
  },
  unsupported_encoding: {
    what: 'Unsupported compression',
    change: html`Set <code>OTEL_EXPORTER_OTLP_COMPRESSION=gzip</code>.`,
  },
  body_too_large: {
    what: 'Body too large',
    change: html`Export smaller batches (<code>OTEL_BSP_MAX_EXPORT_BATCH_SIZE</code>), or raise <code>MAX_BODY_BYTES</code> on the server.`,
  },
  undecodable_body: {
    what: 'Invalid OTLP JSON',
    change: html`Send the same body with <code>curl</code>: the response says what is wrong and where.`,
  },
  [NOTHING_KNOWN]: {
    what: 'Nothing known in the body, or in a part of it',
    change: html`Send each signal to its own path, as OTLP 1.x in lowerCamelCase JSON. The response says what was expected, and which keys the body has.`,
  },
  unstorable_rows: {
    what: 'Rejected by PostgreSQL',
    change: html`Ask the operator of this server: the body is kept in the table <code>rejected_requests</code>.`,
  },
  not_found: { what: 'Wrong path', change: ENDPOINT },
  method_not_allowed: { what: 'Wrong method', change: html`Send telemetry with POST.` },
  bare_path_gone: {
    what: 'Wrong host',
    change: html`This path is served on the observe address, not on the dashboard’s address. ${ENDPOINT}`,
  },
  bad_request: {
    what: 'Invalid HTTP headers',
    change:
      'A header that may appear only once was sent twice, or two headers contradict each other.',
  },
};

const adviceOn = (reason: string): Advice =>
  ADVICE[reason] ?? { what: reason, change: html`See <a href="/docs/errors">errors</a>.` };

function reasonCell({ reason, path }: ListedRefusal): Html {
  const code = reason === 'revoked_key' ? 'invalid_credential' : reason;
  return html`<a href="/docs/errors#${code}">${adviceOn(reason).what}</a><br><code>${path}</code>`;
}

/** The panel; what belongs to no workspace is in the server's log. */
function refusedPanel({ groups, requests }: ListedRefusals, nowMs: number): Html {
  const unknown = html`<p class="soft">Requests without a key, or with an unknown key, cannot be assigned to a workspace: find them in the server’s log and in <code>sluice_ingest_refused_requests_total</code> of <code>/metrics</code>.</p>`;
  if (groups.length === 0) {
    return html`<section class="panel refused" id="refused"><h2>Refused requests, last hour</h2>
<p>No request with a key of this workspace was refused.</p>${unknown}</section>`;
  }
  const sender = ({ address, userAgent }: ListedRefusal) =>
    html`<code>${address}</code><br><span class="soft">${userAgent || 'no User-Agent'}</span>`;
  const table = listTable('Refused requests', groups, [
    ['Requests', (one) => count(one.requests), NUMBER],
    ['Reason', reasonCell],
    ['What to change', ({ reason }) => adviceOn(reason).change],
    ['Key', ({ keyName, keyPrefix }) => html`${keyName}<br><code>${keyPrefix}…</code>`],
    ['Sender', sender],
    ['Last seen', ({ lastAt }) => time(lastAt, nowMs)],
  ]);
  const listed = groups.reduce((sum, one) => sum + one.requests, 0);
  return html`<section class="panel refused" id="refused"><h2>Refused requests, last hour: ${count(requests)}</h2>
<p>The telemetry in these requests was not stored. Most exporters do not report such errors.</p>
${table}
${listed < requests && html`<p class="soft">Only the most frequent are listed.</p>`}${unknown}</section>`;
}
