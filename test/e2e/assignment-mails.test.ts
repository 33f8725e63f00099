/** E-mails about assignments from end to end: the dashboard's changes reach a real mail server. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Database } from '../../src/db/database.ts';
import { addPerson, type Person } from '../support/people.ts';
import { openMailServer, type ReceivedMail, type TestMailServer } from '../support/receivers.ts';
import { DIGESTED } from '../support/rows.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser, bodyOf } from './browser.ts';
import { type Gateway, openGateway } from './gateway.ts';
import { openSharedGateway } from './shared-gateway.ts';

const SOON = { withinMs: 60_000 };
const RULE = 'ATR-2026-00511';
const SECRET = 'customer text';
/** Not those that a server sends by now: it would send them twice. */
const DUE = 'UPDATE assignment_mails SET due_at = now() WHERE attempts = 0';

let mail: TestMailServer;
let gateway: Gateway;
let workspaceId: number;
let alice: Person;
let bob: Person;
let carol: Person;
let ids: string[];

beforeAll(async () => {
  mail = await openMailServer();
  const smtp = { SMTP_URL: mail.url, SMTP_FROM: 'sluice@mail.test' };
  gateway = await openGateway(smtp);
  workspaceId = (await gateway.addWorkspace('mailed')).id;
  alice = await addPerson(gateway.database, workspaceId, 'owner');
  bob = await addPerson(gateway.database, workspaceId, 'member');
  carol = await addPerson(gateway.database, workspaceId, 'member');
});
afterAll(async () => {
  await gateway.close();
  await mail.close();
});
beforeEach(async () => {
  await nothingWaits();
  mail.mails.length = 0;
  mail.refuses = [];
  ids = await addFindings(gateway.database, workspaceId, 3);
});

async function addFindings(
  database: Database,
  workspace: number,
  count: number,
): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
       category, corpus_version, description, condition_index, condition_description, field,
       surface, step_name, tool_name, agent_name, excerpt, recommended_actions, ${DIGESTED.columns})
     SELECT $1, gen_random_uuid(), $2, '1', 'stable', 'high', 'c', '4', 'd', 0, 'c', 'f',
            'tool_result', $3, $3, $3, $3, '[]', ${DIGESTED.values} FROM generate_series(1, $4)
     RETURNING id`,
    [workspace, RULE, SECRET, count],
  );
  return rows.map(({ id }) => id);
}

const waiting = async (): Promise<number> =>
  (await gateway.database.query('SELECT FROM assignment_mails')).rowCount ?? 0;

/** Time passes until everything that waits is sent. */
async function nothingWaits(): Promise<void> {
  await waitFor(
    async () => {
      await gateway.database.query(DUE);
      return (await waiting()) === 0;
    },
    { ...SOON, what: 'no e-mail waits' },
  );
}

/** The e-mails that a change causes, by their receiver. */
async function mailsTo(person: Person): Promise<ReceivedMail[]> {
  await nothingWaits();
  return mail.mails.filter(({ to }) => to.includes(person.email));
}

const browserOf = ({ token }: Person): Browser => new Browser(gateway.server.baseUrl, token);

async function assign(by: Person, to: Person | null, findings = ids): Promise<void> {
  const body = { ids: findings, assignee: to === null ? null : to.id };
  const { status } = await browserOf(by).put('/app/api/findings/triage', body);
  expect(status).toBe(200);
}

/** Long lines of a mail are broken by "=". */
const textOf = ({ raw }: ReceivedMail): string =>
  raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');

describe('an assignment', () => {
  test('by the form of a finding reaches the assignee, without text of the run', async () => {
    const [id = ''] = ids;
    const fields = { state: 'new', shown_state: 'new', shown_assignee: '' };
    const path = `/app/findings/${id}/triage`;
    const answer = await browserOf(alice).submit(path, { ...fields, assignee: String(bob.id) });
    expect(answer.status).toBe(303);
    const [received, ...others] = await mailsTo(bob);
    if (received === undefined) throw new Error('no e-mail arrived');
    expect([others, mail.mails.length]).toEqual([[], 1]);
    expect(received.raw).toMatch(
      /^Subject: \[Sluice\] The owner assigned you 1 finding in mailed\r?$/m,
    );
    expect(received.raw).toMatch(/^Message-ID: <assignment_[0-9a-f]{32}@127\.0\.0\.1>/m);
    const text = textOf(received);
    expect(text).toContain(`The owner (${alice.email}) assigned you 1 finding in mailed:`);
    expect(text).toMatch(/^High: (?!ATR-)\S.+$/m);
    expect(text).toContain(`/app/findings/${id}\r\n`);
    expect(text).toContain('/app/findings?assignee=me\r\n');
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain(alice.token);
    expect(text).not.toContain(bob.token);
  });

  test('to oneself sends nothing', async () => {
    await assign(bob, bob);
    expect(await waiting()).toBe(0);
  });

  test('sends nothing by a server without a mail server', async () => {
    const other = await openSharedGateway();
    const { database, server, workspace } = other;
    const owner = await addPerson(database, workspace.id, 'owner');
    const member = await addPerson(database, workspace.id, 'member');
    const [id] = await addFindings(database, workspace.id, 1);
    const change = { ids: [id], assignee: member.id };
    const browser = new Browser(server.baseUrl, owner.token);
    expect(bodyOf(await browser.put('/app/api/findings/triage', change))).toEqual({ changed: 1 });
    const { rowCount } = await database.query(
      'SELECT FROM assignment_mails WHERE workspace_id = $1',
      [workspace.id],
    );
    expect(rowCount).toBe(0);
    await other.close();
  });

  test('of many findings is one e-mail', async () => {
    await assign(alice, bob);
    const received = await mailsTo(bob);
    expect(received).toHaveLength(1);
    const text = received.map(textOf).join();
    for (const id of ids) expect(text).toContain(`/app/findings/${id}`);
  });

  test('to another person reaches both; taken away, the one who had it', async () => {
    await assign(alice, bob);
    await nothingWaits();
    mail.mails.length = 0;
    await assign(alice, carol);
    const subjects = async (person: Person) =>
      (await mailsTo(person)).map(({ raw }) => /^Subject: (.*)$/m.exec(raw)?.[1]?.trim());
    expect(await subjects(carol)).toEqual(['[Sluice] The owner assigned you 3 findings in mailed']);
    expect(await subjects(bob)).toEqual([
      '[Sluice] The owner unassigned you from 3 findings in mailed',
    ]);
    mail.mails.length = 0;
    await assign(bob, null);
    expect(await subjects(carol)).toEqual([
      '[Sluice] The member unassigned you from 3 findings in mailed',
    ]);
    expect(mail.mails).toHaveLength(1);
  });
});

test('an e-mail that the server refuses is sent again later, with the same id', async () => {
  mail.refuses = [bob.email];
  await assign(alice, bob);
  const attempts = () =>
    gateway.database.query<{ id: string; attempts: number }>(
      'SELECT id, attempts FROM assignment_mails',
    );
  await gateway.database.query(DUE);
  const { id } = await waitFor(
    async () => (await attempts()).rows.find((row) => row.attempts === 1),
    { ...SOON, what: 'the first attempt' },
  );
  const counted = async (): Promise<boolean> => {
    const metrics = await (await fetch(gateway.server.metricsUrl)).text();
    const line =
      'sluice_alert_messages_total{format="assignment",outcome="failed",failure="smtp"} 1';
    return metrics.includes(line);
  };
  await waitFor(counted, { ...SOON, what: 'the attempt has failed' });
  mail.refuses = [];
  await gateway.database.query('UPDATE assignment_mails SET due_at = now()');
  const [received] = await mailsTo(bob);
  expect(received?.raw).toContain(`<assignment_${id}@`);
});
