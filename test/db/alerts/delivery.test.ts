/**
 * Delivery over a real outbox: a process vanishes before and after every statement of a delivery, and
 * another one delivers the rest; a message that cannot be made; a receiver that asks for a pause.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { AlertDelivery } from '../../../src/alerts/delivery.ts';
import type { Alert } from '../../../src/alerts/messages.ts';
import { ATTEMPTS_MAX, SINGLES_MAX } from '../../../src/db/alerts/outbox.ts';
import type { Connection, Database } from '../../../src/db/database.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import type { SendResult } from '../../../src/model/alerts.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { DIGESTED } from '../../support/rows.ts';

const DELIVERED: SendResult = {
  failure: null,
  status: 200,
  retryAfterSeconds: null,
  isGone: false,
};

let scratch: MigratedDatabase;
let workspaceId: number;
/** Findings that have arrived, with the ids of their messages. */
const arrived = new Map<string, string[]>();

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  workspaceId = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  await scratch.rows(
    `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
       category, corpus_version, description, condition_index, condition_description, field,
       surface, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns})
     SELECT $1, gen_random_uuid(), 'R', '1', 'stable', 'high', 'c', '4', 'd', 0, 'c', 'f', 's', 'n',
            'e', '[]', ${DIGESTED.values} FROM generate_series(1, 40)`,
    [workspaceId],
  );
});
afterAll(() => scratch.close());
beforeEach(empty);

async function empty(): Promise<void> {
  await scratch.rows('TRUNCATE alert_destinations, alert_outbox, alert_deliveries');
  arrived.clear();
}

/** A destination, and so many findings that wait for it. */
async function queue(findings: number): Promise<void> {
  await scratch.rows(
    `WITH one AS (
       INSERT INTO alert_destinations (workspace_id, name, format, url, severities)
       VALUES ($1, 'one', 'json', 'https://a.test', '{high}') RETURNING id)
     INSERT INTO alert_outbox (workspace_id, destination_id, finding_id, run_id)
     SELECT $1, one.id, f.id, f.run_id FROM one, (SELECT id, run_id FROM findings ORDER BY id LIMIT $2) AS f`,
    [workspaceId, findings],
  );
}

const receive = async (_to: unknown, id: string, alert: Alert): Promise<SendResult> => {
  const findings = 'findings' in alert ? alert.findings : [];
  for (const finding of findings) arrived.set(finding.id, [...(arrived.get(finding.id) ?? []), id]);
  return DELIVERED;
};

function createDelivery(database: Database, send: typeof receive = receive): AlertDelivery {
  const events = {
    alertSent: () => {},
    alertNotMade: () => {},
    alertsCounted: () => {},
    alertsFailed: () => {},
    alertsWork: () => {},
  };
  const sendTest = () => Promise.reject(new Error('no test is sent'));
  const sender = { canEmail: false, faultOfUrl: () => null, send, sendTest };
  return new AlertDelivery({ database, sender, nowMs: () => 0, events });
}

/** One look, and what it sends. */
async function deliver(delivery: AlertDelivery): Promise<void> {
  await delivery.look();
  await delivery.idle();
}

/** Time passes: leases end, and everything that waits is due. */
async function later(): Promise<void> {
  await scratch.rows('UPDATE alert_destinations SET lease_until = NULL, next_at = now()');
  await scratch.rows('UPDATE alert_outbox SET due_at = now()');
}

const waiting = async (): Promise<number> =>
  (await scratch.rows('SELECT FROM alert_outbox WHERE dead_at IS NULL')).length;

/**
 * The database as a process sees it that vanishes before or after a statement: it hears of nothing any
 * more, and its open transaction is rolled back.
 */
function vanishing(at: number, when: 'before' | 'after') {
  let statements = 0;
  let vanished = (): void => {};
  const gone = new Promise<void>((resolve) => {
    vanished = resolve;
  });
  const never = new Promise<never>(() => {});
  const counted = async <T>(run: () => Promise<T>, leave: () => void): Promise<T> => {
    statements += 1;
    const own = statements;
    if (own > at || (own === at && when === 'before')) {
      leave();
      vanished();
      return await never;
    }
    const result = await run();
    if (own < at) return result;
    leave();
    vanished();
    return await never;
  };
  const { database } = scratch;
  const query = (text: string, values?: unknown[]) =>
    counted(
      () => database.query(text, values),
      () => {},
    );
  const connect = async (): Promise<Connection> => {
    const connection = await database.connect();
    let isReleased = false;
    // Its time limit ends later, when the pool has had it back.
    const release = (broken?: Error | boolean): void => {
      if (!isReleased) connection.release(broken);
      isReleased = true;
    };
    const query = (text: string, values?: unknown[]) =>
      counted(
        () => connection.query(text, values),
        () => release(true),
      );
    const own = { query, release };
    return new Proxy(connection, {
      get: (target, name) =>
        Reflect.get(name === 'query' || name === 'release' ? own : target, name) as unknown,
    });
  };
  const proxy = new Proxy(database, {
    get: (target, name) =>
      name === 'query' ? query : name === 'connect' ? connect : Reflect.get(target, name),
  });
  return { database: proxy, gone, statements: () => statements };
}

test.each([
  ['a run', 1],
  ['a digest', SINGLES_MAX + 1],
])(
  '%s: a process vanishes at any statement; nothing is missed or has two ids',
  async (_name, findings) => {
    const undisturbed = vanishing(Number.POSITIVE_INFINITY, 'before');
    await queue(findings);
    await deliver(createDelivery(undisturbed.database));
    expect([arrived.size, await waiting()]).toEqual([findings, 0]);
    let repeated = 0;
    for (let at = 1; at <= undisturbed.statements(); at += 1) {
      for (const when of ['before', 'after'] as const) {
        await empty();
        await queue(findings);
        const { database, gone } = vanishing(at, when);
        void deliver(createDelivery(database));
        await gone;
        for (let turn = 0; turn < 5 && (await waiting()) > 0; turn += 1) {
          await later();
          await deliver(createDelivery(scratch.database));
        }
        expect([at, when, arrived.size, await waiting()]).toEqual([at, when, findings, 0]);
        const ids = [...arrived.values()];
        expect([at, when, ids.filter((one) => new Set(one).size > 1)]).toEqual([at, when, []]);
        repeated += ids.filter((one) => one.length > 1).length;
      }
    }
    // Some vanished between the receiver's answer and the end of the attempt.
    expect(repeated).toBeGreaterThan(0);
  },
);

test('a message that cannot be made is given up like one that is refused, and the others are sent', async () => {
  await queue(2);
  const [first] = await scratch.rows('SELECT finding_id AS id FROM alert_outbox ORDER BY 1');
  const send: typeof receive = async (to, id, alert) => {
    if (alert.kind === 'incident' && alert.findings[0].id === first?.id) throw new Error('no body');
    return await receive(to, id, alert);
  };
  for (let attempt = 0; attempt < ATTEMPTS_MAX + 1; attempt += 1) {
    await later();
    await deliver(createDelivery(scratch.database, send));
  }
  expect([arrived.size, await waiting()]).toEqual([1, 0]);
  expect(await scratch.rows('SELECT finding_id AS id, failure FROM alert_outbox')).toEqual([
    { id: first?.id, failure: 'internal' },
  ]);
});

test('a pause that a receiver asks for is of all of its messages', async () => {
  await queue(3);
  let sent = 0;
  const send: typeof receive = async () => {
    sent += 1;
    return { failure: 'status', status: 429, retryAfterSeconds: 120, isGone: false };
  };
  await deliver(createDelivery(scratch.database, send));
  expect(sent).toBe(1);
  // The others are due, and are not sent before.
  const rows = await scratch.rows(
    `SELECT round(extract(epoch FROM next_at - now()))::int BETWEEN 110 AND 120 AS "isPaused"
       FROM alert_destinations`,
  );
  expect(rows).toEqual([{ isPaused: true }]);
  await deliver(createDelivery(scratch.database, send));
  expect(sent).toBe(1);
});

test('a destination that fails again and again is tried less and less often, until it works', async () => {
  await queue(3);
  let works = false;
  const send: typeof receive = async (to, id, alert) =>
    works
      ? await receive(to, id, alert)
      : { failure: 'timeout', status: null, retryAfterSeconds: null, isGone: false };
  const pauseSeconds = async (): Promise<number> => {
    const [row] = await scratch.rows(
      'SELECT extract(epoch FROM next_at - now())::float AS wait FROM alert_destinations',
    );
    return Number(row?.wait);
  };
  const pauses: number[] = [];
  for (let turn = 0; turn < 8; turn += 1) {
    await later();
    await deliver(createDelivery(scratch.database, send));
    pauses.push(await pauseSeconds());
  }
  expect(Math.round(pauses[0] ?? 0)).toBe(2);
  expect(pauses.slice(1, 5)).toEqual(pauses.slice(1, 5).toSorted((one, other) => one - other));
  expect(Math.round(pauses.at(-1) ?? 0)).toBe(60);
  works = true;
  await later();
  await deliver(createDelivery(scratch.database, send));
  expect([arrived.size, await waiting()]).toEqual([3, 0]);
  expect(await pauseSeconds()).toBeLessThan(10);
});
