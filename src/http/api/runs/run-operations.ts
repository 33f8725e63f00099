/** The runs in `/openapi.json`. The example is the run of the ingest example. */

import { RUN_NOT_EXPORTED, type RunSummary } from '../../../model/runs.ts';
import type { StepOutline } from '../../../model/steps.ts';
import { NDJSON_TYPE } from '../../transport/exchange.ts';
import { problemBody } from '../openapi/error-schema.ts';
import { type ApiSettings, idParameter, type Operation } from '../openapi/operation.ts';
import {
  badQuery,
  errorContent,
  errorExample,
  example,
  found,
  notFound,
  READ,
  READ_REFUSALS,
} from '../openapi/shared-answers.ts';
import {
  AGENT_RUN,
  ATTACK,
  RUN,
  SPAN_IDS,
  STORED_AT,
  TIMES,
  TRACE_ID,
} from '../otlp/otlp-examples.ts';
import { otlpQuery, runsQuery, toRunItem, toRunStep } from './run-routes.ts';
import { exportedRun, run, runPage } from './run-schema.ts';

const TAG = 'Runs';

const SUMMARY: Omit<RunSummary, 'corpusVersion' | 'corpusIdentity'> = {
  runId: TRACE_ID,
  state: 'completed',
  evaluation: 'evaluated',
  name: `invoke_agent ${RUN.agent}`,
  title: ATTACK,
  inputTokens: null,
  outputTokens: null,
  costUsd: null,
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

/** The query that the example of the runs' list answers. */
export const RUNS_EXAMPLE_QUERY = 'has_findings=true&limit=1';

function runExamples({ book }: ApiSettings) {
  const { version: corpusVersion, identity: corpusIdentity } = book.snapshot;
  const item = toRunItem(
    { ...SUMMARY, corpusVersion, corpusIdentity },
    { settleMs: 0, timeoutMs: 0 },
  );
  const run = {
    ...item,
    steps: STEPS.map(toRunStep),
    steps_left_out: 0,
    unreadable_blocks: 0,
    unreadable_steps: 0,
  };
  const page = { runs: [item], next_cursor: null };
  return {
    list: [example('with_findings', `Answer to \`?${RUNS_EXAMPLE_QUERY}\`.`, page)],
    otlp: [example('run', 'The spans of the run of the ingest example.', AGENT_RUN)],
    one: [example('run', 'The run of the ingest example.', run)],
  };
}

export function runOperations(settings: ApiSettings): Operation[] {
  const examples = runExamples(settings);
  return [
    {
      ...READ,
      path: '/platform/v1/runs',
      operationId: 'listRuns',
      tag: TAG,
      summary: 'List the runs',
      description: 'Newest first, by the arrival of the first step.',
      query: runsQuery,
      queryExamples: {
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
        limit: '50',
      },
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
        409: {
          description: 'The workspace redacts excerpts.',
          contents: [
            errorContent('problem', problemBody, [
              errorExample('problem', 'conflict', RUN_NOT_EXPORTED),
            ]),
          ],
        },
        ...READ_REFUSALS,
        ...badQuery('signal', 'Invalid option: expected one of "traces"|"logs"'),
      },
    },
  ];
}
