/** The list of log records, with its filters. */
import {
  LOG_LEVEL_NAMES,
  type LogLine,
  type LogList,
  type UnreadableDayBlock,
} from '../../../model/shown/logs.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { many, nanoMoment } from '../format.ts';
import {
  appPage,
  choice,
  empty,
  entityLink,
  field,
  folded,
  type Look,
  listTable,
  pager,
  timeField,
  type Viewer,
} from '../shell.ts';

export const LOGS_PATH = '/app/logs';
const METRICS_PATH = '/app/metrics';

export interface LogsPage extends Omit<LogList, 'next'> {
  readonly next: string | null;
  readonly query: string;
  readonly isRedacted: boolean;
}

/** Links between the pages of telemetry that are about no run. */
export const telemetryTabs = (current: string): Html =>
  html`<p class="soft exports">${[
    [LOGS_PATH, 'Logs'],
    [METRICS_PATH, 'Metrics'],
  ].map(([path, label]) => path !== current && html`<a href="${path}">${label}</a>`)}</p>`;

export function logFilters(query: string, isRedacted = false): Html {
  const given = new URLSearchParams(query);
  return html`<form class="filters" method="get" action="${LOGS_PATH}" role="search" aria-label="Logs">
${!isRedacted && html`<label>Text<input type="search" name="text" value="${given.get('text')}" minlength="3" maxlength="200" autocomplete="off"></label>`}
${choice('level', 'Level, at least', LOG_LEVEL_NAMES, given.get('level'))}
${folded(
  given,
  ['text', 'level'],
  html`${field('service', 'Service', given.get('service'), { hint: 'contains' })}
${field('run_id', 'Run id', given.get('run_id'))}
${timeField('since', 'Since', given)}
${timeField('until', 'Before', given)}`,
)}
<div class="buttons"><button>Filter</button> <a class="button quiet" href="${LOGS_PATH}">Clear</a></div>
</form>`;
}

/** Says which blocks could not be read. @param noun what they held */
export function unreadableNote(unreadable: readonly UnreadableDayBlock[], noun: string): HtmlValue {
  if (unreadable.length === 0) return false;
  const records = unreadable.reduce((sum, one) => sum + one.records, 0);
  const days = [...new Set(unreadable.map(({ day }) => day))].join(', ');
  return html`<p class="notice error" role="status">${many(unreadable.length, 'block')} with ${many(records, noun)} could not be read (arrived on ${days}): damaged or missing.</p>`;
}

const LOOKS = { fatal: 'critical', error: 'high', warn: 'medium' } as const;

function levelBadge({ level }: LogLine): HtmlValue {
  if (level === null) return html`<span class="soft">–</span>`;
  return html`<span class="badge ${level in LOOKS ? LOOKS[level as keyof typeof LOOKS] : ''}">${level}</span>`;
}

function textCell({ eventName, text, attributes, isCut }: LogLine): Html {
  return html`${eventName !== null && html`<b>${eventName}</b> `}${text}${attributes !== null && attributes !== '' && html` <span class="soft below">${attributes}</span>`}${isCut && html` <span class="soft">(cut)</span>`}`;
}

const runCell = ({ runId }: LogLine): Html =>
  runId === null
    ? html`<span class="soft">–</span>`
    : html`<a href="/app/runs/${runId}"><code>${runId.slice(0, 8)}</code></a>`;

function table(records: readonly LogLine[]): Html {
  return listTable(
    'Log records',
    records,
    [
      ['Time', ({ timeUnixNano: at }) => (at === '0' ? '–' : nanoMoment(at))],
      ['Level', levelBadge],
      ['Service', ({ service }) => (service === null ? '–' : entityLink('service', service))],
      ['Text', textCell, { className: 'what' }],
      ['Run', runCell],
    ],
    'stack logs',
  );
}

export function logsPage(look: Look, viewer: Viewer, data: LogsPage): Html {
  const { records, next, query, isRedacted, unreadable } = data;
  const isFiltered = [...new URLSearchParams(query).values()].some((value) => value !== '');
  const none =
    next !== null
      ? empty(
          'No matching records so far',
          html`<p>Older ones may match: use the button below.</p>`,
        )
      : isFiltered
        ? empty(
            'No log records match this filter',
            html`<p><a href="${LOGS_PATH}">Show all log records</a></p>`,
          )
        : empty('No log records yet', html`<p><a href="/docs/ingest">How to send them</a></p>`);
  return appPage(look, viewer, {
    title: 'Logs',
    current: LOGS_PATH,
    isWide: true,
    main: html`<div class="head"><div class="title-line"><h1>Logs</h1>
<p class="soft">Log records as they were sent, with and without a run. The last to arrive first.</p></div>${telemetryTabs(LOGS_PATH)}</div>
${logFilters(query, isRedacted)}
${isRedacted && html`<p class="notice">This workspace redacts excerpts: the texts of log records are not shown.</p>`}
${unreadableNote(unreadable, 'log record')}
${records.length === 0 ? none : table(records)}
${pager(LOGS_PATH, query, next, records.length === 0 ? 'Search further' : 'Older')}`,
  });
}
