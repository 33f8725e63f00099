/** E-mails about assignments: when they are queued and joined, their limits, and what is not sent. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { MAILS_AT_ONCE, sendAssignmentMails } from '../../../src/alerts/assignment-mails.ts';
import type { Email } from '../../../src/alerts/email.ts';
import {
  type ClaimedMail,
  claimAssignmentMails,
  endMailAttempt,
  JOIN_SECONDS,
  MAIL_FINDINGS_MAX,
  MAILS_MAX,
  readAssignmentNotice,
  WORKSPACE_MAILS_MAX,
} from '../../../src/db/alerts/assignment-mails.ts';
import { AGE_HOURS_MAX, ATTEMPTS_MAX, LEASE_SECONDS } from '../../../src/db/alerts/outbox.ts';
import { tidyOutbox } from '../../../src/db/alerts/outbox-upkeep.ts';
import { triageFindings } from '../../../src/db/findings/triage-writes.ts';
import { removeMember } from '../../../src/db/people/member-writes.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import type { SendResult } from '../../../src/model/alerts.ts';
import type { Hex16 } from '../../../src/model/json.ts';
import { NOTES_MAX, TRIAGE_FINDINGS_MAX } from '../../../src/model/triage.ts';
import { type ClockedDatabase, openClockedDatabase } from '../../support/database.ts';
import { addPerson, type Person } from '../../support/people.ts';
import { DIGESTED } from '../../support/rows.ts';

const DELIVERED: SendResult = {
  failure: null,
  status: 250,
  retryAfterSeconds: null,
  isGone: false,
};
const REFUSED: SendResult = { ...DELIVERED, failure: 'smtp', status: 550 };
const JOINED = `${JOIN_SECONDS} seconds`;

let scratch: ClockedDatabase;
let workspaceId: number;
let otherId: number;
let alice: Person;
let bob: Person;
let carol: Person;
let ids: readonly Hex16[];

beforeAll(async () => {
  scratch = await openClockedDatabase();
  workspaceId = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  otherId = (await createWorkspace(scratch.database, 'other', 'Other')).id;
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.setClock('0');
  await scratch.rows('TRUNCATE assignment_mails, memberships, findings CASCADE');
  alice = await addPerson(scratch.database, workspaceId, 'owner');
  bob = await addPerson(scratch.database, workspaceId, 'member');
  carol = await addPerson(scratch.database, workspaceId, 'member');
  ids = await addFindings(3);
});

async function addFindings(count: number): Promise<Hex16[]> {
  const rows = await scratch.rows(
    `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
       category, corpus_version, description, condition_index, condition_description, field,
       surface, step_name, excerpt, recommended_actions, ${DIGESTED.columns})
     SELECT $1, gen_random_uuid(), 'R', '1', 'stable', 'high', 'c', '4', 'd', 0, 'c', 'f', 's', 'n',
            'e', '[]', ${DIGESTED.values} FROM generate_series(1, $2) RETURNING id`,
    [workspaceId, count],
  );
  return rows.map(({ id }) => String(id));
}

const actorOf = ({ id, email }: Person) => ({ userId: id, name: email, origin: 'test' });

/** One change by a person. */
const assign = (by: Person, to: Person | null, findings: readonly Hex16[] = ids, canEmail = true) =>
  triageFindings(
    scratch.database,
    workspaceId,
    { ids: findings, assigneeId: to === null ? null : to.id },
    actorOf(by),
    canEmail,
  );

/** Who gets which e-mail, about how many findings. */
async function queued(): Promise<unknown[]> {
  const rows = await scratch.rows(
    `SELECT user_id, kind, cardinality(finding_ids) AS findings FROM assignment_mails
      ORDER BY kind, user_id, attempts`,
  );
  return rows.map(({ user_id, kind, findings }) => [user_id, kind, findings]);
}

/** E-mails that wait, made directly. */
async function addWaiting(workspace: number, count: number): Promise<void> {
  await scratch.rows(
    `INSERT INTO assignment_mails (workspace_id, user_id, actor_id, due_at, kind, finding_ids)
     SELECT $1, -n, 0, now(), 'assigned', '{}' FROM generate_series(1, $2::int) AS n`,
    [workspace, count],
  );
}

const claim = (): Promise<ClaimedMail[]> => claimAssignmentMails(scratch.database, MAILS_AT_ONCE);

async function claimOne(): Promise<ClaimedMail> {
  await scratch.setClock(JOINED);
  const [mail, ...others] = await claim();
  if (mail === undefined || others.length > 0) throw new Error('not one e-mail is due');
  return mail;
}

const attempts = async (): Promise<unknown[]> =>
  (await scratch.rows('SELECT attempts FROM assignment_mails')).map((row) => row.attempts);

describe('an assignment by somebody else', () => {
  test('is one e-mail, whatever the number of findings; reassigned, one to each person', async () => {
    await assign(alice, bob);
    expect(await queued()).toEqual([[bob.id, 'assigned', 3]]);
    await scratch.rows('TRUNCATE assignment_mails');
    await assign(alice, carol);
    expect(await queued()).toEqual([
      [carol.id, 'assigned', 3],
      [bob.id, 'unassigned', 3],
    ]);
    await scratch.rows('TRUNCATE assignment_mails');
    await assign(alice, null);
    expect(await queued()).toEqual([[carol.id, 'unassigned', 3]]);
  });

  test('is none to oneself, for what is assigned so already, or without a mail server', async () => {
    await assign(bob, bob);
    await assign(bob, null);
    await assign(bob, bob);
    await assign(alice, bob);
    await assign(alice, carol, ids, false);
    expect(await queued()).toEqual([]);
    await assign(carol, alice);
    expect(await queued()).toEqual([[alice.id, 'assigned', 3]]);
  });

  test('is rolled back with its change', async () => {
    const [id = ''] = ids;
    const note = { ids: [id], note: 'a note' };
    for (let notes = 0; notes < NOTES_MAX; notes += 1) {
      await triageFindings(scratch.database, workspaceId, note, actorOf(alice));
    }
    const change = { ...note, assigneeId: bob.id };
    const changed = triageFindings(scratch.database, workspaceId, change, actorOf(alice), true);
    await expect(changed).rejects.toMatchObject({ code: 'conflict' });
    expect(await queued()).toEqual([]);
    expect(await scratch.rows('SELECT FROM finding_states')).toEqual([]);
  });

  test('joins the e-mail of one before it by the same person, until that is tried', async () => {
    const [one = '', two = '', three = ''] = ids;
    await assign(alice, bob, [one]);
    await assign(alice, bob, [two]);
    await assign(carol, bob, [three]);
    expect(await queued()).toEqual([
      [bob.id, 'assigned', 2],
      [bob.id, 'assigned', 1],
    ]);
    await scratch.setClock(JOINED, '-1 us');
    expect(await claim()).toEqual([]);
    await scratch.setClock(JOINED);
    expect(await claim()).toHaveLength(2);
    const [more = ''] = await addFindings(1);
    await assign(alice, bob, [more]);
    expect(await queued()).toHaveLength(3);
  });
});

describe('limits', () => {
  test.each([
    ['a workspace has room', 0, WORKSPACE_MAILS_MAX - 1, 1],
    ['a workspace is full', 0, WORKSPACE_MAILS_MAX, 0],
    ['there is room in all', MAILS_MAX - 1, 0, 1],
    ['all is full', MAILS_MAX, 0, 0],
  ])('%s: the change is made anyway', async (_name, others, own, added) => {
    await addWaiting(otherId, others);
    await addWaiting(workspaceId, own);
    expect(await assign(alice, bob)).toBe(ids.length);
    const rows = await scratch.rows('SELECT FROM assignment_mails');
    expect(rows).toHaveLength(others + own + added);
  });

  test('with room for one more, the new assignee gets the e-mail', async () => {
    await assign(alice, bob, ids, false);
    await addWaiting(workspaceId, WORKSPACE_MAILS_MAX - 1);
    await assign(alice, carol);
    const rows = await scratch.rows('SELECT user_id FROM assignment_mails WHERE actor_id > 0');
    expect(rows).toEqual([{ user_id: carol.id }]);
  });

  test('an e-mail keeps no more findings than its limit, and says so', async () => {
    const many = await addFindings(MAIL_FINDINGS_MAX - 1);
    const isFull = async () => {
      const [mail] = await scratch.rows(
        'SELECT *, finding_ids AS "findingIds" FROM assignment_mails',
      );
      const claimed = { ...mail, workspaceId, userId: bob.id, actorId: alice.id, attempt: 1 };
      const notice = await readAssignmentNotice(
        scratch.database,
        claimed as unknown as ClaimedMail,
      );
      return [notice?.findings.length, notice?.isFull];
    };
    for (let at = 0; at < many.length; at += TRIAGE_FINDINGS_MAX) {
      await assign(alice, bob, many.slice(at, at + TRIAGE_FINDINGS_MAX));
    }
    expect(await isFull()).toEqual([MAIL_FINDINGS_MAX - 1, false]);
    await assign(alice, bob, ids.slice(0, 1));
    expect(await isFull()).toEqual([MAIL_FINDINGS_MAX, true]);
    await assign(alice, bob, ids);
    expect(await isFull()).toEqual([MAIL_FINDINGS_MAX, true]);
  });

  test('a workspace with many e-mails does not delay those of another', async () => {
    await addWaiting(otherId, 2 * MAILS_AT_ONCE);
    await scratch.setClock('1 second');
    await addWaiting(workspaceId, 1);
    const claimed = await claim();
    expect(claimed).toHaveLength(MAILS_AT_ONCE);
    expect(claimed.filter((mail) => mail.workspaceId === workspaceId)).toHaveLength(1);
  });
});

describe('what is sent', () => {
  const notice = async () => await readAssignmentNotice(scratch.database, await claimOne());

  test('names the people, the workspace and the findings that are still assigned', async () => {
    await assign(alice, bob);
    const [one = '', ...others] = ids;
    await scratch.rows("UPDATE findings SET severity = 'critical' WHERE id = $1", [others[1]]);
    await assign(carol, null, [one], false);
    expect(await notice()).toEqual({
      kind: 'assigned',
      to: bob.email,
      workspace: 'Mine',
      actorName: 'The owner',
      actorEmail: alice.email,
      findings: [
        { id: others[1], severity: 'critical', ruleId: 'R' },
        { id: others[0], severity: 'high', ruleId: 'R' },
      ],
      isFull: false,
    });
  });

  test('is nothing once none of the findings is assigned so any more', async () => {
    await assign(alice, bob);
    await assign(alice, carol, ids, false);
    expect(await notice()).toBeNull();
  });

  test('is nothing to somebody who is assigned all of them again', async () => {
    await assign(bob, bob);
    await assign(alice, null);
    await assign(bob, bob);
    expect(await notice()).toBeNull();
  });

  test('is nothing about findings that were deleted', async () => {
    await assign(alice, bob);
    await scratch.rows('DELETE FROM findings');
    expect(await notice()).toBeNull();
  });

  test('is nothing to somebody who has left the workspace', async () => {
    await assign(alice, bob);
    await removeMember(scratch.database, workspaceId, bob.id, actorOf(alice));
    expect(await notice()).toBeNull();
  });

  test('leaves the queue with what is dropped', async () => {
    await assign(alice, bob);
    await assign(alice, carol);
    await removeMember(scratch.database, workspaceId, bob.id, actorOf(alice));
    await scratch.setClock(JOINED);
    const sent: Email[] = [];
    const outcomes: unknown[] = [];
    await sendAssignmentMails({
      database: scratch.database,
      mailer: async (email) => {
        sent.push(email);
        return DELIVERED;
      },
      source: { brand: 'sluice', baseUrl: 'https://sluice.test', ruleTitle: () => 'A rule' },
      events: { assignmentMailSent: (one) => outcomes.push(one) },
    });
    expect(sent.map(({ to, subject }) => [to, subject])).toEqual([
      [[carol.email], '[Sluice] The owner assigned you 3 findings in Mine'],
    ]);
    expect(outcomes).toEqual([
      { workspace: workspaceId, outcome: 'delivered', failure: null, status: DELIVERED.status },
    ]);
    expect(await queued()).toEqual([]);
  });
});

test('a turn that fails ends after all of its e-mails', async () => {
  await assign(alice, bob);
  await assign(alice, carol);
  await scratch.setClock(JOINED);
  const outcomes: string[] = [];
  const turn = sendAssignmentMails({
    database: scratch.database,
    mailer: async ({ to }) => {
      if (to.includes(carol.email)) throw new Error('a defect');
      await scratch.rows('SELECT pg_sleep(0.1)');
      return DELIVERED;
    },
    source: { brand: 'sluice', baseUrl: 'https://sluice.test', ruleTitle: () => 'A rule' },
    events: { assignmentMailSent: ({ outcome }) => outcomes.push(outcome) },
  });
  await expect(turn).rejects.toThrow('a defect');
  expect(outcomes).toEqual(['delivered']);
  expect(await queued()).toEqual([[carol.id, 'assigned', 3]]);
});

describe('an attempt', () => {
  test('is one process’s until its lease ends, and counted before it is made', async () => {
    await assign(alice, bob);
    const first = await claimOne();
    expect(first.attempt).toBe(1);
    await scratch.setClock(JOINED, `${LEASE_SECONDS} seconds -1 us`);
    expect(await claim()).toEqual([]);
    await scratch.setClock(JOINED, `${LEASE_SECONDS} seconds`);
    expect(await claim()).toMatchObject([{ id: first.id, attempt: 2 }]);
  });

  test.each([
    [ATTEMPTS_MAX - 1, 'failed', [ATTEMPTS_MAX - 1]],
    [ATTEMPTS_MAX, 'dead', []],
  ])('that is number %i and fails is %s', async (attempt, outcome, left) => {
    await assign(alice, bob);
    await scratch.rows('UPDATE assignment_mails SET attempts = $1::int - 1', [attempt]);
    expect(await endMailAttempt(scratch.database, await claimOne(), REFUSED)).toBe(outcome);
    expect(await attempts()).toEqual(left);
  });

  test.each([
    [`${AGE_HOURS_MAX} hours`, 'failed', 1],
    [`${AGE_HOURS_MAX} hours 1 us`, 'dead', 0],
  ])('that fails after %s is %s, and so is what nobody sends', async (age, outcome, left) => {
    await assign(alice, bob);
    const mail = await claimOne();
    await assign(carol, bob, await addFindings(1));
    await scratch.rows('UPDATE assignment_mails SET queued_at = now() - $1::interval', [JOINED]);
    await scratch.setClock(age);
    expect(await endMailAttempt(scratch.database, mail, REFUSED)).toBe(outcome);
    await tidyOutbox(scratch.database);
    expect(await attempts()).toHaveLength(2 * left);
  });
});
