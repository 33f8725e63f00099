/**
 * Runs over the API: the demo's conversations sent by the OpenTelemetry SDK, listed with what is known
 * of them, and one outlined step by step. A run whose text is not all here says so.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { CONVERSATIONS } from '../../demo/conversations.ts';
import { sendRun } from '../../demo/send-run.ts';
import { corpusIdentity, loadManifest } from '../../src/engine/corpus/corpus.ts';
import { MANIFEST_PATH } from '../../src/main/corpus-location.ts';
import { waitFor } from '../support/wait-for.ts';
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

describe('who may read', () => {
  const status = async (rest: string, key: string) =>
    (await request(url(rest), { headers: { authorization: `Bearer ${key}` } })).status;

  test('an agent key may not', async () => {
    expect(await status('', gateway.keys.agent)).toBe(403);
    expect(await status(`/${attack}`, gateway.keys.agent)).toBe(403);
  });

  test("another workspace sees none of this one's runs", async () => {
    const other = await gateway.addWorkspace('other');
    expect(await read(url(''), other.workspace)).toEqual({ runs: [], next_cursor: null });
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
