/**
 * Previews: what rules would have found in stored runs. The list, one with its progress and result, and what is shown of
 * the latest one before the experimental tier is switched on.
 */
import {
  coveredDays,
  findingsPerDay,
  isOpen,
  type NoisyRule,
  noisiestOf,
  PREVIEW_DAYS_DEFAULT,
  PREVIEW_DAYS_MAX,
  PREVIEW_RUNS_ENOUGH,
  type Preview,
  type PreviewExample,
  percentDone,
  type RuleTally,
  SAMPLE_WHOLE,
} from '../../../model/previews.ts';
import type { Rule } from '../../../model/rules.ts';
import { surfaceLabel } from '../../../model/steps.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { count, duration, many, percentText, term, time } from '../format.ts';
import { corpusName, falsePositiveRate } from '../rule-counts.ts';
import {
  appPage,
  confirmed,
  crumb,
  empty,
  facts,
  type Look,
  listTable,
  NUMBER,
  severityBadge,
  type Viewer,
  writeForm,
  writeTo,
} from '../shell.ts';

const DAY_MS = 86_400_000;
const RULES = '/app/rules';
export const PREVIEWS = `${RULES}/previews`;

/** Finds a rule; null when the corpus does not have it. */
export type RuleFinder = (id: string) => Pick<Rule, 'title' | 'severity' | 'quality'> | null;

const STATES: Readonly<Record<Preview['state'], string>> = {
  queued: 'Queued',
  running: 'Running',
  done: 'Done',
  cancelled: 'Cancelled',
  failed: 'Failed',
};

export function titleOf({ kind, ruleIds }: Preview, findRule: RuleFinder): string {
  const [id = ''] = ruleIds;
  return kind === 'rule' ? (findRule(id)?.title ?? id) : 'Experimental tier';
}

/** `2.4 findings a day`: one digit below ten. */
export function perDayText(perDay: number): string {
  const number =
    perDay > 0 && perDay < 0.1 ? '<0.1' : perDay < 10 ? perDay.toFixed(1) : count(perDay);
  return `${number} a day`;
}

const foundPercent = ({ tally: { read, found } }: Preview): number =>
  read === 0 ? 0 : (100 * found) / read;

export function allPerDay(preview: Preview): number {
  const runs = Object.values(preview.tally.rules).reduce((sum, rule) => sum + rule.runs, 0);
  return findingsPerDay(runs, preview);
}

/** The form that starts a preview. @param ruleId null for the experimental tier */
export function startForm(viewer: Viewer, ruleId: string | null): HtmlValue {
  if (!viewer.isAdmin) return null;
  return html`<form method="post" action="${writeTo(PREVIEWS, viewer)}" class="inline">
${ruleId !== null && html`<input type="hidden" name="rule_id" value="${ruleId}">`}
<label>Days<input type="number" name="days" min="1" max="${PREVIEW_DAYS_MAX}" value="${PREVIEW_DAYS_DEFAULT}" required></label>
<button class="quiet">Preview${ruleId === null && ' the experimental tier'}</button></form>`;
}

function progress(preview: Preview): Html {
  const { tally, runsPlanned, runsInRange, sample } = preview;
  const looked = count(tally.read + tally.skipped);
  const percent = percentDone(preview);
  const isSampled = sample !== null && sample < SAMPLE_WHOLE;
  return html`<p><progress max="100" value="${percent}" aria-label="Progress">${percent}%</progress></p>
<p>${STATES[preview.state]}: ${
    runsPlanned === null
      ? 'not begun'
      : html`${looked} of ${isSampled && 'about '}${count(runsPlanned)} ${term('run', 'runs')} looked at`
  }${isSampled && html`, a sample of the ${count(runsInRange ?? 0)} runs of these days`}.</p>
${preview.failure !== null && html`<p class="medium">${preview.failure}</p>`}`;
}

function examples(ruleTally: RuleTally): Html {
  const link = ({ runId, step, surface }: PreviewExample, index: number) =>
    html`<a href="/app/runs/${runId}?step=${step}" title="step ${step}, ${surfaceLabel(surface).toLowerCase()}">${index + 1}<span class="hidden">. run ${runId}, step ${step}</span></a> `;
  return html`${ruleTally.examples.map(link)}`;
}

/** The first columns of a table of rules. */
export function ruleColumns(findRule: RuleFinder) {
  type Row = { readonly ruleId: string };
  const severity = ({ ruleId }: Row): HtmlValue => {
    const rule = findRule(ruleId);
    return rule !== null && severityBadge(rule.severity);
  };
  const title = ({ ruleId }: Row): Html =>
    html`<a href="${RULES}/${ruleId}">${findRule(ruleId)?.title ?? ruleId}</a> <span class="soft below">${ruleId}</span>`;
  return [
    ['Severity', severity],
    ['Rule', title],
  ] as const;
}

function results(preview: Preview, findRule: RuleFinder): Html {
  const rules = noisiestOf(preview);
  if (rules.length === 0) {
    return isOpen(preview)
      ? html`<p class="soft">No matches so far.</p>`
      : empty('No matches', html`<p>None of these runs would have had a finding.</p>`);
  }
  const { read } = preview.tally;
  const authors = (ruleId: string): HtmlValue => {
    const rate = findRule(ruleId)?.quality.wildFpRate ?? null;
    return rate !== null && falsePositiveRate(rate);
  };
  return listTable('Results', rules, [
    ...ruleColumns(findRule),
    ['Runs', ({ runs }) => count(runs), NUMBER],
    ['Share of runs', ({ runs }) => percentText(read === 0 ? 0 : (100 * runs) / read), NUMBER],
    ['Findings', ({ runs }) => perDayText(findingsPerDay(runs, preview)), NUMBER],
    ['Authors’ false-positive rate', ({ ruleId }) => authors(ruleId)],
    ['Examples', examples],
  ]);
}

function about(preview: Preview, nowMs: number): Html {
  const { startedAt, finishedAt, tally } = preview;
  const tookMs = startedAt === null ? null : (finishedAt?.getTime() ?? nowMs) - startedAt.getTime();
  return facts([
    ['Requested', html`${time(preview.requestedAt, nowMs)} by ${preview.requestedBy}`],
    ['Runs', `evaluated, of the last ${preview.days} ${preview.days === 1 ? 'day' : 'days'}`],
    ['Rules', count(preview.ruleIds.length)],
    ['Corpus', corpusName(preview.corpusVersion, preview.corpusIdentity)],
    ['Took', tookMs === null ? null : duration(tookMs)],
    [
      'Matching',
      tally.read === 0
        ? null
        : `${duration(tally.cpuMs)} of CPU time, ${(tally.cpuMs / tally.read).toFixed(2)} ms a run`,
    ],
    ['Too large', tally.skipped === 0 ? null : `${count(tally.skipped)} runs, not looked at`],
    ['Not finished', tally.cut === 0 ? null : `${count(tally.cut)} runs, matched in part`],
  ]);
}

/** One preview. While it is open, the script renews the part that changes. */
export function previewPage(
  look: Look,
  viewer: Viewer,
  preview: Preview,
  { findRule, nowMs }: { readonly findRule: RuleFinder; readonly nowMs: number },
): Html {
  const path = `${PREVIEWS}/${preview.id}`;
  const title = titleOf(preview, findRule);
  const open = isOpen(preview);
  return appPage(look, viewer, {
    title: `Preview: ${title}`,
    current: RULES,
    main: html`${crumb(PREVIEWS, 'Previews')}<h1>Preview: ${title}</h1>
<p class="lead">What ${preview.kind === 'rule' ? 'this rule' : 'these rules'} would have found in stored runs. A ${term('preview', 'preview')} stores no findings and changes no run.</p>
<div data-fresh="preview"${open && html` data-poll`}><div class="grid wide">
<section class="panel"><h2>Progress</h2>${progress(preview)}${
      open &&
      html`<p><a class="button quiet" href="${path}">Reload</a></p>${
        viewer.isAdmin &&
        writeForm(
          writeTo(`${path}/cancel`, viewer),
          html`<button class="danger">Cancel the preview</button>`,
        )
      }`
    }</section>
<section class="panel"><h2>Expected findings</h2><p class="figure">${perDayText(allPerDay(preview))}</p>
<p class="soft">${percentText(foundPercent(preview))} of the runs would have at least one finding.</p>${spread(preview)}${
      preview.kind === 'experimental' &&
      preview.state === 'done' &&
      viewer.isAdmin &&
      html`<p><a class="button quiet" href="${RULES}#tier">Choose the rules to leave off</a></p>`
    }</section>
<section class="panel"><h2>About</h2>${about(preview, nowMs)}</section></div>
<h2>Results by rule</h2>
${results(preview, findRule)}</div>`,
  });
}

/** Says what "a day" is counted over, where that is shorter than the days requested. */
function spread({ oldestDays, days }: Preview): HtmlValue {
  const covered = coveredDays(oldestDays, days);
  if (covered === days) return null;
  return html`<p class="soft">Counted over ${duration(covered * DAY_MS)}: the oldest of the runs is no older.</p>`;
}

export function previewsPage(
  look: Look,
  viewer: Viewer,
  previews: readonly Preview[],
  {
    findRule,
    nowMs,
    compare,
  }: {
    readonly findRule: RuleFinder;
    readonly nowMs: number;
    readonly compare: HtmlValue;
  },
): Html {
  return appPage(look, viewer, {
    title: 'Previews',
    current: RULES,
    main: html`${crumb(RULES, 'Rules')}<h1>Previews</h1>
<p class="lead">What ${term('rule-and-corpus', 'rules')} would have found in stored ${term('run', 'runs')}, before they are switched on. A ${term('preview', 'preview')} stores no ${term('finding', 'findings')} and changes no run.</p>
${startForm(viewer, null)}
${
  previews.length === 0
    ? empty(
        'No previews yet',
        html`<p>Preview the experimental tier here, or a rule on its page.</p>`,
      )
    : listTable('Previews', previews, [
        ['Rules', (one) => html`<a href="${PREVIEWS}/${one.id}">${titleOf(one, findRule)}</a>`],
        ['State', ({ state }) => STATES[state]],
        ['Days', ({ days }) => days, NUMBER],
        ['Runs', ({ tally }) => count(tally.read), NUMBER],
        ['With a finding', (one) => percentText(foundPercent(one)), NUMBER],
        [
          'Requested',
          ({ requestedAt, requestedBy }) =>
            html`${time(requestedAt, nowMs)} <span class="soft below">${requestedBy}</span>`,
        ],
      ])
}${compare}`,
  });
}

const PATH = '/app/rules';

export interface TierPreview {
  /** the latest one of the present corpus that is done */
  readonly last: Preview | null;
  /** the one that waits or runs, of whatever rules */
  readonly open: Preview | null;
  /** rules that are suggested to be left off */
  readonly noisy: readonly (NoisyRule & { readonly title: string })[];
}

function summary({ last, noisy }: TierPreview): Html {
  if (last === null) {
    return html`<p>Preview these rules on your own runs first: the ${term('preview', 'preview')} shows how many ${term('finding', 'findings')} to expect, and which rules fire so often that they are better left off.</p>`;
  }
  const { read, found } = last.tally;
  const by = html`<p>By the <a href="${PREVIEWS}/${last.id}">last preview</a>, of ${count(read)} runs of ${last.days} days: <strong>${perDayText(allPerDay(last))}</strong> findings,
in ${percentText(read === 0 ? 0 : (100 * found) / read)} of the runs.</p>`;
  if (read < PREVIEW_RUNS_ENOUGH) {
    return html`${by}<p>These are too few runs to say which rules are noisy: at least ${count(PREVIEW_RUNS_ENOUGH)} are needed.</p>`;
  }
  return noisy.length > 0 ? by : html`${by}<p>No rule fired on 1% of them or more.</p>`;
}

function noisyList({ noisy, last }: TierPreview): HtmlValue {
  if (noisy.length === 0 || last === null) return null;
  const [these, them] = noisy.length === 1 ? ['This rule', 'it'] : ['These rules', 'them'];
  return html`<p>${these} fired often on your runs. Unless you need ${them}, leave ${them} off.</p>
<ul>${noisy.map(
    ({ ruleId, title, runs, percentOfRuns }) =>
      html`<li><a href="${PATH}/${ruleId}">${title}</a> <span class="soft">fired in ${percentText(percentOfRuns)} of the runs: ${count(runs)} of ${count(last.tally.read)}</span></li>`,
  )}</ul>`;
}

function switchOn(viewer: Viewer, leaveOff: readonly string[], label: string, look = ''): Html {
  return writeForm(
    writeTo(PATH, viewer),
    html`<input type="hidden" name="experimental" value="true">
${leaveOff.length > 0 && html`<input type="hidden" name="leave_off" value="${leaveOff.join(',')}">`}
<button class="${look}">${label}</button>`,
  );
}

/** @param isOn whether the tier is on already: then rules can only be left off */
export function tierPreview(tier: TierPreview, viewer: Viewer, isOn = false): Html {
  const { noisy, open } = tier;
  const ids = noisy.map(({ ruleId }) => ruleId);
  const rules = ids.length === 1 ? 'the noisy rule' : `the ${many(ids.length, 'noisy rule')}`;
  const isFirst = noisy.length === 0;
  const content = html`<div data-fresh="tier"${open !== null && html` data-poll`}>${summary(tier)}${noisyList(tier)}
${!isFirst && switchOn(viewer, ids, isOn ? `Leave ${rules} off` : `Switch on, leave ${rules} off`)}
${open === null ? startForm(viewer, null) : html`<p><a href="${PREVIEWS}/${open.id}">A preview is under way</a></p>${progress(open)}`}
${!isOn && switchOn(viewer, [], 'Switch on with all rules', 'quiet')}</div>`;
  return html`<div id="tier">${isOn ? content : confirmed('Switch the experimental tier on', null, content)}</div>`;
}
