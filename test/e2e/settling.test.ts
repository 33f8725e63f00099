/**
 * Senders that try to keep a run from being evaluated by sending without a pause, on a running
 * server: the run is evaluated while they still send, and later steps count as late.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ATTACK, ATTACK_RULE } from '../support/attack-text.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Gateway, openGateway, post, randomId, rawSpan, read, traceBody } from './gateway.ts';

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
