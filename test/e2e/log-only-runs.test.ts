/**
 * Products that send log events and no traces, over the OpenTelemetry SDK's own exporter to a
 * running server: their events become runs by session and prompt, an attack in one of them is found
 * on its surface, and the session's course says when a run is over.
 *
 * The server waits its usual quarter of an hour for more of a run that nothing ends.
 */
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Surface } from '../../src/model/steps.ts';
import { ATTACK, ATTACK_RULE } from '../support/rows.ts';
import { type StoredRecord, storedLogs, textAttribute } from '../support/stored-blocks.ts';
import { waitFor } from '../support/wait-for.ts';
import { post, randomId, read } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

const EVALUATED_WITHIN_MS = 60_000;

/** What is said in one run, place by place. */
interface Story {
  readonly user: string;
  readonly toolArgs: string;
  readonly toolResult: string;
  readonly answer: string;
}

const QUIET: Story = {
  user: 'Where is parcel 4471?',
  toolArgs: 'parcel 4471',
  toolResult: 'It left the depot at noon.',
  answer: 'It is on its way to you.',
};

type Attributes = Record<string, string | number | boolean>;

interface Event {
  readonly name: string;
  readonly attributes: Attributes;
  readonly body?: string;
  /** of the product if left out */
  readonly scope?: string;
}

interface Product {
  readonly service: string;
  readonly scope: string;
  /** attribute that names the session */
  readonly session: string;
  /** the events of one prompt; `prompt` numbers it in its session */
  readonly tell: (session: string, prompt: number, story: Story) => Event[];
  /** the surface of each part of the story, by the event that is found */
  readonly steps: Readonly<Record<keyof Story, string>>;
}

const CLAUDE_CODE: Product = {
  service: 'claude-code',
  scope: 'com.anthropic.claude_code.events',
  session: 'session.id',
  steps: {
    user: 'user_prompt',
    toolArgs: 'tool_result',
    toolResult: 'api_request_body',
    answer: 'assistant_response',
  },
  tell: (session, prompt, { user, toolArgs, toolResult, answer }) => {
    const event = (name: string, attributes: Attributes): Event => ({
      name,
      body: `claude_code.${name}`,
      attributes: { 'session.id': session, 'prompt.id': `${session}-${prompt}`, ...attributes },
    });
    const content = [{ type: 'tool_result', tool_use_id: 'toolu_1', content: toolResult }];
    return [
      event('user_prompt', { prompt: user, prompt_length: user.length }),
      event('tool_decision', { tool_name: 'Bash', decision: 'accept', source: 'config' }),
      event('tool_result', {
        tool_name: 'Bash',
        success: 'true',
        tool_input: JSON.stringify({ command: toolArgs }),
      }),
      event('api_request_body', {
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }),
      }),
      event('api_request', { model: 'claude-test', cost_usd: 0.1 }),
      event('assistant_response', { response: answer, model: 'claude-test' }),
    ];
  },
};

const CODEX: Product = {
  service: 'codex_cli_rs',
  scope: 'codex_otel.log_only',
  session: 'conversation.id',
  steps: {
    user: 'codex.user_prompt',
    toolArgs: 'codex.tool_result',
    toolResult: 'codex.tool_result',
    answer: 'codex.agent_response',
  },
  tell: (session, _prompt, { user, toolArgs, toolResult, answer }) => {
    const event = (name: string, attributes: Attributes): Event => ({
      name,
      attributes: { 'conversation.id': session, model: 'gpt-test', ...attributes },
    });
    return [
      event('codex.user_prompt', { prompt: user }),
      event('codex.sse_event', { 'event.kind': 'response.completed' }),
      event('codex.tool_result', {
        tool_name: 'shell',
        call_id: 'call_1',
        arguments: JSON.stringify({ command: [toolArgs] }),
        output: toolResult,
        success: 'true',
      }),
      event('codex.agent_response', { response: answer }),
    ];
  },
};

const GEMINI_CLI: Product = {
  service: 'gemini-cli',
  scope: 'gemini-cli',
  session: 'session.id',
  steps: {
    user: 'gemini_cli.user_prompt',
    toolArgs: 'gemini_cli.tool_call',
    toolResult: 'gen_ai.client.inference.operation.details',
    answer: 'gemini_cli.api_response',
  },
  tell: (session, prompt, { user, toolArgs, toolResult, answer }) => {
    const ids = { 'session.id': session };
    const promptId = { ...ids, prompt_id: `${session}########${prompt}` };
    const response = { response: JSON.stringify({ output: toolResult }) };
    return [
      { name: 'gemini_cli.user_prompt', attributes: { ...promptId, prompt: user } },
      {
        name: 'gemini_cli.tool_call',
        attributes: {
          ...promptId,
          function_name: 'run_shell_command',
          function_args: JSON.stringify({ command: toolArgs }, null, 2),
          success: true,
        },
      },
      // Gemini CLI names no prompt in this one.
      {
        name: 'gen_ai.client.inference.operation.details',
        attributes: {
          ...ids,
          'gen_ai.operation.name': 'generate_content',
          'gen_ai.input.messages': JSON.stringify([
            { role: 'user', parts: [{ type: 'tool_call_response', id: '1', ...response }] },
          ]),
        },
      },
      {
        name: 'gemini_cli.api_response',
        attributes: {
          ...promptId,
          model: 'gemini-test',
          response_text: JSON.stringify([
            { candidates: [{ content: { role: 'model', parts: [{ text: answer }] } }] },
          ]),
        },
      },
    ];
  },
};

const PRODUCTS = { 'Claude Code': CLAUDE_CODE, 'Codex CLI': CODEX, 'Gemini CLI': GEMINI_CLI };

let gateway: SharedGateway;
beforeAll(async () => {
  gateway = await openSharedGateway();
});
afterAll(() => gateway.close());

/** Milliseconds since 1970; no two events are of the same moment. */
let clock = Date.now();

/** Sends events as the product's process would: one after another in time, in one batch. */
async function send(
  { service, scope }: Product,
  events: readonly Event[],
  key = gateway.keys.agent,
): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const exporter = new OTLPLogExporter({ url: `${gateway.server.observeUrl}/v1/logs`, headers });
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ 'service.name': service }),
    processors: [new BatchLogRecordProcessor({ exporter })],
  });
  for (const { name, body, attributes, scope: own } of events) {
    clock += 1;
    provider.getLogger(own ?? scope, '1.0').emit({
      timestamp: clock,
      body: body ?? 'What happened, in words.',
      attributes: name === '' ? attributes : { 'event.name': name, ...attributes },
    });
  }
  await provider.forceFlush();
  await provider.shutdown();
}

interface Run {
  readonly runId: string;
  readonly state: string;
  readonly evaluation: string;
  readonly steps: number;
  readonly texts: number | null;
}

/** The stored log records of a session that have no trace id. */
async function recordsOf(attribute: string, session: string): Promise<StoredRecord[]> {
  return (await storedLogs(gateway.database)).filter(
    ({ record }) => textAttribute(record, attribute) === session && !record.traceId,
  );
}

/** The runs of a session, in the order of their first records. */
async function runsOf({ session }: Product, id: string): Promise<Run[]> {
  const { rows } = await gateway.database.query<Run>(
    `SELECT run_id AS "runId", state, evaluation, log_records AS steps, texts
       FROM runs WHERE run_id = ANY ($1::uuid[]) ORDER BY start_unix_nano`,
    [(await recordsOf(session, id)).map(({ runId }) => runId)],
  );
  return rows;
}

async function evaluated(product: Product, id: string, count: number): Promise<Run[]> {
  await waitFor(
    async () => {
      const runs = await runsOf(product, id);
      return runs.filter(({ evaluation }) => evaluation === 'evaluated').length === count;
    },
    { withinMs: EVALUATED_WITHIN_MS, what: `${count} runs of ${id} are evaluated` },
  );
  return await runsOf(product, id);
}

interface Found {
  readonly surface: Surface;
  readonly step: {
    readonly span_id: string | null;
    readonly name: string;
    readonly number: number;
  };
}

async function found(runId: string): Promise<Found[]> {
  const url = `${gateway.server.baseUrl}/platform/v1/risk-findings?run_id=${runId}`;
  const { findings } = await read<{ findings: { metadata: Found & { rule_id: string } }[] }>(
    url,
    gateway.keys.workspace,
  );
  return findings
    .filter(({ metadata }) => metadata.rule_id === ATTACK_RULE)
    .map(({ metadata: { surface, step } }) => ({ surface, step }));
}

describe.each(Object.entries(PRODUCTS))('%s', (_name, product) => {
  test.each<[keyof Story, Surface]>([
    ['user', 'step_input'],
    ['toolArgs', 'tool_args'],
    ['toolResult', 'tool_result'],
    ['answer', 'agent_output'],
  ])('an attack in %s is found on %s, once the next prompt has come', async (place, surface) => {
    const id = randomId(16);
    const story = { ...QUIET, [place]: `${QUIET[place]} ${ATTACK}` };
    const events = product.tell(id, 1, story);
    await send(product, events);
    await send(product, product.tell(id, 2, QUIET));
    const [first, second] = await evaluated(product, id, 1);
    expect(first).toMatchObject({
      state: 'completed',
      evaluation: 'evaluated',
      steps: events.length,
    });
    expect(second).toMatchObject({ state: 'running', evaluation: 'pending' });
    const number = events.findIndex((event) => JSON.stringify(event).includes(ATTACK)) + 1;
    expect(await found(first?.runId ?? '')).toEqual([
      { surface, step: { span_id: null, name: product.steps[place], number } },
    ]);
  });
});

test('the end of a session ends its runs', async () => {
  const id = randomId(16);
  await send(GEMINI_CLI, [
    ...GEMINI_CLI.tell(id, 1, QUIET),
    ...GEMINI_CLI.tell(id, 2, { ...QUIET, answer: ATTACK }),
    { name: 'gemini_cli.conversation_finished', attributes: { 'session.id': id, turnCount: 2 } },
  ]);
  const runs = await evaluated(GEMINI_CLI, id, 2);
  expect(runs.map(({ state, steps }) => [state, steps])).toEqual([
    ['completed', 4],
    // The end itself comes after the second prompt and is a step of it.
    ['completed', 5],
  ]);
  expect(await found(runs[0]?.runId ?? '')).toEqual([]);
  expect(await found(runs[1]?.runId ?? '')).toHaveLength(1);
});

/** What each product sends last when its process ends, or its agent stops. */
const FAREWELLS: [string, Product, (session: string) => Event][] = [
  [
    'Claude Code with a Stop hook',
    CLAUDE_CODE,
    (session) => ({
      name: 'hook_execution_complete',
      attributes: {
        'session.id': session,
        'prompt.id': `${session}-1`,
        hook_event: 'Stop',
        num_blocking: '0',
      },
    }),
  ],
  [
    'codex exec',
    CODEX,
    () => ({
      name: '',
      scope: 'codex_otel::metrics::client',
      body: 'flushing OTEL metrics',
      attributes: {},
    }),
  ],
  [
    'gemini -p',
    GEMINI_CLI,
    (session) => ({
      name: 'gemini_cli.plan.approval_mode_duration',
      attributes: { 'session.id': session, mode: 'yolo', duration_ms: 317 },
    }),
  ],
];

test.each(FAREWELLS)('%s: its only run ends with its last record', async (_name, product, last) => {
  const id = randomId(16);
  await send(product, [...product.tell(id, 1, { ...QUIET, answer: ATTACK }), last(id)]);
  const [run] = await evaluated(product, id, 1);
  expect(run?.state).toBe('completed');
  expect(await found(run?.runId ?? '')).toHaveLength(1);
});

test('gemini -p: the traces and events of one prompt are one run', async () => {
  const { observeUrl } = gateway.server;
  const id = randomId(16);
  const attributesOf = (attributes: Attributes) =>
    Object.entries(attributes).map(([key, value]) => ({
      key,
      value: { stringValue: String(value) },
    }));
  const resource = { attributes: attributesOf({ 'service.name': 'gemini-cli' }) };
  const at = (ms: number): string => String(BigInt(clock + ms) * 1_000_000n);
  clock += 1000;
  // As 0.61 sends it without `telemetry.traces`: a call that chooses the model, a call of it, the
  // tools, and a call with their results, each a trace of its own. Only calls of the model name the
  // prompt, which without a terminal is the session.
  const traces = [1, 2, 3, 4].map((number) => randomId(16).replace(/^./, String(number)));
  const span = (trace: number, name: string, ms: number, more: Attributes, parent?: string) => ({
    traceId: traces[trace],
    spanId: `${trace}${name.length}`.padStart(16, 'a'),
    name,
    startTimeUnixNano: at(ms),
    endTimeUnixNano: at(ms + 5),
    ...(parent === undefined ? {} : { parentSpanId: parent }),
    attributes: attributesOf({
      'gen_ai.conversation.id': id,
      'gen_ai.operation.name': name,
      'gen_ai.agent.name': 'gemini-cli',
      ...more,
    }),
  });
  const prompt = { 'gen_ai.prompt.name': id };
  const batch = span(2, 'schedule_tool_calls', 30, {});
  const spans = [
    span(0, 'llm_call', 10, prompt),
    span(1, 'llm_call', 20, prompt),
    span(2, 'tool_call', 31, { 'gen_ai.tool.name': 'run_shell_command' }, batch.spanId),
    batch,
    span(3, 'llm_call', 40, prompt),
  ];
  const record = (name: string, ms: number, trace: number | null, more: Attributes) => ({
    timeUnixNano: at(ms),
    ...(trace === null ? {} : { traceId: traces[trace] }),
    attributes: attributesOf({ 'session.id': id, 'event.name': name, ...more }),
  });
  const named = { prompt_id: id };
  const details = 'gen_ai.client.inference.operation.details';
  const logRecords = [
    record('gemini_cli.startup_stats', 0, null, {}),
    record('gemini_cli.user_prompt', 9, null, { ...named, prompt: QUIET.user }),
    record('gemini_cli.api_request', 11, 0, { ...named, role: 'utility_router' }),
    record(details, 12, 0, { 'gen_ai.operation.name': 'generate_content' }),
    record('gemini_cli.model_routing', 15, null, { reasoning: 'short' }),
    record('gemini_cli.api_request', 21, 1, { ...named, request_text: ATTACK }),
    record('gemini_cli.api_response', 24, null, { ...named, response_text: '[]' }),
    record('gemini_cli.tool_call', 32, 2, { ...named, function_name: 'run_shell_command' }),
    record('gemini_cli.plan.approval_mode_duration', 50, null, { mode: 'yolo' }),
  ];
  const scope = { name: 'gemini-cli' };
  await post(`${observeUrl}/v1/traces`, gateway.keys.agent, {
    resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }],
  });
  await post(`${observeUrl}/v1/logs`, gateway.keys.agent, {
    resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }],
  });
  const [run] = await evaluated(GEMINI_CLI, id, 1);
  const { rows } = await gateway.database.query(
    `SELECT run_id, spans, log_records, state FROM runs
      WHERE run_id = $1 OR run_id = ANY ($2::uuid[])`,
    [run?.runId, traces],
  );
  // The startup comes before the prompt and has no text: it belongs to no run.
  expect(rows).toEqual([{ run_id: run?.runId, spans: 5, log_records: 8, state: 'completed' }]);
  expect(await found(run?.runId ?? '')).toHaveLength(1);
  const page = await read<{ steps: unknown[] }>(
    `${gateway.server.baseUrl}/platform/v1/runs/${run?.runId}`,
    gateway.keys.workspace,
  );
  expect(page.steps).toHaveLength(13);
});

test('the same session in two workspaces is two runs, each with its own end', async () => {
  const id = randomId(16);
  const other = await gateway.addWorkspace('beside');
  await send(CLAUDE_CODE, CLAUDE_CODE.tell(id, 1, QUIET));
  await send(CLAUDE_CODE, CLAUDE_CODE.tell(id, 1, QUIET), other.agent);
  await send(CLAUDE_CODE, CLAUDE_CODE.tell(id, 2, QUIET), other.agent);
  await evaluated(CLAUDE_CODE, id, 1);
  const { rows } = await gateway.database.query(
    `SELECT workspace_id = $2 AS theirs, state FROM runs
      WHERE run_id = ANY ($1::uuid[]) ORDER BY theirs, state`,
    [(await recordsOf('session.id', id)).map(({ runId }) => runId), other.id],
  );
  expect(rows).toEqual([
    { theirs: false, state: 'running' },
    { theirs: true, state: 'completed' },
    { theirs: true, state: 'running' },
  ]);
});

test('a run says that it waits for the end of its session, and until when', async () => {
  const id = randomId(16);
  await send(CLAUDE_CODE, CLAUDE_CODE.tell(id, 1, QUIET));
  const [run] = await runsOf(CLAUDE_CODE, id);
  const shown = await read<Record<string, string>>(
    `${gateway.server.baseUrl}/platform/v1/runs/${run?.runId}`,
    gateway.keys.workspace,
  );
  expect(shown.waits_for).toBe('session_end');
  const waitMs =
    Date.parse(shown.evaluation_due_at ?? '') - Date.parse(shown.last_arrived_at ?? '');
  expect(waitMs).toBe(15 * 60_000);
});

test('what was sent is stored as sent: no trace id where there was none', async () => {
  const id = randomId(16);
  await send(CLAUDE_CODE, CLAUDE_CODE.tell(id, 1, QUIET));
  const records = await recordsOf('session.id', id);
  expect(records).toHaveLength(6);
  expect(new Set(records.map(({ runId }) => runId)).size).toBe(1);
});
