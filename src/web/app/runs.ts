/** The list of runs, with its filters. */
import { showInvisible } from '../../model/invisible.ts';
import { SEVERITIES } from '../../model/rules.ts';
import { CHECKED_LABELS, checkOf } from '../../model/run-check.ts';
import {
  EVALUATION_STATES,
  RUN_ORDERS,
  RUN_STATES,
  type RunNames,
  type RunOrder,
  type RunSummary,
  type RunTextSearch,
  type TextMatch,
} from '../../model/runs.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { count, duration, term, time, words } from './format.ts';
import { costText, tokensText } from './run/step-head.ts';
import { checkedCell } from './run-check.ts';
import {
  appPage,
  choice,
  empty,
  entityLink,
  folded,
  keysHelp,
  type Look,
  nameFields,
  option,
  pager,
  scrolling,
  severityBadge,
  timeField,
  type Viewer,
} from './shell.ts';

const PATH = '/app/runs';
const NANOS_PER_MS = 1_000_000n;

export interface RunsPage {
  readonly names: RunNames;
  readonly runs: readonly RunSummary[];
  readonly query: string;
  readonly next: string | null;
  /** the page ended before it was full, because a page reads only so many runs */
  readonly endedEarly: boolean;
  /** of a sorted list: runs that arrived before were not sorted; null when all were */
  readonly searchedTo: Date | null;
  /** null: a list without a search by text */
  readonly search: RunTextSearch | null;
  readonly isRedacted: boolean;
  readonly nowMs: number;
}

const ORDER_LABELS: Readonly<Record<RunOrder, string>> = {
  newest: 'newest',
  longest: 'longest',
  tokens: 'most tokens',
  findings: 'most findings',
};

/** The order of the list; the newest first is the default and is not in the address. */
function sortField(given: URLSearchParams): Html {
  const inAddress = (order: RunOrder): string => (order === 'newest' ? '' : order);
  const chosen = given.get('sort') === 'newest' ? '' : given.get('sort');
  return html`<label>Sort<select name="sort">${RUN_ORDERS.map((order) => option(inAddress(order), ORDER_LABELS[order], chosen))}</select></label>`;
}

export function runFilters(query: string, names: RunNames, isRedacted = false): Html {
  const given = new URLSearchParams(query);
  return html`<form class="filters" method="get" action="${PATH}" role="search" aria-label="Runs">
${!isRedacted && html`<label>Text<input type="search" name="text" value="${given.get('text')}" minlength="3" maxlength="200" placeholder="domain, file or phrase" autocomplete="off"></label>`}
${choice('state', 'State', RUN_STATES, given.get('state'))}
${sortField(given)}
${folded(
  given,
  ['state', 'text', 'sort'],
  html`${timeField('since', 'Arrived since', given)}
${timeField('until', 'Arrived before', given)}
${choice('evaluation', 'Evaluation', EVALUATION_STATES, given.get('evaluation'))}
${choice(
  'has_findings',
  'Findings',
  [
    ['true', 'with'],
    ['false', 'without'],
  ],
  given.get('has_findings'),
)}
${choice('checked', 'Checked', Object.entries(CHECKED_LABELS), given.get('checked'))}
${nameFields(given, names)}`,
)}
<div class="buttons"><button>Filter</button> <a class="button quiet" href="${PATH}">Clear</a></div>
</form>`;
}

export function lengthOf({ startUnixNano: start, endUnixNano: end }: RunSummary): string {
  if (start === null || end === null) return '';
  return duration(Number((BigInt(end) - BigInt(start)) / NANOS_PER_MS));
}

/** The state of a run. Log records of products that send no traces have no event at the end of a run. */
export function stateText({ state, spans }: Pick<RunSummary, 'state' | 'spans'>): string {
  return state === 'timed_out' && spans === 0 ? 'ended (no end event)' : words(state);
}

/** The name of a run, also when its root has not arrived. */
export function nameOf(run: RunSummary): string {
  return run.agentName ?? run.name ?? run.serviceName ?? run.runId.slice(0, 8);
}

/** A run's title, cut to `units`; characters that are not seen are named. */
export function shownTitle(title: string, units: number): string {
  const visible = showInvisible(title);
  if (visible.length <= units) return visible;
  return `${visible
    .slice(0, units)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd()}…`;
}

const TITLE_UNITS = 80;

/** The first prompt, with agent, service and model below; without one, the agent. */
function titleCell(run: RunSummary & { readonly textMatch?: TextMatch }): Html {
  const { title, runId, serviceName, model, textMatch } = run;
  const name = nameOf(run);
  const text = title === null ? name : shownTitle(title, TITLE_UNITS);
  const { agentName } = run;
  const shown: (Html | string | null)[] = [
    title === null ? null : agentName === null ? name : entityLink('agent', agentName),
    serviceName === null || (title !== null && name === serviceName)
      ? null
      : entityLink('service', serviceName),
    model === null ? null : entityLink('model', model),
  ];
  const below = shown.filter((one) => one !== null);
  return html`<td data-label="Run"><a href="${PATH}/${runId}${textMatch !== undefined && `?q=${encodeURIComponent(textMatch.match)}`}" data-open>${text}</a> <span class="soft below">${below.map((one, index) => html`${index > 0 && ' · '}${one}`)}</span>${textMatch !== undefined && snippet(textMatch)}</td>`;
}

/** The text that was searched for, with what is around it on its line. */
function snippet({ before, match, after }: TextMatch): Html {
  const [from, to] = [showInvisible(before), showInvisible(after)];
  return html` <span class="below">${from}<mark>${showInvisible(match)}</mark>${to}</span>`;
}

/** Of a sorted list, how to sort the runs that are not in it. */
function olderNote({ query, searchedTo, nowMs }: RunsPage): Html | false {
  if (searchedTo === null) return false;
  const older = new URLSearchParams(query);
  older.delete('cursor');
  older.set('until', searchedTo.toISOString());
  return html`<p class="notice" role="status">The newest 10,000 runs of the time range are sorted, back to ${time(searchedTo, nowMs)}.
<a class="button quiet" href="${PATH}?${older.toString()}">Sort older runs</a></p>`;
}

/** How far a search came, and what it left out. */
function searchState(
  { runs, next, searchedTo, blocksUnreadable, pendingLeftOut }: RunTextSearch,
  nowMs: number,
): Html {
  return html`<p class="notice" role="status">${searchedTo === null ? 'The whole range is searched.' : html`Searched back to ${time(searchedTo, nowMs)}.`}
${next !== null && runs.length === 0 && 'No match so far: search further for older runs.'}
${blocksUnreadable > 0 && `${count(blocksUnreadable)} damaged blocks could not be searched.`}
${pendingLeftOut && 'Some runs are not evaluated yet and were not searched. Try again in a minute.'}</p>`;
}

/** Tokens in and out, and the cost below; a dash where the sender reports none. */
function usageCell(run: RunSummary): Html {
  const tokens = tokensText(run).replace(' tokens', '') || html`<span class="soft">–</span>`;
  return html`<td data-label="Tokens" class="number">${tokens}${run.costUsd !== null && html` <span class="soft below">${costText(run.costUsd)}</span>`}</td>`;
}

/** The highest severity; a dash where nothing could match. */
function highestSeverity(run: RunSummary): HtmlValue {
  const { severities } = run;
  const severity = SEVERITIES.find((one) => severities.includes(one));
  if (severity === undefined) {
    const { checked } = checkOf(run);
    const isChecked = checked === 'fully' || checked === 'partly';
    return html`<span class="soft">${isChecked ? 'none' : '–'}</span>`;
  }
  return html`${severityBadge(severity)} ${severities.length > 1 && html`<span class="soft" title="the highest of ${count(severities.length)}">of ${count(severities.length)}</span>`}`;
}

function row(run: RunSummary, nowMs: number): Html {
  return html`<tr>
${titleCell(run)}
<td data-label="State">${stateText(run)}</td>
<td data-label="Findings">${highestSeverity(run)}</td>
<td data-label="Steps" class="number">${count(run.spans + run.logRecords)}</td>
<td data-label="Checked">${checkedCell(run)}</td>
${usageCell(run)}
<td data-label="Duration" class="number">${lengthOf(run)}</td>
<td data-label="Arrived">${time(run.firstArrivalAt, nowMs)}</td></tr>
`;
}

function table(rows: readonly Html[]): Html {
  return scrolling(
    'Runs',
    html`<table class="stack runs" data-keys aria-label="Runs"><thead><tr><th scope="col">Run</th><th scope="col">State</th>
<th scope="col">${term('finding', 'Findings')}</th><th scope="col" class="number">${term('step', 'Steps')}</th><th scope="col">${term('checked', 'Checked')}</th>
<th scope="col" class="number">Tokens</th><th scope="col" class="number">Duration</th><th scope="col">Arrived</th></tr></thead><tbody>${rows}</tbody></table>`,
  );
}

const isNarrow = (query: string): boolean =>
  [...new URLSearchParams(query).values()].some((value) => value !== '');

function emptyState({ query, endedEarly, search }: RunsPage): Html {
  if (search !== null && search.next !== null) return html``;
  if (endedEarly) {
    return empty(
      'No matching runs so far',
      html`<p>Older runs may match: use the button below.</p>`,
    );
  }
  return isNarrow(query)
    ? empty('No runs match this filter', html`<p><a href="${PATH}">Show all runs</a></p>`)
    : empty(
        'No runs yet',
        html`<p><a href="/app">How to send the first one</a>, or run <code>npm run demo</code> on the server’s machine.</p>`,
      );
}

const KEYS = keysHelp([
  [['j', 'k'], 'next, previous run'],
  [['Enter', 'o'], 'open the run'],
]);

export function runsPage(look: Look, viewer: Viewer, data: RunsPage): Html {
  const { runs, query, next, endedEarly, search, isRedacted, nowMs } = data;
  return appPage(look, viewer, {
    title: 'Runs',
    current: PATH,
    isWide: true,
    main: html`<div class="head"><div class="title-line"><h1>Runs</h1>
<p class="soft">A ${term('run', 'run')} is one trace of an agent, or everything that one prompt caused.</p></div><p class="soft exports"><a href="/app/entities">Entities</a></p>${KEYS}</div>
${runFilters(query, data.names, isRedacted)}
${search !== null && searchState(search, nowMs)}
${runs.length === 0 ? emptyState(data) : table(runs.map((run) => row(run, nowMs)))}
${
  endedEarly &&
  html`<p class="notice" role="status">A page searches at most 10,000 runs, and few of them match this filter. Search further for older runs.</p>`
}
${olderNote(data)}
${pager(PATH, query, next, new URLSearchParams(query).get('sort') ? 'Next' : endedEarly || search !== null ? 'Search further' : 'Older')}`,
  });
}
