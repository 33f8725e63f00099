/**
 * Runs over the API: the demo's conversations sent by the OpenTelemetry SDK, listed with what is known
 * of them, and one outlined step by step. A run whose text is not all here says so.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { CONVERSATIONS } from '../../demo/conversations.ts';
import { sendRun } from '../../demo/send-run.ts';
import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { corpusIdentity, loadManifest } from '../../src/engine/corpus/corpus.ts';
import { MANIFEST_PATH } from '../../src/main/corpus-location.ts';
import { usageInApi } from '../../src/model/usage.ts';
import { addPerson } from '../support/people.ts';
import { storedLogs, storedSpans } from '../support/stored-blocks.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser } from './browser.ts';
import {
  type Gateway,
  openGateway,
  post,
  randomId,
  rawSpan,
  read,
  request,
  traceBody,
} from './gateway.ts';

interface Run {
  readonly id: string;
  readonly [member: string]: unknown;
}
interface RunPage {
  readonly runs: readonly Run[];
  readonly next_cursor: string | null;
}
interface Outline extends Run {
  readonly steps: readonly {
    readonly name: string;
    readonly kind: string;
    readonly surfaces: readonly { surface: string; texts: number; bytes: number }[];
  }[];
  readonly steps_left_out: number;
}

const EVALUATED_WITHIN_MS = 60_000;

let gateway: Gateway;
let attack: string;
const withheld = randomId(16);
const silent = randomId(16);

const url = (rest: string): string => `${gateway.server.baseUrl}/platform/v1/runs${rest}`;
const list = (query: string): Promise<RunPage> => read(url(`?${query}`), gateway.keys.workspace);
const show = (id: string): Promise<Outline> => read(url(`/${id}`), gateway.keys.workspace);

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });

beforeAll(async () => {
  gateway = await openGateway();
  const { observeUrl } = gateway.server;
  const conversation = CONVERSATIONS.find(({ title }) => title === 'poisoned page, stolen key');
  if (conversation === undefined) throw new Error('the demo has no such conversation');
  attack = await sendRun(conversation, { observeUrl, agentKey: gateway.keys.agent });
  const spans = [
    rawSpan({
      traceId: withheld,
      name: 'invoke_agent secretive',
      startTimeUnixNano: '1763640000000000001',
      endTimeUnixNano: '1763640001000000002',
      attributes: [
        text('gen_ai.operation.name', 'invoke_agent'),
        text('gen_ai.conversation.id', 's-77'),
        text('user.id', 'u-7'),
        text('gen_ai.request.model', 'm-7'),
        text('gen_ai.input.messages_ref', 's3://elsewhere/1'),
        text('gen_ai.tool.name', 'search'),
      ],
    }),
    rawSpan({ traceId: silent, name: 'GET /health' }),
  ];
  await post(`${observeUrl}/v1/traces`, gateway.keys.agent, traceBody(spans));
  await waitFor(
    async () => {
      const { rows } = await gateway.database.query<{ evaluated: number }>(
        "SELECT count(*)::int AS evaluated FROM runs WHERE evaluation = 'evaluated'",
      );
      return rows[0]?.evaluated === 3;
    },
    { withinMs: EVALUATED_WITHIN_MS, what: 'three runs are evaluated' },
  );
});
afterAll(() => gateway.close());

test('runs are found by a text of their steps, over the API', async () => {
  const found = await read<{ runs: { id: string; text_match: object }[] }>(
    url('/search?text=s3://ELSEWHERE/1'),
    gateway.keys.workspace,
  );
  expect(found.runs.map(({ id }) => id)).toEqual([withheld]);
  expect(found).toMatchObject({
    next_cursor: null,
    searched_to: null,
    runs: [{ text_match: { before: '', match: 's3://elsewhere/1', after: '' } }],
  });
  const none = await read<RunPage>(url('/search?text=nowhere'), gateway.keys.workspace);
  expect(none.runs).toEqual([]);
});

test('runs are sorted over the API and on the page; a search by text is not', async () => {
  const first = await list('sort=findings&limit=1');
  expect(first).toMatchObject({ runs: [{ id: attack }], searched_to: null });
  const rest = await list(`sort=findings&limit=5&cursor=${first.next_cursor}`);
  expect(rest.runs.map(({ id }) => id).sort()).toEqual([withheld, silent].sort());
  const { id } = await findWorkspace(gateway.database, 'default');
  const browser = new Browser(
    gateway.server.baseUrl,
    (await addPerson(gateway.database, id, 'member')).token,
  );
  const { text: page } = await browser.get('/app/runs?sort=findings');
  const places = [attack, withheld].map((one) => page.indexOf(`/app/runs/${one}`));
  expect(places).toEqual([...places].sort((one, other) => one - other));
  expect(Math.min(...places)).toBeGreaterThan(0);
  const refused = await browser.get('/app/runs?sort=longest&text=nowhere');
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('search by text')]);
});

describe('one run', () => {
  test('holds what the contract lists, and its steps without their text', async () => {
    const run = await show(withheld);
    expect(run).toEqual({
      id: withheld,
      state: 'completed',
      evaluation: 'evaluated',
      waits_for: null,
      evaluation_due_at: null,
      name: 'invoke_agent secretive',
      title: null,
      ...usageInApi(() => null),
      service: 'e2e',
      agent: 'secretive',
      model: 'm-7',
      session_id: 's-77',
      user_id: 'u-7',
      started_at: '2025-11-20T12:00:00.000000001Z',
      ended_at: '2025-11-20T12:00:01.000000002Z',
      first_arrived_at: expect.stringMatching(/^\d{4}-.*Z$/),
      last_arrived_at: expect.stringMatching(/^\d{4}-.*Z$/),
      spans: 1,
      log_records: 0,
      repeated_spans: 0,
      evaluated_at: expect.stringMatching(/^\d{4}-.*Z$/),
      corpus_version: '4.0.0',
      corpus_identity: corpusIdentity(loadManifest(MANIFEST_PATH)),
      late_steps: 0,
      unread_steps: 0,
      checked: 'tool_names_only',
      check_limits: ['text_gaps'],
      texts: 1,
      surfaces: ['tool_name'],
      truncated_texts: 0,
      text_cap_bytes: 65_536,
      unparsed_values: 0,
      text_incomplete: true,
      text_gaps: ['stored_elsewhere'],
      unread_texts: 0,
      unread_keys: [],
      unknown_roles: [],
      capture_hint: 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true',
      findings: 0,
      highest_severity: null,
      steps: [
        {
          source: 'span',
          name: 'invoke_agent secretive',
          kind: 'agent',
          span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
          parent_span_id: null,
          service: 'e2e',
          started_at: '2025-11-20T12:00:00.000000001Z',
          ended_at: '2025-11-20T12:00:01.000000002Z',
          status: 'unset',
          surfaces: [{ surface: 'tool_name', texts: 1, bytes: 6 }],
          cut: false,
        },
      ],
      steps_left_out: 0,
      unreadable_blocks: 0,
      unreadable_steps: 0,
    });
  });

  test('of an attack has its findings counted, and tells where text stood', async () => {
    const run = await show(attack);
    expect(run).toMatchObject({ findings: 2, text_incomplete: false, texts: expect.any(Number) });
    expect(run).toMatchObject({ checked: 'fully', check_limits: [], capture_hint: null });
    expect(run.highest_severity).toMatch(/^(critical|high)$/);
    const surfaces = new Set(run.steps.flatMap((step) => step.surfaces.map((one) => one.surface)));
    expect(surfaces).toContain('tool_result');
    expect(JSON.stringify(run)).not.toMatch(/poison|ignore/i);
  });

  test('that sent no text says so', async () => {
    expect(await show(silent)).toMatchObject({
      checked: 'nothing',
      texts: 0,
      text_incomplete: false,
    });
  });

  test('is counted by what of it was checked', async () => {
    const counted = ['nothing', 'tool_names_only', 'fully'].map(
      (checked) => `sluice_pass_runs_checked_total{checked="${checked}"} 1`,
    );
    // A run is evaluated in the database a moment before it is counted.
    await waitFor(
      async () => {
        const { text } = await request(gateway.server.metricsUrl);
        return [...counted, 'sluice_pass_runs_without_text_total 1'].every((line) =>
          text.includes(line),
        );
      },
      { withinMs: 20_000, what: 'the runs to be counted' },
    );
  });

  test('is read by its id with dashes as well', async () => {
    const dashed = withheld.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    expect((await show(dashed)).id).toBe(withheld);
  });
});

describe('the list', () => {
  test.each([
    ['session_id=s-77', () => [withheld]],
    ['agent=secretive&model=m-7&user_id=u-7', () => [withheld]],
    ['text_incomplete=true', () => [withheld]],
    ['checked=tool_names_only', () => [withheld]],
    ['checked=nothing', () => [silent]],
    ['has_findings=true', () => [attack]],
    ['state=failed', () => []],
  ])('narrowed by %s', async (query, expected) => {
    expect((await list(query)).runs.map(({ id }) => id)).toEqual(expected());
  });

  test('continues where a page ended', async () => {
    const first = await list('limit=2');
    const second = await list(`limit=2&cursor=${first.next_cursor}`);
    const ids = [...first.runs, ...second.runs].map(({ id }) => id);
    expect(ids.toSorted()).toEqual([attack, silent, withheld].toSorted());
    expect(second.next_cursor).toBeNull();
  });
});

describe('a run as OTLP', () => {
  const traceId = randomId(16);
  const span = (at: number, members: string): string =>
    `{"traceId":"${traceId}","spanId":"${randomId(8)}","name":"step ${at}","kind":${1 + (at % 5)},
      "startTimeUnixNano":"17636400000000${String(at).padStart(5, '0')}","endTimeUnixNano":"1763640009000000000"${members}}`;
  // Text, because JSON.stringify writes 1.0 as 1, and no integer of 64 bits.
  const VALUES = `[{"key":"int","value":{"intValue":"9223372036854775807"}},
    {"key":"whole double","value":{"doubleValue":1.0}},{"key":"not a number","value":{"doubleValue":"NaN"}},
    {"key":"bytes","value":{"bytesValue":"AAEC/w=="}},{"key":"$marked","value":{"boolValue":true}},
    {"key":"text","value":{"stringValue":"\\u0022 and \\\\ and 😀"}},{"key":"empty","value":{}},
    {"key":"map","value":{"kvlistValue":{"values":[{"key":"$bytes","value":{"arrayValue":{"values":[{"intValue":"1"},{}]}}}]}}}]`;
  const FULL = `,"traceState":"a=b","flags":257,"parentSpanId":"${randomId(8)}","droppedAttributesCount":3,
    "status":{"code":2,"message":"it failed"},"attributes":${VALUES},
    "events":[{"name":"e","timeUnixNano":"5","attributes":${VALUES},"droppedAttributesCount":1},{"name":""}],
    "links":[{"traceId":"${randomId(16)}","spanId":"${randomId(8)}","attributes":${VALUES},"flags":1}]`;
  const LARGE = `,"attributes":[{"key":"long","value":{"stringValue":"${'long é '.repeat(200_000)}"}}]`;
  const resource = (name: string, spans: readonly string[]): string =>
    `{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"${name}"}}],"droppedAttributesCount":2},
      "schemaUrl":"https://a.test/1","scopeSpans":[{"scope":{"name":"s","version":"1","attributes":${VALUES}},
      "schemaUrl":"https://a.test/2","spans":[${spans.join()}]}]}`;
  const TRACES = `{"resourceSpans":[${resource('one', [span(0, FULL), span(1, LARGE)])},
    ${resource(
      'two',
      Array.from({ length: 450 }, (_, at) => span(at + 2, '')),
    )}]}`;
  const LOGS = `{"resourceLogs":[{"scopeLogs":[{"scope":{"name":"s"},"logRecords":[
    {"traceId":"${traceId}","timeUnixNano":"7","severityNumber":9,"severityText":"INFO","eventName":"e","body":{},"attributes":${VALUES}},
    {"traceId":"${traceId}","spanId":"${randomId(8)}","observedTimeUnixNano":"8","flags":1,"body":{"kvlistValue":{"values":${VALUES}}}},
    {"traceId":"${traceId}","timeUnixNano":"9"}]}]}]}`;

  const stored = async (slug: string, of: typeof storedSpans) => {
    const { id } = await findWorkspace(gateway.database, slug);
    return (await of(gateway.database))
      .filter(({ workspaceId, record }) => workspaceId === id && record.traceId === traceId)
      .map(({ resource, scope, record }) => ({ resource, scope, record }));
  };
  const send = async (path: string, key: string, body: string): Promise<void> => {
    const answer = await request(`${gateway.server.observeUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    });
    expect([answer.status, answer.text]).toEqual([200, '{}']);
  };

  const exported = async (signal: string): Promise<string[]> => {
    const headers = { authorization: `Bearer ${gateway.keys.workspace}` };
    const answer = await request(url(`/${traceId}/otlp?signal=${signal}`), { headers });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'application/x-ndjson',
    ]);
    return answer.text.split('\n').filter(Boolean);
  };

  test('is stored as the same records by another workspace, whatever it has', async () => {
    const copy = await gateway.addWorkspace('copy');
    await send('/v1/traces', gateway.keys.agent, TRACES);
    await send('/v1/logs', gateway.keys.agent, LOGS);
    for (const line of await exported('traces')) await send('/v1/traces', copy.agent, line);
    for (const line of await exported('logs')) await send('/v1/logs', copy.agent, line);
    const spans = await stored('default', storedSpans);
    expect(spans).toHaveLength(452);
    expect(await stored('copy', storedSpans)).toEqual(spans);
    const logs = await stored('default', storedLogs);
    expect(logs).toHaveLength(3);
    expect(await stored('copy', storedLogs)).toEqual(logs);
  });

  test('is the body itself, without spaces between records, where all are of the run', async () => {
    const body = LOGS.replace(/\s+(?=\{"traceId")/g, '').replaceAll('\n', ' ');
    expect(await exported('logs')).toEqual([body]);
  });

  test('is not given away where the workspace redacts', async () => {
    await gateway.database.query(
      "UPDATE workspaces SET redact_excerpts = true WHERE slug = 'copy'",
    );
    const { id } = await findWorkspace(gateway.database, 'copy');
    const { token } = await addPerson(gateway.database, id, 'owner');
    const person = new Browser(gateway.server.baseUrl, token);
    expect((await person.get(`/app/runs/${traceId}/otlp.jsonl`)).status).toBe(409);
    expect((await person.get(`/app/runs/${randomId(16)}/otlp.jsonl`)).status).toBe(404);
    expect((await person.get(`/app/runs/${traceId}/otlp.jsonl?signal=metrics`)).status).toBe(400);
  });
});

describe('who may read', () => {
  const status = async (rest: string, key: string) =>
    (await request(url(rest), { headers: { authorization: `Bearer ${key}` } })).status;

  test('an agent key may not', async () => {
    expect(await status('', gateway.keys.agent)).toBe(403);
    expect(await status(`/${attack}`, gateway.keys.agent)).toBe(403);
  });

  test("another workspace sees none of this one's runs", async () => {
    const other = await gateway.addWorkspace('other');
    expect(await read(url(''), other.workspace)).toEqual({
      runs: [],
      next_cursor: null,
      searched_to: null,
    });
    expect(await status(`/${attack}`, other.workspace)).toBe(404);
  });

  test('a wrong query is refused with all its faults', async () => {
    const answer = await request(url('?state=gone&limit=0&text_incomplete=maybe&cursor=x'), {
      headers: { authorization: `Bearer ${gateway.keys.workspace}` },
    });
    expect(answer.status).toBe(400);
    const { errors } = JSON.parse(answer.text) as { errors: { path: string }[] };
    expect(errors.map(({ path }) => path).toSorted()).toEqual([
      'cursor',
      'limit',
      'state',
      'text_incomplete',
    ]);
  });

  test.each(['/nothing', `/${'0'.repeat(32)}`])('%s is no run', async (rest) => {
    expect(await status(rest, gateway.keys.workspace)).toBe(404);
  });
});

describe('a span that is sent again in another batch', () => {
  const traceId = randomId(16);
  const usage = (tokens: string) => [
    { key: 'gen_ai.usage.input_tokens', value: { intValue: tokens } },
  ];
  const root = rawSpan({ traceId, attributes: usage('5') });
  const child = rawSpan({ traceId, parentSpanId: root.spanId, attributes: usage('7') });
  const sibling = rawSpan({ traceId, parentSpanId: root.spanId, attributes: usage('1') });
  const updated = { ...child, attributes: usage('9') };
  const sendSpans = async (...spans: readonly object[]): Promise<void> => {
    const { status } = await post(
      `${gateway.server.observeUrl}/v1/traces`,
      gateway.keys.agent,
      traceBody(spans),
    );
    expect(status).toBe(200);
  };
  // The root's tokens are those of the spans below it.
  const COUNTED_ONCE = {
    spans: 4,
    input_tokens: 17,
    late_steps: 0,
    unread_steps: 0,
    steps_left_out: 0,
  };

  test('counts once, and one that was updated counts twice', async () => {
    await sendSpans(root, child);
    await sendSpans(child, sibling);
    await sendSpans(updated, child, root);
    await waitFor(async () => (await show(traceId)).evaluation === 'evaluated', {
      withinMs: EVALUATED_WITHIN_MS,
      what: 'the run is evaluated',
    });
    const run = await show(traceId);
    expect(run).toMatchObject({ ...COUNTED_ONCE, repeated_spans: 3 });
    expect(run.steps).toHaveLength(4);
    const { runs } = await list('limit=100');
    expect(runs.find(({ id }) => id === traceId)).toMatchObject({ spans: 4, input_tokens: 17 });
  });

  test('after the evaluation is not late', async () => {
    await sendSpans(sibling, root);
    await waitFor(async () => (await show(traceId)).repeated_spans === 5, {
      withinMs: EVALUATED_WITHIN_MS,
      what: 'the repeated spans are counted',
    });
    const run = await show(traceId);
    expect(run).toMatchObject(COUNTED_ONCE);
    expect(run.check_limits).not.toContain('late_steps');
    expect(run.steps).toHaveLength(4);
  });

  test('is exported once', async () => {
    const headers = { authorization: `Bearer ${gateway.keys.workspace}` };
    const { text } = await request(url(`/${traceId}/otlp?signal=traces`), { headers });
    const lines = text.split('\n').filter(Boolean);
    const ids = lines.flatMap((line) => {
      const { resourceSpans } = JSON.parse(line) as {
        resourceSpans: { scopeSpans: { spans: { spanId: string }[] }[] }[];
      };
      return resourceSpans.flatMap(({ scopeSpans }) =>
        scopeSpans.flatMap(({ spans }) => spans.map(({ spanId }) => spanId)),
      );
    });
    expect(ids).toEqual([root, child, sibling, updated].map(({ spanId }) => spanId));
  });
});
