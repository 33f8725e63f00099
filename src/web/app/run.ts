/** One run as a timeline of its steps, with their texts by surface and its findings in place. */
import type { Finding } from '../../model/findings.ts';
import { checkOf } from '../../model/run-check.ts';
import {
  type FoundText,
  PHRASE_CHARS_MAX,
  type RunSearch,
  type ShownSteps,
} from '../../model/run-page.ts';
import { RUN_NAME_ROWS, type RunSummary, type RunWait } from '../../model/runs.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { FINDING_STATES, NOTE_CHARS_MAX } from '../../model/triage.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { changeText } from './findings/finding-filters.ts';
import { EVIDENCE_HINT, findingLink, stepName } from './findings.ts';
import { count, duration, many, nanoMoment, term, time, words } from './format.ts';
import { corpusName } from './rule-counts.ts';
import { stepsView } from './run/run-steps.ts';
import { cacheText, costText, tokensText } from './run/step-head.ts';
import type { StepsPage } from './run/step-texts.ts';
import { checkedLine, unreadableText, withoutFindings } from './run-check.ts';
import { lengthOf, nameOf, shownTitle, stateText } from './runs.ts';
import {
  aboutLink,
  appPage,
  crumb,
  keysHelp,
  type Look,
  option,
  severityBadge,
  strip,
  type Viewer,
  writeForm,
  writeTo,
} from './shell.ts';
import { AT_ID, markedText } from './text.ts';
import { stateBadge } from './triage/triage-panel.ts';

const PATH = '/app/runs';

export interface RunPage extends Omit<StepsPage, 'runId'> {
  readonly run: RunSummary;
  /** null once it is evaluated */
  readonly wait: RunWait | null;
  /** null when nothing is searched for */
  readonly search: RunSearch | null;
  readonly query: string;
  readonly nowMs: number;
}

function link(name: string, value: string): Html {
  return html`<a href="${PATH}?${name}=${encodeURIComponent(value)}">${value}</a>`;
}

/** The run as OTLP requests, by signal; texts are not exported where they are redacted. */
function downloads({ run, isRedacted }: RunPage): HtmlValue {
  if (isRedacted) return null;
  const path = `${PATH}/${run.runId}/otlp.jsonl`;
  const spans = html`<a href="${path}" download>${run.logRecords > 0 ? 'Spans' : 'OTLP JSON'}</a>`;
  const logs = html`<a href="${path}?signal=logs" download>${run.spans > 0 ? 'Log records' : 'OTLP JSON'}</a>`;
  return html`${run.spans > 0 && spans} ${run.logRecords > 0 && logs}`;
}

/** Checks whether the line below that no rule matched says what was checked, in the same words. */
const isSaidBelow = ({ run, findings, wait }: RunPage): boolean =>
  findings.length === 0 && wait === null && checkOf(run).checked === 'fully';

function stepsText({ spans, repeatedSpans, logRecords }: RunSummary): string {
  const steps = `${count(spans)} spans, ${count(logRecords)} log records`;
  return repeatedSpans === 0
    ? steps
    : `${steps}; ${many(repeatedSpans, 'span')} sent again, counted once`;
}

function about(data: RunPage): Html {
  const { run, findings, shown } = data;
  const { usage } = shown;
  const length = [lengthOf(run), `${count(run.spans + run.logRecords)} steps`, run.model];
  const short = length.filter((one) => one !== null && one !== '').join(' · ');
  return html`<details class="fold"><summary>${short}</summary><section class="panel run-panel">${strip(
    [
      ['Started', run.startUnixNano === null ? null : nanoMoment(run.startUnixNano)],
      ['Duration', lengthOf(run)],
      ['Tokens', usage === null ? null : tokensText(usage).replace(' tokens', '')],
      ['Cache, reasoning', usage === null ? null : cacheText(usage)],
      ['Cost', usage === null ? null : costText(usage.costUsd)],
      [term('step', 'Steps'), stepsText(run)],
      [term('finding', 'Findings'), findings.length === 0 ? 'none' : count(findings.length)],
      ...RUN_NAME_ROWS.map(({ key, name, label }): [string, HtmlValue] => {
        const own = run[key];
        return [label, own === null ? null : html`${link(name, own)}${aboutLink(key, own)}`];
      }),
      [
        term('rule-and-corpus', 'Corpus'),
        run.corpusVersion === null || run.corpusIdentity === null
          ? null
          : corpusName(run.corpusVersion, run.corpusIdentity),
      ],
      [term('run', 'Run id'), html`<code>${run.runId}</code>`],
      ['Download', downloads(data)],
    ],
  )}
${!isSaidBelow(data) && html`<div class="check"><span class="soft">${term('checked', 'Checked')}</span> ${checkedLine(run)}</div>`}</section></details>`;
}

const TITLE_UNITS = 120;

/** The first prompt, unless the workspace redacts; else the name of the agent. */
export function titleOf({
  run,
  shown,
  isRedacted,
}: Pick<RunPage, 'run' | 'shown' | 'isRedacted'>): string {
  return isRedacted || shown.title === null ? nameOf(run) : shownTitle(shown.title, TITLE_UNITS);
}

const KEYS = keysHelp([
  [['j', 'k'], 'next, previous step; in the tree also the arrows'],
  [['n', 'p'], 'next, previous finding'],
  [['←', '→'], 'in the tree: fold, unfold'],
  [['e'], 'expand all of the step'],
  [['/'], 'search in the texts'],
]);

export function runPage(look: Look, viewer: Viewer, data: RunPage): Html {
  const { run, shown, nowMs } = data;
  const title = titleOf(data);
  return appPage(look, viewer, {
    title,
    current: PATH,
    isWide: true,
    main: html`<div class="way">${crumb(PATH, 'Runs')}${!data.isList && shown.count > 0 && KEYS}</div>
<div class="title-line"><h1 class="run-title">${title}</h1>
<p class="soft always">${title !== nameOf(run) && html`${nameOf(run)} · `}${stateText(run)}, ${term('evaluation', words(run.evaluation))} · arrived ${time(run.firstArrivalAt, nowMs)}</p></div>
${about(data)}
${unreadableText(run).map((text) => html`<p class="notice error">${text}.</p>`)}
${runFindings(data, viewer)}
${data.isRedacted && html`<p class="notice">This workspace redacts excerpts: the texts of steps, and step names that a rule matched, are not shown.</p>`}
${!data.isRedacted && shown.count > 0 && searchView(run.runId, data.search, data.open?.query ?? null)}
${stepsView({ ...data, runId: run.runId }, run.spans + run.logRecords, run.unreadable?.steps ?? 0)}`,
  });
}

function foundLink(runId: string, phrase: string, { step, text, at }: FoundText): string {
  const from = Math.max(0, at - 1000);
  const own = new URLSearchParams({ step: String(step), text: String(text) });
  for (const [name, value] of Object.entries({ from, at })) own.set(name, String(value));
  own.set('q', phrase);
  return `/app/runs/${runId}?${own}#${AT_ID}`;
}

function hit(runId: string, phrase: string, found: FoundText): Html {
  const { step, stepName, surface, before, match, after, repeatedIn } = found;
  const mark = { start: before.length, end: before.length + match.length, findingId: null };
  return html`<li><a href="${foundLink(runId, phrase, found)}">Step ${count(step)}</a>
<span class="soft">${surfaceLabel(surface)} of ${stepName || '(no name)'}${repeatedIn > 0 && `, sent again in ${many(repeatedIn, 'later step')}`}</span>
<pre class="excerpt">${markedText(`${before}${match}${after}`, [mark])}</pre></li>`;
}

/** `5 texts match, sent again in 16 later steps`. */
function foundText(hits: readonly FoundText[]): string {
  if (hits.length === 0) return 'No match';
  const texts = `${count(hits.length)} ${hits.length === 1 ? 'text matches' : 'texts match'}`;
  const again = Math.max(...hits.map(({ repeatedIn }) => repeatedIn));
  return again === 0 ? texts : `${texts}, sent again in up to ${many(again, 'later step')},`;
}

function results(runId: string, { phrase, hits, next, from, cut, unreadable }: RunSearch): Html {
  const further = new URLSearchParams({ q: phrase, after: String((next ?? 1) - 1) });
  return html`<section class="panel" id="search" aria-label="Search results">
<p role="status">${foundText(hits)}
in steps ${count(from)} to ${next === null ? 'the last' : count(next - 1)}.
${cut > 0 && html`Only the beginning of ${count(cut)} large ${cut === 1 ? 'step' : 'steps'} was searched.`}
${unreadableText({ unreadable }).map((text) => html`${text}.`)}</p>
${hits.length > 0 && html`<ol class="plain found-texts">${hits.map((one) => hit(runId, phrase, one))}</ol>`}
${next !== null && html`<p><a class="button quiet" href="/app/runs/${runId}?${further.toString()}#search">Search from step ${count(next)}</a></p>`}
</section>`;
}

/** @param search null when nothing was searched for @param phrase in the field */
function searchView(runId: string, search: RunSearch | null, phrase: string | null): HtmlValue {
  return html`<details class="fold"${search !== null && html` open`}><summary>Search texts</summary><form class="find" method="get" action="/app/runs/${runId}#search" role="search" aria-label="Texts of this run">
<label>Search texts<input type="search" name="q" value="${search?.phrase ?? phrase}" maxlength="${PHRASE_CHARS_MAX}" required></label>
<div class="buttons"><button>Search</button>${search !== null && html` <a class="button quiet" href="/app/runs/${runId}">Clear</a>`}</div></form></details>
${search !== null && results(runId, search)}`;
}

/** Findings above the timeline; the others are folded. */
const FIRST = 3;

interface RunFindings {
  readonly run: RunSummary;
  readonly wait: RunWait | null;
  readonly shown: Pick<ShownSteps, 'places'>;
  readonly findings: readonly Finding[];
  readonly titleOf: (ruleId: string) => string;
  readonly query: string;
}

function inStepOrder(
  findings: readonly Finding[],
  places: ShownSteps['places'],
): readonly (Finding & { readonly step: number })[] {
  return findings
    .map((finding) => ({ ...finding, step: places.get(finding.id) ?? finding.place.step }))
    .sort((one, other) => one.step - other.step);
}

function row(finding: ReturnType<typeof inStepOrder>[number], titleOf: RunFindings['titleOf']) {
  const { id, step, severity, ruleId, state, surface } = finding;
  return html`<li class="hit"><input type="checkbox" name="finding-${id}" checked autocomplete="off" aria-label="Select ${titleOf(ruleId)}, step ${count(step)}">
<a href="${findingLink(finding)}" title="${stepName(finding)}">Step ${count(step)}</a> ${severityBadge(severity)}
<a href="/app/findings/${id}">${titleOf(ruleId)}</a> <span class="soft">${surfaceLabel(surface)}</span>${state !== 'new' && html` ${stateBadge(state)}`}</li>`;
}

const form = html`<details><summary>Triage</summary><div class="bulk"><label><span>Set selected to</span> <select name="state">${FINDING_STATES.map((state) => option(state, words(state), 'acknowledged'))}</select></label>
<label><span>Note (optional)</span> <input name="note" maxlength="${NOTE_CHARS_MAX}"></label>
<button>Set state</button> <button class="quiet" name="assign" value="me">Assign to me</button></div></details>`;

function runFindings(data: RunFindings, viewer: Viewer): HtmlValue {
  const { findings, titleOf, run, wait, shown, query } = data;
  if (findings.length === 0) {
    return wait === null ? withoutFindings(run) : waitLine(wait);
  }
  const rows = inStepOrder(findings, shown.places).map((one) => row(one, titleOf));
  const rest = rows.slice(FIRST);
  const changed = changeText(query);
  const list = html`<ol class="plain">${rows.slice(0, FIRST)}</ol>
${rest.length > 0 && html`<details><summary>${count(rest.length)} more</summary><ol class="plain">${rest}</ol></details>`}`;
  const fields: Html = html`<input type="hidden" name="run" value="${run.runId}">${list}${form}`;
  return html`<section class="panel run-panel" id="findings"><h2>Findings <span class="soft">${count(findings.length)} · <a href="/app/incidents/${run.runId}/evidence.tar" download title="${EVIDENCE_HINT}">Download evidence</a></span></h2>
${changed !== null && html`<p class="done" role="status">${changed}</p>`}
${writeForm(writeTo('/app/findings/triage', viewer), fields, 'run-findings')}</section>`;
}

const REASONS: Readonly<Record<RunWait['for'], string>> = {
  session_end:
    'Its session is still open: the next prompt of the session, or its end, finishes this run.',
  root_span: 'Its root span has not arrived.',
  late_steps: 'It is finished, and steps of it may still arrive.',
};

export function waitLine(wait: RunWait): Html {
  const iso = wait.until.toISOString();
  const silence = duration(wait.silenceMs);
  return html`<p class="soft">Not evaluated yet. ${REASONS[wait.for]} If nothing more of it arrives, it is evaluated ${silence} after its last step, at <time datetime="${iso}">${iso}</time>.</p>`;
}
