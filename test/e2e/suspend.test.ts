/**
 * A machine that slept: its wall clock and PostgreSQL's jump, and the clock by which the process counts
 * time does not. What is acknowledged afterwards is stored on the day of its arrival, and attacks in it
 * are found.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { ATTACK_RULE } from '../support/attack-text.ts';
import { faketimePath, mustRunAll } from '../support/programs.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { openSuspendedMachine, type SuspendedMachine } from '../support/suspended-machine.ts';
import { waitFor } from '../support/wait-for.ts';
import { attackRun } from './attack.ts';
import { openEyes, post, traceBody } from './gateway.ts';

const ATTACKS = 4;
const canSuspend = faketimePath !== null || mustRunAll;

let machine: SuspendedMachine;
let server: TestServer;
let database: Database;

beforeEach(async () => {
  if (!canSuspend) return;
  machine = await openSuspendedMachine();
  const { databaseUrl: DATABASE_URL, environment } = machine;
  server = await startServer({ DATABASE_URL, RETENTION_DAYS: '1', ...environment });
  database = openEyes(DATABASE_URL);
});
afterEach(async () => {
  if (!canSuspend) return;
  await server.stop();
  await database.end();
  await machine.close();
});

/** Sends it as exporters do, again and again until it is acknowledged. */
async function send(spans: readonly unknown[]): Promise<void> {
  const { observeUrl, firstKeys } = server;
  const isTaken = async (): Promise<boolean> => {
    const { status } = await post(
      `${observeUrl}/v1/traces`,
      firstKeys?.agent ?? '',
      traceBody(spans),
    );
    expect([200, 503]).toContain(status);
    return status === 200;
  };
  await waitFor(isTaken, { withinMs: 30_000, what: 'the attack is acknowledged' });
}

test.runIf(canSuspend).each([1, 3])(
  'after a sleep of %d days: attacks are found, in rows of the day of their arrival',
  async (days) => {
    const sent: string[] = [];
    const attack = async (): Promise<void> => {
      const { traceId, spans } = attackRun();
      await send(spans);
      sent.push(traceId);
    };
    await attack();
    await machine.sleep(days);
    for (let count = 1; count < ATTACKS; count += 1) await attack();
    await waitFor(
      async () => {
        const { rows } = await database.query("SELECT FROM runs WHERE evaluation = 'evaluated'");
        return rows.length === ATTACKS;
      },
      { withinMs: 60_000, what: 'all runs are evaluated' },
    );
    const { rows: found } = await database.query<{ run: string }>(
      `SELECT replace(run_id::text, '-', '') AS run FROM findings WHERE rule_id = $1`,
      [ATTACK_RULE],
    );
    expect(found.map(({ run }) => run).sort()).toEqual(sent.sort());
    const { rows: late } = await database.query(
      `SELECT arrived_on, first_arrival_at FROM hot_places s
         JOIN runs r ON r.workspace_id = s.workspace_id AND r.run_id = s.run_id
        WHERE arrived_on NOT IN (((first_arrival_at - interval '2 minutes') AT TIME ZONE 'UTC')::date,
                                 (first_arrival_at AT TIME ZONE 'UTC')::date)`,
    );
    expect(late).toEqual([]);
  },
);
