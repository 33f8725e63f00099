/** One run as a timeline of its steps, with their texts by surface and its findings in place. */
import { checkOf } from '../../model/run-check.ts';
import type { RunSearch } from '../../model/run-page.ts';
import type { RunWait } from '../../model/run-wait.ts';
import { RUN_NAME_ROWS, type RunSummary } from '../../model/runs.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { aboutLink } from './entities/entity-link.ts';
import { count, many, nanoMoment, term, time, words } from './format.ts';
import { corpusName } from './rule-counts.ts';
import { runFindings } from './run/run-findings.ts';
import { stepsView } from './run/run-steps.ts';
import { costText, tokensText } from './run/step-head.ts';
import type { StepsPage } from './run/step-texts.ts';
import { checkedLine, unreadableText } from './run-check.ts';
import { searchView } from './run-search.ts';
import { lengthOf, nameOf, shownTitle, stateText } from './runs.ts';
import { appPage, crumb, keysHelp, type Look, strip, type Viewer } from './shell.ts';

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
