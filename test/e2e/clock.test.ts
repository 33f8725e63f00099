/**
 * Servers whose own clock is days off: rows are stored by PostgreSQL's clock, where the pass looks
 * for them, and every attack is found. The servers say so, and are not ready.
 */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ATTACK_RULE } from '../support/rows.ts';
import { waitFor } from '../support/wait-for.ts';
import { attackRun } from './attack.ts';
import { type Gateway, openGateway, post, request, traceBody } from './gateway.ts';

const DAYS_3_MS = 3 * 86_400_000;
const SHIFT = fileURLToPath(new URL('../chaos/shifted-clock.mjs', import.meta.url));
const ATTACKS = 5;

async function sendAttacks({ server, keys }: Gateway): Promise<string[]> {
  const attacks = Array.from({ length: ATTACKS }, attackRun);
  for (const { spans } of attacks) {
    const answer = await post(`${server.observeUrl}/v1/traces`, keys.agent, traceBody(spans));
    expect(answer.status).toBe(200);
  }
  return attacks.map(({ traceId }) => traceId).sort();
}

test.each([
  ['ahead', DAYS_3_MS],
  ['behind', -DAYS_3_MS],
])('a clock three days %s: all attacks are found, in rows of today', async (_what, shiftMs) => {
  const gateway = await openGateway({
    NODE_OPTIONS: `--import=${SHIFT}`,
    CLOCK_SHIFT_MS: String(shiftMs),
    RETENTION_DAYS: '2',
  });
  const { database, server } = gateway;
  try {
    const sent = await sendAttacks(gateway);
    await waitFor(
      async () => {
        const { rows } = await database.query(`SELECT 1 FROM runs WHERE evaluation = 'evaluated'`);
        return rows.length === ATTACKS;
      },
      { withinMs: 60_000, what: 'all runs are evaluated' },
    );
    const { rows: found } = await database.query<{ run_id: string }>(
      'SELECT run_id FROM findings WHERE rule_id = $1 ORDER BY run_id',
      [ATTACK_RULE],
    );
    expect(found.map(({ run_id }) => run_id)).toEqual(sent);
    const { rows: days } = await database.query<{ age: number }>(
      `SELECT DISTINCT (now() AT TIME ZONE 'UTC')::date - arrived_on AS age FROM hot_places`,
    );
    // Midnight may have passed since.
    for (const { age } of days) expect([0, 1]).toContain(age);
    const said = server.stderr().split("this machine's clock differs from PostgreSQL's").length - 1;
    expect(said).toBe(1);
    const ready = await request(`${server.baseUrl}/ready`);
    expect([ready.status, JSON.parse(ready.text)]).toMatchObject([503, { failing: ['clock'] }]);
    const { text: metrics } = await request(server.metricsUrl);
    const difference = /^sluice_clock_difference_seconds (.+)$/m.exec(metrics)?.[1];
    expect(Math.abs(Number(difference) * 1000 - shiftMs)).toBeLessThan(5000);
  } finally {
    await gateway.close();
  }
});
