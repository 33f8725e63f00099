/**
 * The runs in the read API: a page, newest first, one by its id with an outline of its steps, a search; and their
 * operations in `/openapi.json`, with the run of the ingest example.
 */
import { z } from 'zod';
import type { WorkspaceReader } from '../../../db/connection-turns.ts';
import { listSortedRuns, listRuns as readRuns } from '../../../db/runs/runs.ts';
import { SluiceError } from '../../../errors.ts';
import {
  CHECKED,
  EVALUATION_STATES,
  namesOfRun,
  type PageCursor,
  RUN_NAME_ROWS,
  RUN_NOT_EXPORTED,
  RUN_ORDERS,
  RUN_STATES,
  RUNS_NOT_SEARCHED,
  type RunFilter,
  type RunSummary,
} from '../../../model/runs.ts';
import type { StepOutline } from '../../../model/steps.ts';
import { NO_USAGE } from '../../../model/usage.ts';
import { json } from '../../transport/answers.ts';
import { NDJSON_TYPE, type StreamedAnswer } from '../../transport/exchange.ts';
import {
  flag,
  hexId,
  idOf,
  momentOrAgo,
  pageCursor,
  parseQuery,
  skippedBy,
  toCursor,
  toDate,
  toSkipCursor,
  wholeNumber,
} from '../../transport/input.ts';
import type { ApiContext, AuthorizedHandler } from '../authorized.ts';
import { type BodyOf, problemBody } from '../openapi/component.ts';
import {
  type ApiSettings,
  badQuery,
  errorContent,
  errorExample,
  example,
  found,
  idParameter,
  notFound,
  type Operation,
  READ,
  READ_REFUSALS,
} from '../openapi/operation.ts';
import {
  AGENT_RUN,
  ATTACK,
  RUN,
  SPAN_IDS,
  STORED_AT,
  TIMES,
  TRACE_ID,
} from '../otlp/otlp-examples.ts';
import {
  exportedRun,
  run,
  type run as runBody,
  type runItem,
  runPage,
  runSearch,
  toRunItem,
  toRunStep,
} from './run-schema.ts';

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;
/** The length to which stored names are cut. */
const NAME_CHARS_MAX = 256;

const name = z.string().max(NAME_CHARS_MAX).optional();

export const runsQuery = z.object({
  state: z.enum(RUN_STATES).optional().describe('Only runs in this state.'),
  evaluation: z
    .enum(EVALUATION_STATES)
    .optional()
    .describe('Only runs whose evaluation has this state.'),
  ...namesOfRun((label) =>
    name.describe(
      `Only runs whose ${label} contains this text, in any case; in double quotes it is the whole name.`,
    ),
  ),
  session_id: name.describe(
    'Only runs of this session; where no run has this whole id, of sessions whose id contains it.',
  ),
  text_incomplete: flag
    .optional()
    .describe('`true`: only runs whose sender reports missing text; `false`: only others.'),
  checked: z.enum(CHECKED).optional().describe('Only runs with this state of checking.'),
  has_findings: flag
    .optional()
    .describe('`true`: only runs with findings; `false`: only runs without.'),
  since: momentOrAgo
    .optional()
    .describe(
      'Only runs whose first step arrived then or later; `24h`, `7d`: that long before now.',
    ),
  until: momentOrAgo.optional().describe('Only runs whose first step arrived before.'),
  sort: z
    .enum(RUN_ORDERS)
    .default('newest')
    .describe(
      'The newest first, or the longest, those with the most tokens or the most findings first, of the newest 10,000 runs of the time range.',
    ),
  cursor: pageCursor.optional().describe('`next_cursor` of the page before.'),
  limit: wholeNumber(1, LIMIT_MAX, LIMIT_DEFAULT).describe('Runs on a page.'),
});

export const otlpQuery = z.object({
  signal: z
    .enum(['traces', 'logs'])
    .default('traces')
    .describe('`traces`: the spans of the run. `logs`: its log records.'),
});

export function runFilterOf(
  query: Omit<z.infer<typeof runsQuery>, 'cursor' | 'limit' | 'sort'>,
  nowMs: number,
): RunFilter {
  return {
    state: query.state,
    evaluation: query.evaluation,
    ...Object.fromEntries(RUN_NAME_ROWS.map(({ key, name }) => [key, query[name]])),
    textIncomplete: query.text_incomplete,
    checked: query.checked,
    hasFindings: query.has_findings,
    since: toDate(query.since, nowMs),
    until: toDate(query.until, nowMs),
  };
}

export async function runsInOrder(
  db: ApiContext['db'],
  reader: WorkspaceReader,
  query: z.infer<typeof runsQuery>,
  nowMs: number,
): Promise<{ runs: RunSummary[]; next: PageCursor | null; searchedTo: Date | null }> {
  const { sort, cursor = null, limit } = query;
  const filter = runFilterOf(query, nowMs);
  if (sort === 'newest') {
    return { ...(await db.read(readRuns, reader, filter, cursor, limit)), searchedTo: null };
  }
  const page = await db.read(listSortedRuns, reader, filter, sort, skippedBy(cursor), limit);
  return { ...page, next: toSkipCursor(page.next) };
}

export function listRuns({ db, runs: { times }, nowMs }: ApiContext): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const query = parseQuery(runsQuery, exchange.query);
    const reader = { workspaceId, signal: exchange.signal };
    const { runs, next, searchedTo } = await runsInOrder(db, reader, query, nowMs());
    const body: BodyOf<typeof runPage> = {
      runs: runs.map((run) => toRunItem(run, times)),
      next_cursor: toCursor(next),
      searched_to: searchedTo?.toISOString() ?? null,
    };
    return json(body);
  };
}

export function showRun({ runs }: ApiContext): AuthorizedHandler {
  return async (_exchange, { workspaceId }, { runId }) => {
    const id = idOf(runId);
    const found = id === null ? null : await runs.find(workspaceId, id);
    if (found === null) throw new SluiceError('not_found', 'This workspace has no such run.');
    const { run, steps, stepsLeftOut } = found;
    const body: BodyOf<typeof runBody> = {
      ...toRunItem(run, runs.times),
      steps: steps.map(toRunStep),
      steps_left_out: stepsLeftOut,
      unreadable_blocks: run.unreadable?.blocks ?? 0,
      unreadable_steps: run.unreadable?.steps ?? 0,
    };
    return json(body);
  };
}

export function exportRun({ runs }: ApiContext): AuthorizedHandler<StreamedAnswer> {
  return async (exchange, { workspaceId }, { runId }) => {
    const { signal } = parseQuery(otlpQuery, exchange.query);
    const id = idOf(runId);
    if (id === null) throw new SluiceError('not_found', 'This workspace has no such run.');
    const chunks = await runs.exportOtlp(workspaceId, id, signal);
    return { contentType: NDJSON_TYPE, chunks };
  };
}

const TAG = 'Runs';

const SUMMARY: Omit<RunSummary, 'corpusVersion' | 'corpusIdentity'> = {
  runId: TRACE_ID,
  state: 'completed',
  evaluation: 'evaluated',
  name: `invoke_agent ${RUN.agent}`,
  title: ATTACK,
  ...NO_USAGE,
  serviceName: RUN.agent,
  agentName: RUN.agent,
  model: RUN.model,
  sessionId: null,
  userId: null,
  startUnixNano: TIMES.root[0],
  endUnixNano: TIMES.root[1],
  firstArrivalAt: new Date('2025-11-20T12:00:03.051Z'),
  lastArrivalAt: new Date('2025-11-20T12:00:03.051Z'),
  settlesFrom: new Date('2025-11-20T12:00:03.051Z'),
  isOfSession: false,
  spans: 2,
  repeatedSpans: 0,
  logRecords: 0,
  evaluatedAt: STORED_AT,
  evaluatedSteps: 2,
  unreadSteps: 0,
  texts: 4,
  surfaces: ['step_input', 'tool_args', 'tool_result', 'tool_name'],
  truncatedTexts: 0,
  textCapBytes: 65_536,
  unparsedValues: 0,
  textGaps: [],
  unreadTexts: 0,
  unreadKeys: [],
  unknownRoles: [],
  captureHint: null,
  severities: ['high', 'high'],
};

const STEPS: readonly StepOutline[] = [
  {
    source: 'span',
    name: `invoke_agent ${RUN.agent}`,
    kind: 'agent',
    spanId: SPAN_IDS.root,
    parentSpanId: null,
    serviceName: RUN.agent,
    startUnixNano: TIMES.root[0],
    endUnixNano: TIMES.root[1],
    statusCode: 0,
    surfaces: [{ surface: 'step_input', texts: 1, bytes: ATTACK.length }],
    isCut: false,
  },
  {
    source: 'span',
    name: `execute_tool ${RUN.tool}`,
    kind: 'tool',
    spanId: SPAN_IDS.tool,
    parentSpanId: SPAN_IDS.root,
    serviceName: RUN.agent,
    startUnixNano: TIMES.tool[0],
    endUnixNano: TIMES.tool[1],
    statusCode: 0,
    surfaces: [
      { surface: 'tool_name', texts: 1, bytes: 10 },
      { surface: 'tool_args', texts: 1, bytes: 14 },
      { surface: 'tool_result', texts: 1, bytes: 14 },
    ],
    isCut: false,
  },
];

export const RUNS_EXAMPLE_QUERY = 'has_findings=true&limit=1';

export function exampleItem({ book }: ApiSettings): BodyOf<typeof runItem> {
  const { version: corpusVersion, identity: corpusIdentity } = book.snapshot;
  return toRunItem({ ...SUMMARY, corpusVersion, corpusIdentity }, { settleMs: 0, timeoutMs: 0 });
}

function runExamples(settings: ApiSettings) {
  const item = exampleItem(settings);
  const run = {
    ...item,
    steps: STEPS.map(toRunStep),
    steps_left_out: 0,
    unreadable_blocks: 0,
    unreadable_steps: 0,
  };
  const page = { runs: [item], next_cursor: null, searched_to: null };
  return {
    list: [example('with_findings', `Answer to \`?${RUNS_EXAMPLE_QUERY}\`.`, page)],
    otlp: [example('run', 'The spans of the run of the ingest example.', AGENT_RUN)],
    one: [example('run', 'The run of the ingest example.', run)],
  };
}

/** The answer of a workspace that redacts. */
export const redacted = (detail: string) => ({
  409: {
    description: 'The workspace redacts excerpts.',
    contents: [errorContent('problem', problemBody, [errorExample('problem', 'conflict', detail)])],
  },
});

export const RUN_FILTER_EXAMPLES = {
  state: 'completed',
  evaluation: 'evaluated',
  service: 'shop',
  agent: 'shop',
  model: 'demo-model-1',
  session_id: 's-1',
  user_id: 'u-1',
  text_incomplete: 'false',
  checked: 'fully',
  has_findings: 'true',
  since: '2025-11-01',
  until: '2125-11-01T00:00:00+01:00',
};

export function runOperations(settings: ApiSettings): Operation[] {
  const examples = runExamples(settings);
  return [
    {
      ...READ,
      path: '/platform/v1/runs',
      operationId: 'listRuns',
      tag: TAG,
      summary: 'List the runs',
      description:
        'Newest first, by the arrival of the first step; other orders are of the newest 10,000 runs of the time range.',
      query: runsQuery,
      queryExamples: { ...RUN_FILTER_EXAMPLES, sort: 'longest', limit: '50' },
      responses: {
        ...found('A page of runs.', runPage, examples.list),
        ...READ_REFUSALS,
        ...badQuery('limit', 'must be a whole number from 1 to 500, in digits'),
      },
    },
    {
      ...READ,
      path: '/platform/v1/runs/{runId}',
      operationId: 'getRun',
      tag: TAG,
      summary: 'Read one run',
      description:
        'The run with an outline of its first steps: kinds and sizes of their texts, not the texts.',
      parameters: [idParameter('runId', 'Id of a run.', TRACE_ID)],
      responses: {
        ...found('The run.', run, examples.one),
        ...notFound('This workspace has no such run.'),
        ...READ_REFUSALS,
      },
    },
    {
      ...READ,
      path: '/platform/v1/runs/{runId}/otlp',
      operationId: 'exportRun',
      tag: TAG,
      summary: 'Export one run as OTLP requests',
      description:
        'The first 20,000 spans, or log records, that are stored of the run, byte for byte as they were sent: requests for ' +
        'the ingest of another Sluice (`sluice replay`), or of any OTLP/HTTP endpoint that takes JSON. They contain the ' +
        'texts of the run, so a workspace that redacts excerpts answers 409.',
      parameters: [idParameter('runId', 'Id of a run.', TRACE_ID)],
      query: otlpQuery,
      queryExamples: { signal: 'traces' },
      responses: {
        200: {
          description:
            'Newline-delimited JSON: each line is an `ExportTraceServiceRequest`, or an `ExportLogsServiceRequest`.',
          contents: [
            {
              mediaType: NDJSON_TYPE,
              schema: exportedRun,
              examples: examples.otlp,
            },
          ],
        },
        ...notFound('This workspace has no such run.'),
        ...redacted(RUN_NOT_EXPORTED),
        ...READ_REFUSALS,
        ...badQuery('signal', 'Invalid option: expected one of "traces"|"logs"'),
      },
    },
  ];
}

const TEXT_CHARS_MIN = 3;
const TEXT_CHARS_MAX = 200;
const SEARCH_LIMIT_DEFAULT = 20;
const SEARCH_LIMIT_MAX = 100;

export const searchedText = z
  .string()
  .min(TEXT_CHARS_MIN)
  .max(TEXT_CHARS_MAX)
  .describe(
    'Only runs with this text in a name, an attribute or a body, also in JSON that an attribute holds. A to Z count as a to z.',
  );
export const searchCursor = hexId.describe('`next_cursor` of the page before.');

export const searchQuery = runsQuery.omit({ sort: true }).extend({
  text: searchedText,
  cursor: searchCursor.optional(),
  limit: wholeNumber(1, SEARCH_LIMIT_MAX, SEARCH_LIMIT_DEFAULT).describe(
    'The page ends with the block of runs that reaches so many.',
  ),
});

export function searchRuns({ runs, nowMs }: ApiContext): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const query = parseQuery(searchQuery, exchange.query);
    const { text, cursor = null, limit } = query;
    const filter = runFilterOf(query, nowMs());
    const page = await runs.search(workspaceId, { text, filter, cursor, limit }, exchange.signal);
    const body: BodyOf<typeof runSearch> = {
      runs: page.runs.map((run) => ({
        ...toRunItem(run, runs.times),
        text_match: run.textMatch,
      })),
      searched_to: page.searchedTo?.toISOString() ?? null,
      blocks_tested: page.blocks,
      blocks_read: page.blocksRead,
      blocks_unreadable: page.blocksUnreadable,
      pending_left_out: page.pendingLeftOut,
      next_cursor: page.next,
    };
    return json(body);
  };
}

const SEARCHED = ATTACK.split(' ').slice(0, 3).join(' ');

function foundExample(settings: ApiSettings) {
  const [before = '', after = ''] = ATTACK.split(SEARCHED);
  return example('found', 'One run has the text.', {
    runs: [{ ...exampleItem(settings), text_match: { before, match: SEARCHED, after } }],
    searched_to: null,
    blocks_tested: 1,
    blocks_read: 1,
    blocks_unreadable: 0,
    pending_left_out: false,
    next_cursor: null,
  });
}

export function runSearchOperations(settings: ApiSettings): Operation[] {
  return [
    {
      ...READ,
      path: '/platform/v1/runs/search',
      operationId: 'searchRuns',
      tag: 'Runs',
      summary: 'Search runs for a text',
      description:
        'Runs whose stored steps contain a text, the newest first. A page ends when it has enough runs, or after two ' +
        'seconds or 64 MiB of text: it may have no runs and still have a `next_cursor`. A workspace that redacts excerpts ' +
        'answers 409.',
      query: searchQuery,
      queryExamples: { ...RUN_FILTER_EXAMPLES, text: SEARCHED, limit: '20' },
      responses: {
        ...found('A page of the search.', runSearch, [foundExample(settings)]),
        ...redacted(RUNS_NOT_SEARCHED),
        ...READ_REFUSALS,
        ...badQuery('limit', 'must be a whole number from 1 to 100, in digits'),
      },
    },
  ];
}
