/**
 * People and the ledger from the command line, beside a running server: accounts and passwords that
 * are shown once, a ledger that is walked, and one that somebody has tampered with.
 */
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { type CommandResult, runCommand } from '../support/command.ts';
import { addPerson, ledgerOf } from '../support/people.ts';
import { createDataDirectory, startServer } from '../support/server.ts';
import { Browser, secretOf } from './browser.ts';
import { type Gateway, openGateway } from './gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await openGateway();
});
afterAll(() => gateway.close());

const sluice = (...args: string[]): Promise<CommandResult> =>
  runCommand(args, { DATABASE_URL: gateway.databaseUrl });

async function answered<Body>(...args: string[]): Promise<Body> {
  const result = await sluice(...args, '--json');
  expect(result, result.stderr).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(result.stdout) as Body;
}

const visitor = (): Browser => new Browser(gateway.server.baseUrl);
const lines = (text: string): string[] => text.trimEnd().split('\n');

describe('sluice user', () => {
  test('create: the password signs in; somebody with an account joins and keeps theirs', async () => {
    await gateway.addWorkspace('second');
    const first = await sluice('user', 'create', 'ana@people.test', '--workspace', 'default');
    expect(first.code, first.stderr).toBe(0);
    const [said, password = ''] = lines(first.stdout);
    expect(said).toBe('ana@people.test is member of "default". Password, shown only once:');
    const browser = visitor();
    await browser.signIn('ana@people.test', password);
    expect(await browser.account()).toMatchObject({ role: 'member', workspace: 'default' });
    const place = ['--workspace', 'second', '--role', 'owner'];
    expect(await answered('user', 'create', 'ANA@people.test', ...place)).toEqual({
      id: expect.any(Number),
      email: 'ana@people.test',
      role: 'owner',
      workspace: 'second',
      password: null,
    });
    const again = await sluice('user', 'create', 'ana@people.test', ...place);
    expect(again).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'sluice: ana@people.test is a member of "second" already.\n',
    });
    const users = await answered<{ email: string; memberships: string[] }[]>('user', 'list');
    expect(users.find(({ email }) => email === 'ana@people.test')).toMatchObject({
      memberships: ['default (member)', 'second (owner)'],
    });
    const table = await sluice('user', 'list', '--workspace', 'second');
    expect(table.stdout).toContain('ana@people.test');
    expect(table.stdout).not.toContain(gateway.owner.email);
  });

  test('create: who opened an invitation of a foreign address gets nothing', async () => {
    const { id } = await gateway.addWorkspace('attacking');
    await gateway.addWorkspace('attacked');
    const email = 'victim@people.test';
    const attacker = await addPerson(gateway.database, id, 'admin');
    const admin = new Browser(gateway.server.baseUrl, attacker.token);
    const link = secretOf(await admin.submit('/app/invitations', { email, role: 'admin' }));
    const password = 'chosen by the attacker';
    const holder = visitor();
    const fields = { display_name: 'Victim', password };
    expect((await holder.submit(new URL(link).pathname, fields)).status).toBe(303);
    const place = ['--workspace', 'attacked', '--role', 'admin'];
    const made = await sluice('user', 'create', email, ...place);
    expect(made.code, made.stderr).toBe(0);
    expect(made.stdout).toContain('link of "attacking". It has its own password, stays there');
    for (const browser of [holder, visitor()]) {
      if (browser !== holder) await browser.signIn(email, password);
      const own = { workspace: 'attacking', role: 'admin', workspaces: [] };
      expect(await browser.account()).toMatchObject(own);
    }
    const victim = visitor();
    await victim.signIn(email, lines(made.stdout)[1] ?? '');
    const own = { workspace: 'attacked', role: 'admin', workspaces: [] };
    expect(await victim.account()).toMatchObject(own);
  });

  test('reset-password: the new one signs in, the old one and open sessions do not', async () => {
    const old = 'an old, long password';
    const { id } = await gateway.addWorkspace('third');
    const person = await addPerson(gateway.database, id, 'admin', { password: old });
    const reset = await answered<{ password: string }>('user', 'reset-password', person.email);
    expect(reset).toMatchObject({ email: person.email, sessions_revoked: 1 });
    const session = new Browser(gateway.server.baseUrl, person.token);
    expect(await session.isSignedIn()).toBe(false);
    expect((await visitor().signIn(person.email, old)).status).toBe(401);
    expect((await visitor().signIn(person.email, reset.password)).status).toBe(303);
    const unknown = await sluice('user', 'reset-password', 'nobody@people.test');
    expect(unknown).toMatchObject({
      code: 1,
      stderr:
        'sluice: No account has the e-mail address nobody@people.test: see sluice user list\n',
    });
  });

  test.each([['no address'], ['a@b\u0007'], ['@'], ['a b@c']])(
    'create "%s": no address, no account',
    async (email) => {
      const result = await sluice('user', 'create', email);
      expect(result.code).toBe(1);
      expect(result.stderr).toContain('an e-mail address is needed');
    },
  );
});

test('what commands do is in the ledger: who, from where, and no secret', async () => {
  await answered('workspace', 'create', 'recorded');
  const place = ['--workspace', 'recorded'];
  const key = await answered<{ id: number; key: string }>(
    ...['key', 'create', '--kind', 'agent', '--name', 'made by command', ...place],
  );
  await answered('key', 'revoke', String(key.id));
  const made = await answered<{ password: string }>(
    ...['user', 'create', 'cleo@people.test', '--role', 'owner', ...place],
  );
  const reset = await answered<{ password: string }>('user', 'reset-password', 'cleo@people.test');
  const browser = visitor();
  await browser.signIn('cleo@people.test', reset.password);
  const change = { current_password: reset.password, new_password: 'a password of her own' };
  expect((await browser.submit('/app/password', change)).status).toBe(303);
  const page = await browser.get('/app/audit');
  const { id } = await findWorkspace(gateway.database, 'recorded');
  const entries = await ledgerOf(gateway.database, id);
  for (const secret of [key.key, made.password, reset.password, change.new_password]) {
    expect(page.text).not.toContain(secret);
    expect(JSON.stringify(entries)).not.toContain(secret);
  }
  const operator = { actorUserId: null, actor: 'operator', origin: 'command line' };
  expect(entries.reverse()).toMatchObject([
    { ...operator, action: 'workspace.created', after: { slug: 'recorded' } },
    { ...operator, action: 'key.created', after: { name: 'made by command' } },
    { ...operator, action: 'key.revoked', subject: `key ${key.id}` },
    { ...operator, action: 'member.joined', subject: 'cleo@people.test' },
    { ...operator, action: 'user.password_reset', subject: 'cleo@people.test' },
    {
      actorUserId: expect.any(Number),
      actor: 'cleo@people.test',
      origin: '127.0.0.1',
      action: 'user.password_changed',
      subject: 'cleo@people.test',
    },
  ]);
});

test('sluice workspace plan opens the rules to the owner, and is recorded', async () => {
  const browser = visitor();
  const { email, password } = gateway.owner;
  await browser.signIn(email, password);
  const isOpen = async () =>
    !(await browser.get('/app/rules')).text.includes('Available on the Team plan');
  expect(await isOpen()).toBe(false);
  const planned = await answered('workspace', 'plan', 'team', '--workspace', 'default');
  expect(planned).toEqual({
    workspace: 'default',
    plan: 'team',
    rules: { experimental: false, overrides: 0 },
  });
  expect(await isOpen()).toBe(true);
  const { id } = await findWorkspace(gateway.database, 'default');
  const [latest] = await ledgerOf(gateway.database, id);
  expect(latest).toMatchObject({
    actorUserId: null,
    actor: 'operator',
    origin: 'command line',
    action: 'workspace.plan',
    before: { plan: 'free' },
    after: { plan: 'team' },
  });
});

describe('sluice audit verify', () => {
  test('walks every ledger; the first entries are those of the first start', async () => {
    const browser = visitor();
    const { email, password } = gateway.owner;
    await browser.signIn(email, password);
    const { id } = await findWorkspace(gateway.database, 'default');
    const entries = await ledgerOf(gateway.database, id);
    const [latest] = entries;
    const actor = { actorUserId: null, actor: 'first start' };
    expect(entries.slice(-4).reverse()).toMatchObject([
      { seq: 1, ...actor, action: 'workspace.created', after: { slug: 'default', plan: 'free' } },
      { seq: 2, ...actor, action: 'key.created', after: { kind: 'agent' } },
      { seq: 3, ...actor, action: 'key.created', after: { kind: 'workspace' } },
      { seq: 4, ...actor, action: 'member.joined', subject: email, after: { role: 'owner' } },
    ]);
    // The page shows the seal that the command prints.
    expect((await browser.get('/app/audit')).text).toContain(latest?.hash ?? 'none');
    const result = await sluice('audit', 'verify');
    expect(result.code, result.stderr).toBe(0);
    expect(lines(result.stdout)).toContain(`whole   default  ${latest?.seq} ${latest?.hash}`);
    const checks = await answered<{ workspace: string }[]>('audit', 'verify');
    expect(checks.find(({ workspace }) => workspace === 'default')).toEqual({
      workspace: 'default',
      whole: true,
      last_whole: { seq: latest?.seq, hash: latest?.hash },
      kept: null,
      broken: null,
    });
  });

  test('with an entry that was kept: a ledger cut off before it ends with 1', async () => {
    const place = ['--workspace', 'third'];
    const { stdout } = await sluice('audit', 'verify', ...place);
    const [, seq = '', hash = ''] = /third +(\d+) ([0-9a-f]{64})/.exec(stdout) ?? [];
    expect((await sluice('audit', 'verify', ...place, '--known', `${seq}:${hash}`)).code).toBe(0);
    const later = await sluice(
      'audit',
      'verify',
      ...place,
      '--known',
      `${Number(seq) + 1} ${hash}`,
    );
    expect(later.code).toBe(1);
    expect(later.stdout).toContain(`the log was cut off after entry ${seq}`);
    const senseless = await sluice('audit', 'verify', ...place, '--known', '12');
    expect(senseless.code).toBe(1);
    expect(senseless.stderr).toContain('an entry and its hash are needed');
  });

  test('with the entries that the server keeps in DATA_DIR: the same, until the file is deleted', async () => {
    const { id } = await gateway.addWorkspace('shorter');
    const data = await createDataDirectory();
    try {
      const server = await startServer({
        DATABASE_URL: gateway.databaseUrl,
        DATA_DIR: data.path,
      });
      const place = ['--workspace', 'shorter'];
      const verify = (...args: string[]) =>
        runCommand(['audit', 'verify', ...place, ...args], {
          DATABASE_URL: gateway.databaseUrl,
          DATA_DIR: data.path,
        });
      for (const plan of ['team', 'enterprise']) {
        await answered('workspace', 'plan', plan, ...place);
      }
      expect(await server.stop()).toEqual({ code: 0, signal: null });
      const [latest] = await ledgerOf(gateway.database, id);
      const line = `${id} ${latest?.seq}:${latest?.hash}`;
      expect(server.stderr()).toContain(line);
      const whole = await verify('--json');
      expect(JSON.parse(whole.stdout)).toMatchObject([
        { whole: true, kept: { seq: latest?.seq, hash: latest?.hash } },
      ]);
      await gateway.database.query('ALTER TABLE audit_ledger DISABLE TRIGGER audit_ledger_stays');
      await gateway.database.query(
        'DELETE FROM audit_ledger WHERE workspace_id = $1 AND seq = $2',
        [id, latest?.seq],
      );
      await gateway.database.query(
        'ALTER TABLE audit_ledger ENABLE ALWAYS TRIGGER audit_ledger_stays',
      );
      const cut = await verify();
      expect(cut.code).toBe(1);
      const last = Number(latest?.seq) - 1;
      expect(cut.stdout).toContain(
        `at entry ${latest?.seq}: the log was cut off after entry ${last}; whole up to ${last} `,
      );
      const [, path = ''] =
        /^note: (\S+) has an entry that the log lacks\. Only if you restored an older backup, delete this file\.$/m.exec(
          cut.stderr,
        ) ?? [];
      await rm(path);
      const accepted = await verify();
      expect(accepted.code).toBe(0);
      expect(accepted.stderr).toContain(`${path} does not exist`);
    } finally {
      await data.remove();
    }
  });

  test('names the first entry that was tampered with, and ends with 1', async () => {
    const { id } = await gateway.addWorkspace('tampered');
    await gateway.database.query("UPDATE workspaces SET plan = 'team' WHERE id = $1", [id]);
    const { token } = await addPerson(gateway.database, id, 'owner');
    const owner = new Browser(gateway.server.baseUrl, token);
    for (const experimental of [true, false, true]) {
      const answer = await owner.put('/app/api/atr/settings', { experimental });
      expect(answer.status).toBe(200);
    }
    const only = ['--workspace', 'tampered'];
    expect((await sluice('audit', 'verify', ...only)).code).toBe(0);
    const change = `UPDATE audit_ledger SET actor = 'eve@people.test'
                     WHERE workspace_id = $1 AND seq = 2`;
    await expect(gateway.database.query(change, [id])).rejects.toMatchObject({ code: '42501' });
    const trigger = 'TRIGGER audit_ledger_stays';
    await gateway.database.query(`ALTER TABLE audit_ledger DISABLE ${trigger}`);
    await gateway.database.query(change, [id]);
    await gateway.database.query(`ALTER TABLE audit_ledger ENABLE ALWAYS ${trigger}`);
    const result = await sluice('audit', 'verify', ...only);
    expect(result.code).toBe(1);
    expect(result.stdout).toMatch(
      /^broken {2}tampered {2}at entry 2: its content is not what its hash was made of; whole up to 1 [0-9a-f]{64}\n$/,
    );
    expect((await sluice('audit', 'verify')).code).toBe(1);
    const verified = await sluice('audit', 'verify', ...only, '--json');
    expect(JSON.parse(verified.stdout)).toMatchObject([
      { workspace: 'tampered', whole: false, last_whole: { seq: 1 }, broken: { seq: 2 } },
    ]);
  });
});
