/** The outbox: leases, digests, the pace of a destination, attempts and what is not tried again. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { listDead } from '../../../src/db/alerts/deliveries.ts';
import {
  ATTEMPTS_MAX,
  beginAttempt,
  type ClaimedDestination,
  claimDestinations,
  endAttempt,
  nextMessages,
  type OutboxMessage,
  releaseDestination,
  SINGLES_MAX,
} from '../../../src/db/alerts/outbox.ts';
import { deleteMessages, pendingAlerts, tidyOutbox } from '../../../src/db/alerts/outbox-upkeep.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import type { SendResult } from '../../../src/model/alerts.ts';
import { type ClockedDatabase, openClockedDatabase } from '../../support/database.ts';
import { hex16 } from '../../support/rows.ts';

const RUN = hex16(0xc1);
/** Slots of a process that sends to nobody. */
const NONE_HELD = { free: 10, heldBy: new Map<number, number>() };
const FAILED = { failure: 'status', status: 500, retryAfterSeconds: null, isGone: false } as const;
const DELIVERED = { failure: null, status: 200, retryAfterSeconds: null, isGone: false } as const;

let scratch: ClockedDatabase;
let workspaceId: number;
beforeAll(async () => {
  scratch = await openClockedDatabase();
  workspaceId = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.setClock('0');
  await scratch.rows('TRUNCATE alert_destinations, alert_outbox, alert_deliveries');
  await scratch.rows(
    `INSERT INTO alert_destinations (workspace_id, name, format, url, severities)
     VALUES ($1, 'one', 'json', 'https://a.test', '{high}')`,
    [workspaceId],
  );
});

/** Queues findings, each of another run; @param runId of all of them */
async function queue(findings: number, runId: string | null = null): Promise<void> {
  await scratch.rows(
    `INSERT INTO alert_outbox (workspace_id, destination_id, finding_id, run_id)
     SELECT workspace_id, id, gen_random_uuid(), coalesce($2, gen_random_uuid())
       FROM alert_destinations, generate_series(1, $1)`,
    [findings, runId],
  );
}

async function claim(): Promise<ClaimedDestination> {
  const [one, ...others] = await claimDestinations(scratch.database, NONE_HELD);
  if (one === undefined || others.length > 0) throw new Error('not one destination is due');
  return one;
}

const isDue = async (): Promise<boolean> =>
  (await claimDestinations(scratch.database, NONE_HELD)).length === 1;
const allDue = () => scratch.rows('UPDATE alert_outbox SET due_at = now()');

test('a destination is one process at a time, until its lease ends', async () => {
  await queue(1);
  const first = await claim();
  expect(await isDue()).toBe(false);
  await scratch.rows('UPDATE alert_destinations SET lease_until = now()');
  const second = await claim();
  const [message] = await nextMessages(scratch.database, second);
  if (message === undefined) throw new Error('no message');
  expect(await beginAttempt(scratch.database, first, message)).toBeNull();
  expect(await beginAttempt(scratch.database, second, message)).toBe(1);
});

describe('free slots', () => {
  const others: number[] = [];
  beforeAll(async () => {
    for (const name of ['second', 'third', 'fourth']) {
      others.push((await createWorkspace(scratch.database, name, name)).id);
    }
  });
  /** Adds destinations with a finding each; those of earlier calls have waited longer. */
  async function addDue(workspace: number, count: number): Promise<void> {
    await scratch.rows(
      `WITH added AS (
         INSERT INTO alert_destinations (workspace_id, name, format, url, severities)
         SELECT $1, 'n', 'json', 'https://a.test', '{high}' FROM generate_series(1, $2)
         RETURNING workspace_id, id)
       INSERT INTO alert_outbox (workspace_id, destination_id, finding_id, run_id)
       SELECT workspace_id, id, gen_random_uuid(), gen_random_uuid() FROM added`,
      [workspace, count],
    );
  }
  /** Claims; how many of each workspace. */
  async function claimed(free: number, held: readonly (readonly [number, number])[]) {
    const counts = new Map<number, number>();
    const heldBy = new Map(held);
    for (const one of await claimDestinations(scratch.database, { free, heldBy })) {
      counts.set(one.workspaceId, (counts.get(one.workspaceId) ?? 0) + 1);
    }
    return counts;
  }

  test('one workspace takes half of them, and the next one half of the rest', async () => {
    const [second = 0, third = 0] = others;
    await addDue(workspaceId, 20);
    expect(await claimed(10, [])).toEqual(new Map([[workspaceId, 5]]));
    expect(await claimed(5, [[workspaceId, 5]])).toEqual(new Map());
    await addDue(second, 20);
    expect(await claimed(5, [[workspaceId, 5]])).toEqual(new Map([[second, 3]]));
    await addDue(third, 20);
    const held = [
      [workspaceId, 5],
      [second, 3],
    ] as const;
    expect(await claimed(2, held)).toEqual(new Map([[third, 1]]));
    expect(await claimed(0, held)).toEqual(new Map());
  });

  test('workspaces that come together get equal parts, not in order of their waits', async () => {
    const [second = 0, third = 0, fourth = 0] = others;
    await addDue(workspaceId, 20);
    await addDue(second, 20);
    await addDue(third, 1);
    await addDue(fourth, 2);
    expect(await claimed(12, [])).toEqual(
      new Map([
        [workspaceId, 3],
        [second, 3],
        [third, 1],
        [fourth, 2],
      ]),
    );
  });
});

test('a destination that is paused in the middle of a turn gets nothing more', async () => {
  await queue(2);
  const destination = await claim();
  const [first, second] = await nextMessages(scratch.database, destination);
  if (first === undefined || second === undefined) throw new Error('no messages');
  expect(await beginAttempt(scratch.database, destination, first)).toBe(1);
  await scratch.rows('UPDATE alert_destinations SET paused = true');
  expect(await beginAttempt(scratch.database, destination, second)).toBeNull();
  expect(
    await scratch.rows('SELECT attempts FROM alert_outbox WHERE message_id = $1', [second.id]),
  ).toEqual([{ attempts: 0 }]);
});

test.each([
  ['30 s -1 us', false],
  ['30 s', true],
])('a lease of 30 s is renewed by each attempt: %s after the last, due: %s', async (after, due) => {
  await queue(2);
  const destination = await claim();
  const [message] = await nextMessages(scratch.database, destination);
  if (message === undefined) throw new Error('no message');
  await scratch.setClock('20 s');
  expect(await beginAttempt(scratch.database, destination, message)).toBe(1);
  await scratch.setClock('20 s', after);
  expect(await isDue()).toBe(due);
});

test.each([['alert_destinations SET next_at'], ['alert_outbox SET due_at']])(
  '%s is when a destination is due, and not before',
  async (what) => {
    await queue(1);
    await scratch.rows(`UPDATE ${what} = now() + interval '1 minute'`);
    await scratch.setClock('1 minute -1 us');
    expect(await isDue()).toBe(false);
    await scratch.setClock('1 minute');
    expect(await isDue()).toBe(true);
  },
);

test('the destinations that have waited longest are claimed first, and paused or dead ones never', async () => {
  await scratch.rows(
    `INSERT INTO alert_destinations (workspace_id, name, format, url, severities, next_at, paused)
     SELECT workspace_id, n::text, format, url, severities, now() - make_interval(secs => n), n = 5
       FROM alert_destinations, generate_series(2, 5) AS n`,
  );
  await queue(1);
  await scratch.rows(
    `UPDATE alert_outbox o SET dead_at = now() FROM alert_destinations d
      WHERE d.id = o.destination_id AND d.name = '4'`,
  );
  const names = async (free: number) =>
    (await claimDestinations(scratch.database, { free, heldBy: new Map() })).map(
      ({ name }) => name,
    );
  expect([await names(1), await names(1), await names(9)]).toEqual([['3'], ['2'], ['one']]);
});

test('a destination that another process is just claiming is not waited for', async () => {
  await queue(1);
  await inTransaction(scratch.database, async (other) => {
    await other.query('SELECT FROM alert_destinations FOR UPDATE');
    expect(await isDue()).toBe(false);
  });
  expect(await isDue()).toBe(true);
});

/** Of the pause after a turn: messages, failures before it, how the last message went. */
const PAUSES: readonly [number, number, SendResult | null, number][] = [
  [0, 0, null, 0],
  [1, 0, DELIVERED, 2],
  [3, 5, DELIVERED, 6],
  [1, 0, FAILED, 2],
  [1, 1, FAILED, 4],
  [1, 4, FAILED, 32],
  [1, 5, FAILED, 60],
  [1, 10, FAILED, 60],
  [1, 0, { ...FAILED, retryAfterSeconds: 17 }, 17],
  [1, 0, { ...FAILED, retryAfterSeconds: 3600 }, 3600],
  [1, 0, { ...FAILED, retryAfterSeconds: 3601 }, 3600],
];
test.each(PAUSES)(
  'after a turn of %d messages, %d failures before and %o, the next is in %d s',
  async (messages, failures, last, pause) => {
    await queue(1);
    await scratch.rows('UPDATE alert_destinations SET failures = $1', [failures]);
    const destination = await claim();
    const lost = { ...destination, lease: '00000000-0000-0000-0000-000000000000' };
    const state = () =>
      scratch.rows(
        `SELECT extract(epoch FROM next_at - now())::int AS pause, failures,
              lease_until IS NULL AS free FROM alert_destinations`,
      );
    const before = await state();
    await releaseDestination(scratch.database, lost, { messages, last });
    expect(await state()).toEqual(before);
    await releaseDestination(scratch.database, destination, { messages, last });
    const counted = last?.failure == null ? 0 : Math.min(10, failures + 1);
    expect(await state()).toEqual([{ pause, failures: counted, free: true }]);
  },
);

test('few runs with findings have a message each; those of many are one digest, which stays the same once it was tried', async () => {
  await queue(SINGLES_MAX);
  const destination = await claim();
  expect(await nextMessages(scratch.database, destination)).toHaveLength(SINGLES_MAX);
  await queue(1);
  const [digest, ...others] = await nextMessages(scratch.database, destination);
  if (digest === undefined) throw new Error('no digest');
  expect([digest.kind, digest.findingIds.length, others]).toEqual(['digest', 11, []]);
  await beginAttempt(scratch.database, destination, digest);
  await queue(20);
  await allDue();
  const [again] = await nextMessages(scratch.database, destination);
  expect(again).toEqual(digest);
});

test('the findings of a run are one message, however many', async () => {
  await queue(SINGLES_MAX + 5, RUN);
  await queue(1);
  const destination = await claim();
  const messages = await nextMessages(scratch.database, destination);
  expect(messages.map(({ kind }) => kind)).toEqual(['incident', 'incident']);
  expect(messages.map(({ findingIds }) => findingIds.length).sort()).toEqual([1, SINGLES_MAX + 5]);
  // Later findings of the run are another message.
  for (const message of messages) await beginAttempt(scratch.database, destination, message);
  await queue(2, RUN);
  const [next, ...others] = await nextMessages(scratch.database, destination);
  expect([next?.kind, next?.findingIds.length, others]).toEqual(['incident', 2, []]);
  expect(messages.map(({ id }) => id)).not.toContain(next?.id);
});

test('the findings of a run that was tried are in no digest', async () => {
  await queue(1);
  const destination = await claim();
  const [message] = await nextMessages(scratch.database, destination);
  if (message === undefined) throw new Error('no message');
  await beginAttempt(scratch.database, destination, message);
  await queue(30);
  await allDue();
  const messages = await nextMessages(scratch.database, destination);
  expect(messages).toEqual([message, expect.objectContaining({ kind: 'digest' })]);
  expect(messages[1]?.findingIds).toHaveLength(30);
});

test('a process that was slow to make a digest takes nothing that another one sends by now', async () => {
  await queue(SINGLES_MAX);
  const slow = await claim();
  await queue(1);
  let statements = 0;
  let fast: ClaimedDestination | null = null;
  let sent: OutboxMessage | null = null;
  // Between its look at what is due and the digest: its lease ends, and another process begins.
  const late = Object.assign(Object.create(scratch.database), {
    query: async (...values: Parameters<typeof scratch.database.query>) => {
      statements += 1;
      if (statements === 2) {
        await scratch.rows('UPDATE alert_destinations SET lease_until = now()');
        fast = await claim();
        const [row] = await scratch.rows(
          `UPDATE alert_outbox SET message_id = gen_random_uuid() WHERE finding_id = (
             SELECT finding_id FROM alert_outbox ORDER BY queued_at, finding_id LIMIT 1)
           RETURNING finding_id AS finding, message_id AS id`,
        );
        sent = { kind: 'incident', id: String(row?.id), findingIds: [String(row?.finding)] };
        expect(await beginAttempt(scratch.database, fast, sent)).toBe(1);
      }
      return await scratch.database.query(...values);
    },
  });
  const [digest] = await nextMessages(late, slow);
  if (fast === null || sent === null) throw new Error('nothing was sent in between');
  const { id, findingIds } = sent as OutboxMessage;
  expect(digest?.findingIds).toHaveLength(SINGLES_MAX);
  expect(digest?.findingIds).not.toContain(findingIds[0]);
  expect(
    await endAttempt(scratch.database, fast, { message: sent, attempt: 1, result: FAILED }, 'm'),
  ).toBe('failed');
  await allDue();
  const all = await nextMessages(scratch.database, fast);
  expect(all.find((message) => message.id === id)).toEqual(sent);
});

const dead = () => scratch.rows('SELECT FROM alert_outbox WHERE dead_at IS NOT NULL');

test.each([
  ['36 hours', 0],
  ['36 hours 1 us', 1],
])('what has waited for %s is given up, unless it is paused: %d', async (age, givenUp) => {
  await queue(1);
  await scratch.setClock(age);
  await scratch.rows('UPDATE alert_destinations SET paused = true');
  await tidyOutbox(scratch.database);
  expect(await dead()).toHaveLength(0);
  await scratch.rows('UPDATE alert_destinations SET paused = false');
  await tidyOutbox(scratch.database);
  expect(await dead()).toHaveLength(givenUp);
});

test('what is dead keeps its time, is not counted as waiting, and is deleted after thirty days', async () => {
  await queue(1);
  await scratch.rows('UPDATE alert_outbox SET dead_at = now()');
  await scratch.setClock('30 days');
  await tidyOutbox(scratch.database);
  expect(await dead()).toHaveLength(1);
  expect(await pendingAlerts(scratch.database)).toEqual({ pending: 0, oldestSeconds: 0 });
  await queue(1);
  await scratch.setClock('30 days 1 us');
  await tidyOutbox(scratch.database);
  expect(await dead()).toHaveLength(0);
  expect(await pendingAlerts(scratch.database)).toMatchObject({ pending: 1 });
});

test.each([
  ['36 hours', 'failed'],
  ['36 hours 1 us', 'dead'],
])('an attempt that fails %s after its finding: %s', async (age, outcome) => {
  await queue(1);
  await scratch.setClock(age);
  const destination = await claim();
  const [message] = await nextMessages(scratch.database, destination);
  if (message === undefined) throw new Error('no message');
  const attempt = (await beginAttempt(scratch.database, destination, message)) ?? 0;
  const ended = { message, attempt, result: FAILED };
  expect(await endAttempt(scratch.database, destination, ended, 'm')).toBe(outcome);
});

test('of a turn, tried findings come before new ones, older ones first', async () => {
  await queue(12);
  await scratch.rows(
    `UPDATE alert_outbox o SET queued_at = now() - make_interval(mins => own.n::int), tried = own.n < 3
       FROM (SELECT finding_id, row_number() OVER (ORDER BY finding_id) AS n FROM alert_outbox) AS own
      WHERE o.finding_id = own.finding_id`,
  );
  await scratch.rows('UPDATE alert_outbox SET message_id = finding_id');
  const order = await scratch.rows(
    'SELECT finding_id AS id FROM alert_outbox ORDER BY tried DESC, queued_at',
  );
  const messages = await nextMessages(scratch.database, await claim());
  expect(messages.map(({ findingIds }) => findingIds)).toEqual(
    order.slice(0, SINGLES_MAX).map(({ id }) => [id]),
  );
});

test.each([
  ['json', 1000],
  ['ocsf', 100],
])('a digest in %s holds %d findings at most', async (format, most) => {
  await scratch.rows('UPDATE alert_destinations SET format = $1', [format]);
  await queue(most + 1);
  const [digest] = await nextMessages(scratch.database, await claim());
  expect(digest?.findingIds).toHaveLength(most);
});

test('of a digest, what is dead is not sent again', async () => {
  await queue(SINGLES_MAX + 1);
  const destination = await claim();
  const [digest] = await nextMessages(scratch.database, destination);
  await scratch.rows('UPDATE alert_outbox SET tried = true');
  await scratch.rows('UPDATE alert_outbox SET dead_at = now() WHERE finding_id = $1', [
    digest?.findingIds[0],
  ]);
  const [again] = await nextMessages(scratch.database, destination);
  expect([again?.id, again?.findingIds.length]).toEqual([digest?.id, SINGLES_MAX]);
});

test('what was not delivered is listed by message, the latest first', async () => {
  await queue(15);
  await scratch.rows(
    `UPDATE alert_outbox o SET dead_at = now() - ranked.n * interval '1 minute', failure = 'timeout',
            message_id = CASE WHEN ranked.n > 3 THEN lpad('d', 32, '0')::uuid END, attempts = ranked.n
       FROM (SELECT finding_id, row_number() OVER () AS n FROM alert_outbox) AS ranked
      WHERE o.finding_id = ranked.finding_id`,
  );
  const dead = await listDead(scratch.database, workspaceId);
  expect(dead.map(({ kind, findings, attempts }) => [kind, findings, attempts])).toEqual([
    ['incident', 1, 1],
    ['incident', 1, 2],
    ['incident', 1, 3],
    ['digest', 12, 15],
  ]);
});

test('attempts are spaced more and more, and end', async () => {
  await queue(1);
  const destination = await claim();
  const [message] = await nextMessages(scratch.database, destination);
  if (message === undefined) throw new Error('no message');
  const waits: number[] = [];
  let outcome = '';
  while (outcome !== 'dead') {
    const attempt = (await beginAttempt(scratch.database, destination, message)) ?? 0;
    const ended = { message, attempt, result: FAILED };
    outcome = await endAttempt(scratch.database, destination, ended, 'm');
    const [row] = await scratch.rows(
      'SELECT extract(epoch FROM due_at - now())::float AS wait FROM alert_outbox',
    );
    waits.push(Number(row?.wait));
  }
  expect(waits).toHaveLength(ATTEMPTS_MAX);
  for (const [index, wait] of waits.entries()) {
    const full = Math.min(3600, 10 * 2 ** index);
    expect(wait).toBeLessThanOrEqual(full);
    expect(wait).toBeGreaterThan(full / 2 - 5);
  }
  expect(await nextMessages(scratch.database, destination)).toEqual([]);
});

test('Retry-After is honoured up to an hour; who is gone is not tried again', async () => {
  await queue(2);
  const destination = await claim();
  const [first, second] = await nextMessages(scratch.database, destination);
  if (first === undefined || second === undefined) throw new Error('no messages');
  const end = (message: typeof first, result: Parameters<typeof endAttempt>[2]['result']) =>
    endAttempt(scratch.database, destination, { message, attempt: 1, result }, 'm');
  expect(await end(first, { ...FAILED, retryAfterSeconds: 1_000_000 })).toBe('failed');
  const [row] = await scratch.rows(
    `SELECT round(extract(epoch FROM due_at - now()) / 60)::int AS minutes FROM alert_outbox
      WHERE message_id = $1`,
    [first.id],
  );
  expect(row).toEqual({ minutes: 60 });
  expect(await end(second, { ...FAILED, status: 410, isGone: true })).toBe('dead');
  expect(await end(first, DELIVERED)).toBe('delivered');
  expect(await scratch.rows('SELECT message_id AS id FROM alert_outbox')).toEqual([
    { id: second.id },
  ]);
});

test('rows that a sender holds are not waited for: they are deleted the next time', async () => {
  const { database } = scratch;
  await queue(3);
  const { id } = await claim();
  await scratch.rows('DELETE FROM alert_destinations');
  const left = async () => (await scratch.rows('SELECT FROM alert_outbox')).length;
  // Waiting for one row while holding others would be one half of a deadlock.
  await inTransaction(database, async (sender) => {
    await sender.query(`SELECT FROM alert_outbox ORDER BY finding_id LIMIT 1 FOR UPDATE`);
    await tidyOutbox(database);
    expect(await left()).toBe(1);
    await deleteMessages(database, workspaceId, id);
    expect(await left()).toBe(1);
  });
  await tidyOutbox(database);
  expect(await left()).toBe(0);
});
