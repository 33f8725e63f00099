/**
 * Senders that try to keep a run from being evaluated by sending without a pause, on a running
 * server: the run is evaluated while they still send, and later steps count as late, which are evaluated by
 * themselves.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ATTACK, ATTACK_RULE } from '../support/rows.ts';
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

const EVERY_MS = 200;

let gateway: Gateway;

beforeAll(async () => {
  gateway = await openGateway({
    RUN_SETTLE_MS: '1000',
    RUN_SETTLE_MAX_MS: '2500',
    RUN_TIMEOUT_MS: '1500',
    RUN_OPEN_MAX_MS: '3000',
  });
});
afterAll(() => gateway.close());

/** A tool call's result, as a child of some span. */
const call = (traceId: string, text: string) =>
  rawSpan({
    traceId,
    parentSpanId: randomId(8),
    name: 'execute_tool fetch',
    attributes: [
      { key: 'gen_ai.operation.name', value: { stringValue: 'execute_tool' } },
      { key: 'gen_ai.tool.name', value: { stringValue: 'fetch' } },
      { key: 'gen_ai.tool.call.result', value: { stringValue: text } },
    ],
  });

interface Run {
  readonly state: string;
  readonly evaluation: string;
  readonly steps: number;
  readonly late_steps: number;
}

const send = async (spans: readonly unknown[]): Promise<void> => {
  const { status } = await post(
    `${gateway.server.observeUrl}/v1/traces`,
    gateway.keys.agent,
    traceBody(spans),
  );
  expect(status).toBe(200);
};

/** Sends a span to the run now and then, until it is evaluated. */
async function trickle(traceId: string): Promise<void> {
  await waitFor(
    async () => {
      await sleep(EVERY_MS);
      await send([call(traceId, 'nothing')]);
      const { rows } = await gateway.database.query(
        `SELECT 1 FROM runs WHERE run_id = $1 AND evaluation = 'evaluated'`,
        [traceId],
      );
      return rows.length === 1;
    },
    { withinMs: 60_000, what: 'the run is evaluated while its sender sends' },
  );
  await send([call(traceId, 'late')]);
}

test.each([
  ['a root, and then a child span now and then', 'completed', true],
  ['spans now and then, and never a root', 'timed_out', false],
])('%s: the attack among them is found meanwhile', async (_what, state, hasRoot) => {
  const root = rawSpan();
  const first = call(root.traceId, ATTACK);
  await send(hasRoot ? [root, first] : [first]);
  await trickle(root.traceId);
  const { baseUrl } = gateway.server;
  const { findings } = await read<{ findings: { metadata: { rule_id: string } }[] }>(
    `${baseUrl}/platform/v1/risk-findings?run_id=${root.traceId}`,
    gateway.keys.workspace,
  );
  expect(findings.map(({ metadata }) => metadata.rule_id)).toContain(ATTACK_RULE);
  const run = await read<Run>(
    `${baseUrl}/platform/v1/runs/${root.traceId}`,
    gateway.keys.workspace,
  );
  expect(run).toMatchObject({ state, evaluation: 'evaluated' });
  expect(run.late_steps).toBeGreaterThan(0);
});

interface Found {
  readonly id: string;
  readonly metadata: {
    readonly rule_id: string;
    readonly step: { readonly number: number; readonly name: string };
  };
}

test('an attack in a step that arrives after the evaluation is found, once', async () => {
  const root = rawSpan({ startTimeUnixNano: '1763640000000000000' });
  const { traceId } = root;
  const at = (seconds: number, text: string) => ({
    ...call(traceId, text),
    startTimeUnixNano: `${1_763_640_000 + seconds}000000000`,
    endTimeUnixNano: `${1_763_640_000 + seconds}500000000`,
  });
  const path = `${gateway.server.baseUrl}/platform/v1`;
  const run = () =>
    read<Run & { checked: string; check_limits: string[]; late_evaluated_steps?: number }>(
      `${path}/runs/${traceId}`,
      gateway.keys.workspace,
    );
  const until = (what: string, is: (one: Awaited<ReturnType<typeof run>>) => boolean) =>
    waitFor(
      async () => {
        const { status } = await request(`${path}/runs/${traceId}`, {
          headers: { authorization: `Bearer ${gateway.keys.workspace}` },
        });
        return status === 200 && is(await run());
      },
      { withinMs: 60_000, what },
    );
  const found = async () =>
    (
      await read<{ findings: Found[] }>(
        `${path}/risk-findings?run_id=${traceId}`,
        gateway.keys.workspace,
      )
    ).findings.filter(({ metadata }) => metadata.rule_id === ATTACK_RULE);

  await send([root, at(1, 'one'), at(5, 'five')]);
  await until('the run is evaluated', ({ evaluation }) => evaluation === 'evaluated');
  expect(await found()).toEqual([]);
  expect((await run()).checked).toBe('fully');

  await send([at(3, ATTACK)]);
  expect(await run()).toMatchObject({
    evaluation: 'evaluated',
    checked: 'partly',
    check_limits: ['late_steps'],
    late_steps: 1,
  });
  await until('the late step is evaluated', ({ late_steps: late }) => late === 0);
  expect(await run()).toMatchObject({ checked: 'fully', late_evaluated_steps: 1 });
  const [finding, ...others] = await found();
  expect(others).toEqual([]);
  expect(finding?.metadata.step).toMatchObject({ number: 3, name: 'execute_tool fetch' });

  await send([at(7, ATTACK)]);
  await until('the next one too', (one) => one.late_steps === 0 && one.late_evaluated_steps === 2);
  expect(await found()).toEqual([finding]);
});
