/**
 * Two servers over one database, and one of them is killed, or paused, with many runs claimed: the
 * other evaluates them, no run loses an attempt, and every finding is stored once.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ATTACK, ATTACK_RULE } from '../support/rows.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Gateway, openGateway, post, randomId, rawSpan, traceBody } from './gateway.ts';

const RUNS = 120;
const ATTACKED = 12;
const SOON = { withinMs: 180_000 };

let gateway: Gateway;
let other: TestServer | null = null;
beforeEach(async () => {
  gateway = await openGateway({ RUN_SETTLE_MS: '60000' });
});
afterEach(async () => {
  await other?.stop();
  other = null;
  await gateway.close();
});

function run(isAttacked: boolean): unknown[] {
  const root = rawSpan();
  const call = rawSpan({
    traceId: root.traceId,
    parentSpanId: root.spanId,
    spanId: randomId(8),
    name: 'execute_tool fetch',
    attributes: [
      { key: 'gen_ai.operation.name', value: { stringValue: 'execute_tool' } },
      { key: 'gen_ai.tool.call.result', value: { stringValue: isAttacked ? ATTACK : 'sunny' } },
    ],
  });
  return [root, call];
}

const count = async (condition: string): Promise<number> => {
  const { rows } = await gateway.database.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM runs LEFT JOIN leases USING (workspace_id, run_id)
      WHERE ${condition}`,
  );
  return rows[0]?.n ?? 0;
};

/** Has the first server claim many runs, and begin none: nobody can read their steps. */
async function withClaimedRuns(work: () => Promise<unknown>): Promise<void> {
  const { server, keys, database } = gateway;
  const holder = await database.connect();
  try {
    const spans = Array.from({ length: RUNS }, (_, index) => run(index < ATTACKED));
    const sent = await post(`${server.observeUrl}/v1/traces`, keys.agent, traceBody(spans.flat()));
    expect(sent.status).toBe(200);
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE hot_places IN ACCESS EXCLUSIVE MODE');
    await database.query("UPDATE runs SET settles_until = settles_until - interval '5 minutes'");
    await waitFor(() => count('leased_by IS NOT NULL').then((claimed) => claimed > 100), {
      ...SOON,
      what: 'more than a hundred runs are claimed',
    });
    await work();
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
  }
}

/** Time passes for the heartbeat of the first server. */
const fallSilent = () =>
  gateway.database.query(`UPDATE processes SET seen_at = now() - interval '16 seconds'`);

const allEvaluated = () =>
  waitFor(async () => (await count("evaluation = 'evaluated'")) === RUNS, {
    ...SOON,
    what: 'all runs are evaluated',
  });

async function expectAllFoundOnce(): Promise<void> {
  expect(await count('attempts > 1')).toBe(0);
  const { rows } = await gateway.database.query(
    `SELECT count(*)::int AS n, count(DISTINCT run_id)::int AS runs FROM findings WHERE rule_id = $1`,
    [ATTACK_RULE],
  );
  expect(rows).toEqual([{ n: ATTACKED, runs: ATTACKED }]);
}

test('killed: its runs are evaluated by another within seconds', async () => {
  await withClaimedRuns(async () => {
    gateway.server.signal('SIGKILL');
    await gateway.server.exited;
  });
  const claimed = await count("evaluation = 'pending' AND leased_by IS NOT NULL");
  expect(claimed).toBeGreaterThan(100);
  expect(await count('attempts > 0 AND leased_by IS NOT NULL')).toBe(0);
  other = await startServer({ DATABASE_URL: gateway.databaseUrl, RUN_SETTLE_MS: '0' });
  await fallSilent();
  await allEvaluated();
  await expectAllFoundOnce();
  expect(other.stderr()).toContain(`"processes":1,"runs":${claimed}`);
});

test('paused: what another has claimed meanwhile it does not complete', async () => {
  await withClaimedRuns(async () => gateway.server.signal('SIGSTOP'));
  try {
    other = await startServer({ DATABASE_URL: gateway.databaseUrl, RUN_SETTLE_MS: '0' });
    await fallSilent();
    await allEvaluated();
  } finally {
    gateway.server.signal('SIGCONT');
  }
  // What it claimed is evaluated, so none of it is left to read. On a slow machine it was paused for longer
  // than a statement may take.
  const lost =
    /another process claimed a run|none of the run's \d+ steps can be read|"Query read timeout","msg":"evaluation failed/;
  await waitFor(() => lost.test(gateway.server.stderr()), {
    ...SOON,
    what: 'the paused server finds its runs lost, or has failed to read them',
  });
  await expectAllFoundOnce();
});
