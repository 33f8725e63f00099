/**
 * Command lines that people sign in on a server elsewhere: the real command against a real server, the
 * form that confirms it, what its token may do by role and plan, and everything that ends it.
 */
import { createHash } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../src/db/people/keys.ts';
import { corpusIdentity, loadManifest } from '../../src/engine/corpus/corpus.ts';
import { SESSION_LIMITS } from '../../src/http/limits/limiters.ts';
import { MANIFEST_PATH } from '../../src/main/corpus-location.ts';
import { PLANS, type Role } from '../../src/model/people.ts';
import { shortIdentity } from '../../src/model/rules.ts';
import { runCommand } from '../support/command.ts';
import { addCommandLine, addPerson, ledgerOf, type Person } from '../support/people.ts';
import { nameOf, routesOf } from '../support/served-routes.ts';
import { storeTool } from '../support/stored-tools.ts';
import { sendAttack } from './attack.ts';
import { Browser, bodyOf } from './browser.ts';
import { type Answer, type Gateway, type Keys, openGateway, request } from './gateway.ts';

const CREW = 'crew';
const PASSWORD = 'a long enough password';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
const AT_ONCE = 20;

let gateway: Gateway;
let baseUrl: string;
let crew: Keys & { readonly id: number };
let elsewhere: Keys & { readonly id: number };
let runId: string;
let findingId: string;
let toolId: string;
/** where a command line keeps its logins */
let config: string;

beforeAll(async () => {
  gateway = await openGateway();
  baseUrl = gateway.server.baseUrl;
  crew = await gateway.addWorkspace(CREW);
  elsewhere = await gateway.addWorkspace('elsewhere');
  ({ runId, findingId } = await sendAttack(gateway, crew.agent, 'invoke_agent crew'));
  toolId = await storeTool(gateway.database, crew.id, 'send_mail');
  config = await mkdtemp(join(tmpdir(), 'sluice-config-'));
});
afterAll(async () => {
  await rm(config, { recursive: true });
  await gateway.close();
});

/** Runs `sluice` as on a machine without a database of its own. */
const cli = (args: readonly string[], onErrorOutput?: (text: string) => void) =>
  runCommand(
    args,
    { XDG_CONFIG_HOME: config, DATA_DIR: '' },
    { cwd: config, ...(onErrorOutput === undefined ? {} : { onErrorOutput }) },
  );

const loginsFile = () => join(config, 'sluice', 'logins.json');

/** Signs in with the real command; `decide` gets the page's address, as the terminal shows it. */
async function logIn(decide: (path: string, code: string) => Promise<void>, name = 'test-device') {
  let decided: Promise<void> | undefined;
  const result = await cli(['login', baseUrl, '--name', name], (text) => {
    const [url, code] = /http\S+user_code=([A-Z]{4}-[A-Z]{4})/.exec(text) ?? [];
    if (url === undefined || code === undefined || decided !== undefined) return;
    const { pathname, search } = new URL(url);
    decided = decide(`${pathname}${search}`, code);
  });
  await decided;
  return result;
}

const decision = (userCode: string, chosen: 'approve' | 'deny') => ({
  user_code: userCode,
  decision: chosen,
});

/** Calls as a command line does. */
function call(
  token: string,
  path: string,
  { method = 'GET', json }: { method?: string; json?: unknown } = {},
): Promise<Answer> {
  return request(`${baseUrl}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      authorization: `Bearer ${token}`,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
}

const form = (path: string, fields: Record<string, string>): Promise<Answer> =>
  request(`${baseUrl}${path}`, { method: 'POST', body: new URLSearchParams(fields) });

const beginForm = () => form('/cli/v1/device-authorization', { client_id: 'sluice' });
const poll = (deviceCode: string) =>
  form('/cli/v1/token', {
    client_id: 'sluice',
    grant_type: GRANT_TYPE,
    device_code: deviceCode,
  });

/** What `rules list --json` answers. */
interface RuleList {
  readonly rules: readonly { readonly id: string; readonly state: string }[];
}

interface Begun {
  readonly device_code: string;
  readonly user_code: string;
}

/** Forgets the last poll, so that a test need not wait for the interval. */
const passInterval = () => gateway.database.query('UPDATE device_logins SET polled_at = NULL');

const actions = async () => (await ledgerOf(gateway.database, crew.id)).map(({ action }) => action);

/** A new member and its signed-in command line. */
async function signedIn(role: Role): Promise<{ person: Person; token: string }> {
  const person = await addPerson(gateway.database, crew.id, role);
  return { person, token: await addCommandLine(gateway.database, crew.id, person) };
}

describe('sluice login', () => {
  test('from the code to the commands and the logout', async () => {
    const owner = await addPerson(gateway.database, crew.id, 'owner');
    const browser = new Browser(baseUrl, owner.token);
    const result = await logIn(async (path, code) => {
      const page = await browser.get(path);
      expect(page.status).toBe(200);
      for (const shown of [
        code,
        'test-device',
        '127.0.0.1',
        owner.email,
        CREW,
        'create, change and revoke keys',
      ]) {
        expect(page.text, shown).toContain(shown);
      }
      expect(page.text).not.toContain('<script src="/assets/device');
      const target = '/app/device?workspace=crew';
      const type = { 'content-type': 'application/x-www-form-urlencoded' };
      const body = new URLSearchParams(decision(code, 'approve')).toString();
      const forged = { ...type, origin: 'https://evil.test' };
      expect((await browser.send('POST', target, { headers: forged, body })).status).toBe(403);
      const approved = await browser.submit(target, decision(code, 'approve'));
      expect(approved.status, approved.text).toBe(200);
      expect(approved.text).toContain('Go back to your terminal');
      // A code is decided once.
      expect((await browser.submit(target, decision(code, 'deny'))).status).toBe(404);
    });
    expect(result, result.stderr).toMatchObject({ code: 0 });
    expect(result.stdout).toContain(`as ${owner.email}, workspace "${CREW}", owner`);

    const { mode } = await stat(loginsFile());
    expect(mode & 0o777).toBe(0o600);
    const kept = JSON.parse(await readFile(loginsFile(), 'utf8')) as {
      default: string;
      servers: Record<string, { token: string }>;
    };
    expect(kept.default).toBe(baseUrl);
    const token = kept.servers[baseUrl]?.token ?? '';
    expect(token).toMatch(/^sluice_cli_\w{43}$/);
    const { rows } = await gateway.database.query<{ digest: Buffer; all: string }>(
      "SELECT token_sha256 AS digest, s::text AS all FROM sessions s WHERE kind = 'cli'",
    );
    expect(rows[0]?.digest.equals(createHash('sha256').update(token).digest())).toBe(true);
    expect(rows[0]?.all).not.toContain(token);
    expect(`${result.stdout}${result.stderr}${gateway.server.stdout()}`).not.toContain(token);

    const json = async <Body>(args: string[]): Promise<Body> => {
      const answer = await cli([...args, '--json']);
      expect(answer, answer.stderr).toMatchObject({ code: 0 });
      expect(answer.stderr).toContain(`Using ${baseUrl}, workspace "${CREW}", as ${owner.email}.`);
      return JSON.parse(answer.stdout) as Body;
    };
    expect(await json(['whoami'])).toMatchObject({ email: owner.email, role: 'owner' });
    expect(await json(['findings', 'list', '--server', baseUrl])).toMatchObject({
      findings: expect.arrayContaining([expect.objectContaining({ id: findingId })]),
    });
    expect(await json(['runs', 'list', '--findings'])).toMatchObject({ runs: [{ id: runId }] });
    expect(await json(['runs', 'show', runId])).toMatchObject({ id: runId, steps: [{}] });
    const search = ['runs', 'search', 'ALL PREVIOUS instructions'];
    expect(await json(search)).toMatchObject({
      runs: [{ id: runId, text_match: { match: 'all previous instructions' } }],
      searched_to: null,
      blocks_unreadable: 0,
    });
    const found = (await cli(search)).stdout;
    expect(found).toContain('Ignore all previous instructions');
    expect(found).toMatch(/^Searched the whole range: 1 run in \d+ blocks\.$/m);
    expect((await cli(['runs', 'search', 'nothing has this'])).stdout).toContain(
      'No runs have this text.',
    );
    const here = { DATABASE_URL: gateway.databaseUrl };
    const wanted = ['rules', 'preview', '--rule', 'ATR-2026-00001', '--workspace', CREW, '--json'];
    expect(JSON.parse((await runCommand(wanted, here)).stdout)).toMatchObject({
      workspace: CREW,
      runs_in_range: 1,
      runs_with_finding: 1,
      rules: [
        { id: 'ATR-2026-00001', runs: 1, runs_now: true, examples: [{ run_id: runId, step: 1 }] },
      ],
    });
    for (const filters of [
      ['--status', 'stable'],
      ['--support', 'degraded'],
      ['--state', 'off_by_tier'],
    ]) {
      const list = ['rules', 'list', ...filters, '--workspace', CREW, '--json'];
      const local = JSON.parse((await runCommand(list, here)).stdout) as RuleList;
      const { rules, ...facts } = await json<RuleList>(list.slice(0, -1));
      expect(facts).toEqual({ ...local, rules: undefined });
      expect(rules.length).toBeGreaterThan(0);
      expect(rules.map(({ id, state }) => ({ id, state }))).toEqual(
        local.rules.map(({ id, state }) => ({ id, state })),
      );
    }
    expect(await json(['rules', 'show', 'ATR-2026-00001'])).toMatchObject({ enabled: true });
    // Reasons, own tests and state are printed as by the command beside the database.
    for (const { support } of [{ support: 'unsupported' }, { support: 'fails_own_examples' }]) {
      const one = ['rules', 'list', '--support', support, '--json'];
      const { rules } = JSON.parse((await runCommand(one, here)).stdout) as RuleList;
      const show = ['rules', 'show', rules[0]?.id ?? '', '--workspace', CREW];
      const local = (await runCommand(show, here)).stdout;
      expect(local).toMatch(support === 'unsupported' ? /Never runs here: / : /Own tests/);
      expect((await cli(show)).stdout).toBe(local);
    }
    const key = await json<{ id: number; key: string }>([
      ...['key', 'create', '--kind', 'agent', '--name', 'from afar', '--limit', '7'],
    ]);
    expect(key.key).toMatch(/^sluice_live_/);
    expect(await json(['key', 'list'])).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: key.id, name: 'from afar', rate_limit_per_minute: 7 }),
      ]),
    );
    expect(await json(['key', 'limit', String(key.id), '9'])).toEqual({
      id: key.id,
      rate_limit_per_minute: 9,
    });
    expect(await json(['key', 'list'])).toEqual(
      expect.arrayContaining([expect.objectContaining({ id: key.id, rate_limit_per_minute: 9 })]),
    );
    const tooMany = await cli(['key', 'limit', String(key.id), '100001']);
    expect(tooMany).toMatchObject({ code: 1 });
    expect(tooMany.stderr).toContain('from 1 to 100000');
    expect(await json(['key', 'revoke', String(key.id)])).toEqual({ id: key.id, revoked: true });
    expect(await cli(['exceptions', 'list'])).toMatchObject({
      code: 0,
      stdout: 'No exceptions.\n',
    });
    await gateway.database.query(
      `INSERT INTO finding_exceptions (workspace_id, rule_id, agent_name, reason, created_by, expires_at)
       SELECT id, 'ATR-2026-00001', 'drill', 'A drill.', $2, now() + interval '1 day'
         FROM workspaces WHERE slug = $1`,
      [CREW, owner.email],
    );
    const ofRule = ['exceptions', 'list', '--active', '--rule', 'ATR-2026-00001'];
    const remote = await cli(ofRule);
    expect(remote, remote.stderr).toMatchObject({ code: 0 });
    expect(remote.stdout).toMatch(/ATR-2026-00001 +agent drill +0 +until .* A drill\./);
    expect((await runCommand([...ofRule, '--workspace', CREW], here)).stdout).toBe(remote.stdout);
    expect(await json(['exceptions', 'list', '--rule', 'ATR-2026-00002'])).toEqual({
      exceptions: [],
    });
    const identity = shortIdentity(corpusIdentity(loadManifest(MANIFEST_PATH)));
    const texts = [
      ['findings', 'list'],
      ['findings', 'show', findingId],
      ['runs', 'show', runId],
    ];
    for (const args of [
      ['tools', 'list', '--changed'],
      ['tools', 'show', toolId],
    ]) {
      const remoteTools = await cli(args);
      expect(remoteTools, remoteTools.stderr).toMatchObject({ code: 0 });
      expect(remoteTools.stdout).toContain('send_mail');
      const local = await runCommand([...args, '--workspace', CREW], here);
      expect(local.stdout).toBe(remoteTools.stdout);
    }
    const packed = join(config, 'evidence.tar');
    const made = await cli(['evidence', 'create', '--finding', findingId, '--output', packed]);
    expect(made, made.stderr).toMatchObject({ code: 0 });
    const { public_key: publicKey } = await json<{ public_key: string }>(['evidence', 'key']);
    const verified = await cli(['evidence', 'verify', packed, '--public-key', publicKey]);
    expect(verified.stdout).toMatch(/^valid .*, as expected$/ms);
    const again = await cli(['evidence', 'create', '--finding', findingId, '--output', packed]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('exists already') });
    const unknown = ['evidence', 'create', '--incident', '0'.repeat(32)];
    expect(await cli(unknown)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('answered 404'),
    });
    await expect(stat(join(config, 'evidence-00000000.tar'))).rejects.toThrow('ENOENT');
    const destinationId = Number(await destinationOf(crew.id));
    const [destination] = await json<unknown[]>(['alerts', 'list']);
    expect(destination).toMatchObject({ id: destinationId, to: 'https://alerts.invalid/…' });
    const missing = await cli(['alerts', 'send-again', String(destinationId), '0'.repeat(32)]);
    expect(missing).toMatchObject({ code: 1 });
    expect(missing.stderr).toContain('not waiting to be sent again');
    expect(await json(['findings', 'list', '--assignee', 'me', '--since', '7d'])).toMatchObject({
      findings: [],
    });
    for (const args of texts) {
      const shown = await cli(args);
      expect(shown, shown.stderr).toMatchObject({ code: 0 });
      if (args[0] === 'findings') expect(shown.stdout).toContain('ATR-2026-00001');
      if (args[1] === 'show') expect(shown.stdout).toContain(`corpus 4.0.0 (${identity})`);
    }

    const settings = await browser.get('/app/settings');
    expect(settings.text).toContain('Command line on test-device');
    const wrong = await cli(['key', 'list', '--workspace', 'elsewhere']);
    expect(wrong).toMatchObject({ code: 1 });
    expect(wrong.stderr).toContain(`is for the workspace "${CREW}"`);

    expect(await cli(['logout'])).toMatchObject({ code: 0 });
    expect((await call(token, '/cli/v1/session')).status).toBe(401);
    await expect(stat(loginsFile())).rejects.toThrow('ENOENT');
    expect(await cli(['logout'])).toMatchObject({ code: 1 });
    expect((await actions()).slice(0, 6)).toEqual([
      ...['cli.logout', 'evidence.downloaded', 'key.revoked', 'key.rate_limit_per_minute'],
      ...['key.created', 'cli.login'],
    ]);
    expect((await ledgerOf(gateway.database, crew.id))[4]).toMatchObject({
      actor: owner.email,
      origin: '127.0.0.1, command line',
    });
    expect((await ledgerOf(gateway.database, crew.id))[5]).toMatchObject({
      actor: owner.email,
      subject: 'test-device',
      after: { role: 'owner' },
    });
  });

  test('that is denied gets nothing', async () => {
    const { person } = await signedIn('member');
    const browser = new Browser(baseUrl, person.token);
    const result = await logIn(async (path, code) => {
      const page = await browser.get(path);
      expect(page.text).not.toContain('create, change and revoke keys');
      const denied = await browser.submit('/app/device', decision(code, 'deny'));
      expect(denied.text).toContain('gets no access');
    });
    expect(result).toMatchObject({ code: 1 });
    expect(result.stderr).toContain('The login was denied.');
    expect(await cli(['whoami', '--server', baseUrl])).toMatchObject({ code: 1 });
  });

  test('sends no token over plain HTTP to another machine', async () => {
    const plain = await cli(['login', 'http://sluice.example.org']);
    expect(plain).toMatchObject({ code: 1 });
    expect(plain.stderr).toContain('has no TLS');
  });

  test('is not used while a setting names a database, nor from a file that others may read', async () => {
    const owner = await addPerson(gateway.database, crew.id, 'owner');
    const browser = new Browser(baseUrl, owner.token);
    await logIn(async (_path, code) => {
      await browser.submit('/app/device', decision(code, 'approve'));
    });
    const settings = { XDG_CONFIG_HOME: config, DATABASE_URL: gateway.databaseUrl };
    const searched = ['runs', 'search', 'instructions', '--workspace', CREW, '--json'];
    const [own, others] = [
      await runCommand(searched, settings),
      await runCommand([...searched, '--server', baseUrl], settings),
    ];
    expect(own, own.stderr).toMatchObject({ code: 0 });
    expect(JSON.parse(own.stdout)).toEqual(JSON.parse(others.stdout));
    const listed = ['runs', 'list', '--workspace', CREW, '--json'];
    const here = await runCommand(listed, settings);
    expect(here, here.stderr).toMatchObject({ code: 0 });
    expect(here.stderr).toContain('Using the local database.');
    const there = await runCommand([...listed, '--server', baseUrl], settings);
    expect(there.stderr).toContain(`Using ${baseUrl}`);
    expect(JSON.parse(here.stdout)).toEqual(JSON.parse(there.stdout));
    await chmod(loginsFile(), 0o644);
    const open = await cli(['whoami']);
    expect(open).toMatchObject({ code: 1 });
    expect(open.stderr).toContain('chmod 600');
    await chmod(loginsFile(), 0o600);
    const faulty = await runCommand(
      ['runs', 'list', '--workspace', CREW, '--limit', '0'],
      settings,
    );
    expect(faulty).toMatchObject({ code: 1 });
    expect(faulty.stderr).toContain('limit');
  });
});

describe('a poll', () => {
  test('waits, is slowed down, expires, and gives a token once', async () => {
    const { device_code: code, user_code: userCode } = bodyOf<Begun>(await beginForm());
    const errorOf = async () => bodyOf(await poll(code)).error;
    expect(await errorOf()).toBe('authorization_pending');
    expect(await errorOf()).toBe('slow_down');
    await passInterval();
    expect(await errorOf()).toBe('authorization_pending');
    const person = await addPerson(gateway.database, crew.id, 'member');
    const browser = new Browser(baseUrl, person.token);
    const approve = decision(userCode.toLowerCase().replace('-', ' '), 'approve');
    expect((await browser.submit('/app/device', approve)).status).toBe(200);
    await passInterval();
    const answer = await poll(code);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(bodyOf(answer)).toMatchObject({ token_type: 'Bearer', workspace: CREW, role: 'member' });
    expect(await errorOf()).toBe('expired_token');

    const late = bodyOf<Begun>(await beginForm());
    await gateway.database.query('UPDATE device_logins SET expires_at = now()');
    expect(bodyOf(await poll(late.device_code))).toEqual({ error: 'expired_token' });
    expect((await browser.get(`/app/device?user_code=${late.user_code}`)).status).toBe(404);
    expect(bodyOf(await poll('x'))).toMatchObject({ error: 'invalid_request' });
  });

  test('gives nothing after the approver has lost session or membership', async () => {
    const losses = [
      'UPDATE sessions SET revoked_at = now() WHERE user_id = $1',
      'DELETE FROM memberships WHERE user_id = $1',
    ];
    for (const loss of losses) {
      const person = await addPerson(gateway.database, crew.id, 'owner');
      const begun = bodyOf<Begun>(await beginForm());
      const browser = new Browser(baseUrl, person.token);
      await browser.submit('/app/device', decision(begun.user_code, 'approve'));
      await gateway.database.query(loss, [person.id]);
      expect(bodyOf(await poll(begun.device_code)), loss).toEqual({ error: 'access_denied' });
    }
  });

  test('codes are guessed five times a minute, and twenty logins of a network wait', async () => {
    const person = await addPerson(gateway.database, crew.id, 'member');
    const browser = new Browser(baseUrl, person.token);
    const guess = async () => (await browser.get('/app/device?user_code=BCDFGHJK')).status;
    const guesses = [];
    for (let count = 0; count < 6; count += 1) guesses.push(await guess());
    expect(guesses).toEqual([404, 404, 404, 404, 404, 429]);
    await gateway.database.query('DELETE FROM device_logins');
    const begun = [];
    for (let count = 0; count < 21; count += 1) begun.push((await beginForm()).status);
    expect(begun).toEqual([...Array(20).fill(200), 429]);
    await gateway.database.query('DELETE FROM device_logins');
  });
});

/** What a route is sent, and for whom it is. */
interface Row {
  readonly for: 'members' | 'admins';
  readonly query?: string;
  readonly json?: unknown;
  /** 200 unless it says otherwise */
  readonly ok?: number;
  readonly shows?: () => string;
}

async function keyIdOf(workspaceId: number): Promise<number> {
  const key = { workspaceId, kind: 'agent', name: 'a key', brand: 'sluice' } as const;
  return (await createKey(gateway.database, { ...key, rateLimitPerMinute: 1 })).id;
}

/** The only destination of the workspace; nothing answers at its name. */
async function destinationOf(workspaceId: number): Promise<string> {
  const { rows } = await gateway.database.query<{ id: number }>(
    `WITH made AS (
       INSERT INTO alert_destinations (workspace_id, name, format, url, severities)
       SELECT $1, 'Nobody', 'json', 'https://alerts.invalid/hook', '{critical}'
        WHERE NOT EXISTS (SELECT FROM alert_destinations WHERE workspace_id = $1) RETURNING id)
     SELECT id FROM made UNION ALL SELECT id FROM alert_destinations WHERE workspace_id = $1`,
    [workspaceId],
  );
  return String(rows[0]?.id);
}

const ROWS: Readonly<Record<string, Row>> = {
  'GET /cli/v1/session': { for: 'members', shows: () => CREW },
  'GET /cli/v1/exceptions': { for: 'members', shows: () => '"exceptions":[' },
  'GET /cli/v1/incidents': { for: 'members', shows: () => findingId },
  'GET /cli/v1/findings': { for: 'members', shows: () => findingId },
  'GET /cli/v1/findings/{findingId}': { for: 'members', shows: () => runId },
  'GET /cli/v1/findings/{findingId}/evidence': { for: 'members', shows: () => findingId },
  'GET /cli/v1/incidents/{runId}/evidence': { for: 'members', shows: () => findingId },
  'GET /cli/v1/evidence-key': { for: 'members', shows: () => '"Ed25519"' },
  'GET /cli/v1/runs': { for: 'members', shows: () => runId },
  'GET /cli/v1/runs/search': { for: 'members', query: '?text=instructions', shows: () => runId },
  'GET /cli/v1/runs/{runId}': { for: 'members', shows: () => runId },
  'GET /cli/v1/tools': { for: 'members', shows: () => toolId },
  'GET /cli/v1/tools/{toolId}': { for: 'members', shows: () => toolId },
  'GET /cli/v1/rules': { for: 'members', shows: () => 'ATR-2026-00001' },
  'GET /cli/v1/rules/{ruleId}': { for: 'members', shows: () => 'ATR-2026-00001' },
  'GET /cli/v1/keys': { for: 'members', shows: () => 'e2e agent' },
  'GET /cli/v1/alerts': { for: 'admins', shows: () => '"destinations":[{' },
  'POST /cli/v1/alerts/{destinationId}/test': { for: 'admins', shows: () => '"failed"' },
  'POST /cli/v1/alerts/{destinationId}/send-again': {
    for: 'admins',
    json: { message_id: '0'.repeat(32) },
    // There is no such message.
    ok: 404,
  },
  'POST /cli/v1/keys': { for: 'admins', json: { kind: 'agent', name: 'one more' } },
  'POST /cli/v1/keys/{keyId}/limit': { for: 'admins', json: { rate_limit_per_minute: 2 } },
  'DELETE /cli/v1/keys/{keyId}': { for: 'admins' },
  'DELETE /cli/v1/session': { for: 'members' },
};
/** They take no token. */
const OPEN = ['POST /cli/v1/device-authorization', 'POST /cli/v1/token'];

test('the table has every route under /cli, and no other', () => {
  const served = routesOf('PORT').filter(({ path }) => path.startsWith('/cli/'));
  expect([...Object.keys(ROWS), ...OPEN].sort()).toEqual(served.map(nameOf).sort());
});

async function ask(route: string, token: string): Promise<Answer> {
  const [method = '', pattern = ''] = route.split(' ');
  const keyId = pattern.includes('{keyId}') ? await keyIdOf(crew.id) : 0;
  const path = pattern
    .replace('{findingId}', findingId)
    .replace('{runId}', runId)
    .replace('{toolId}', toolId)
    .replace('{ruleId}', 'ATR-2026-00001')
    .replace('{keyId}', String(keyId))
    .replace('{destinationId}', await destinationOf(crew.id));
  const { json, query = '' } = ROWS[route] ?? {};
  return await call(token, `${path}${query}`, { method, json });
}

describe.each(PLANS)('on the plan %s', (plan) => {
  beforeAll(() => gateway.database.query('UPDATE workspaces SET plan = $1', [plan]));

  test.each(Object.entries(ROWS))('%s', async (route, row) => {
    for (const role of ['owner', 'admin', 'member'] as const) {
      const { token } = await signedIn(role);
      const { status, text } = await ask(route, token);
      const may = row.for === 'members' || role !== 'member';
      expect(status, `${route} by ${role} on ${plan}: ${text}`).toBe(may ? (row.ok ?? 200) : 403);
      if (may && row.shows !== undefined) expect(text).toContain(row.shows());
    }
  });
});

describe('a token', () => {
  test('changes no rule, and opens nothing of the dashboard or of keys', async () => {
    const { token, person } = await signedIn('owner');
    const before = (await actions()).length;
    const writes = [
      ['PUT', '/app/api/atr/rules/ATR-2026-00001', { enabled: false }],
      ['PUT', '/app/api/atr/settings', { experimental: true }],
    ] as const;
    for (const [method, path, json] of writes) {
      const answer = await call(token, `${path}?workspace=${CREW}`, { method, json });
      expect(answer.status, path).toBe(403);
      expect(bodyOf(answer)).toMatchObject({ reason: 'session_required' });
      const asCookie = await new Browser(baseUrl, token).send(method, `${path}?workspace=${CREW}`, {
        body: JSON.stringify(json),
      });
      expect(asCookie.status, path).toBe(401);
    }
    expect((await new Browser(baseUrl, token).get('/app/keys')).status).toBe(303);
    for (const path of ['/platform/v1/atr/rules', '/platform/v1/runs']) {
      expect((await call(token, path)).status, path).toBe(401);
    }
    for (const method of ['PUT', 'POST', 'DELETE']) {
      expect((await call(token, '/cli/v1/rules/ATR-2026-00001', { method })).status).toBe(405);
    }
    expect((await actions()).length).toBe(before);
    // Neither a browser's session nor a key does what a command line may.
    expect((await call(person.token, '/cli/v1/keys')).status).toBe(401);
    expect((await new Browser(baseUrl, person.token).get('/cli/v1/keys')).status).toBe(401);
    for (const key of [crew.agent, crew.workspace]) {
      const answer = await call(key, '/cli/v1/keys');
      expect(answer.status).toBe(403);
      expect(bodyOf(answer)).toMatchObject({ reason: 'session_required' });
    }
  });

  test('of another workspace finds and changes nothing of this one', async () => {
    const person = await addPerson(gateway.database, elsewhere.id, 'owner');
    const token = await addCommandLine(gateway.database, elsewhere.id, person);
    const keyId = await keyIdOf(crew.id);
    const revoked = await call(token, `/cli/v1/keys/${keyId}`, { method: 'DELETE' });
    expect(revoked.status).toBe(404);
    const json = { rate_limit_per_minute: 2 };
    const changed = await call(token, `/cli/v1/keys/${keyId}/limit`, { method: 'POST', json });
    expect(changed.status).toBe(404);
    for (const path of [`/cli/v1/runs/${runId}`, `/cli/v1/findings/${findingId}`]) {
      expect((await call(token, path)).status, path).toBe(404);
    }
  });

  test('that was stolen ends with the click in the settings, which the ledger records', async () => {
    const { token, person } = await signedIn('admin');
    const browser = new Browser(baseUrl, person.token);
    const { rows } = await gateway.database.query<{ id: string }>(
      "SELECT id FROM sessions WHERE user_id = $1 AND kind = 'cli'",
      [person.id],
    );
    expect((await browser.submit(`/app/sessions/${rows[0]?.id}/end`)).status).toBe(303);
    const answer = await call(token, '/cli/v1/runs');
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(bodyOf(answer)).toMatchObject({ reason: 'invalid_credential' });
    expect((await ledgerOf(gateway.database, crew.id))[0]).toMatchObject({
      action: 'cli.revoked',
      actor: person.email,
      subject: 'a test device',
    });
    const other = await addCommandLine(gateway.database, crew.id, person);
    expect((await browser.submit('/app/sessions/end-others')).status).toBe(303);
    expect((await call(other, '/cli/v1/runs')).status).toBe(401);
    expect((await actions())[0]).toBe('cli.revoked');
  });

  test('expires: after thirty days, and after fourteen without use', async () => {
    const { token, person } = await signedIn('member');
    const set = (assignment: string) =>
      gateway.database.query(
        `UPDATE sessions SET ${assignment} WHERE user_id = $1 AND kind = 'cli'
          RETURNING extract(day FROM expires_at - created_at)::int AS days`,
        [person.id],
      );
    const status = async () => (await call(token, '/cli/v1/runs')).status;
    await set("last_seen_at = now() - interval '14 days' + interval '1 minute'");
    expect(await status()).toBe(200);
    await set("last_seen_at = now() - interval '14 days'");
    expect(await status()).toBe(401);
    const { rows } = await set('last_seen_at = now()');
    expect(rows).toEqual([{ days: 30 }]);
    expect(await status()).toBe(200);
    await set('expires_at = now()');
    expect(await status()).toBe(401);
  });

  test('ends with a changed password', async () => {
    const person = await addPerson(gateway.database, crew.id, 'owner', {
      email: 'changing@crew.test',
      password: PASSWORD,
    });
    const token = await addCommandLine(gateway.database, crew.id, person);
    const changed = await new Browser(baseUrl, person.token).submit('/app/password', {
      current_password: PASSWORD,
      new_password: `${PASSWORD}!`,
    });
    expect(changed.status).toBe(303);
    expect((await call(token, '/cli/v1/runs')).status).toBe(401);
  });

  test('has the role of this moment, and none after leaving', async () => {
    const { token, person } = await signedIn('admin');
    const create = () =>
      call(token, '/cli/v1/keys', { method: 'POST', json: { kind: 'agent', name: 'x' } });
    expect((await create()).status).toBe(200);
    await gateway.database.query("UPDATE memberships SET role = 'member' WHERE user_id = $1", [
      person.id,
    ]);
    expect((await create()).status).toBe(403);
    await gateway.database.query('DELETE FROM memberships WHERE user_id = $1', [person.id]);
    const left = await call(token, '/cli/v1/runs');
    expect(left.status).toBe(403);
    expect(bodyOf(left)).toMatchObject({ reason: 'role_required' });
    expect((await call(token, '/cli/v1/session', { method: 'DELETE' })).status).toBe(200);
    expect((await call(token, '/cli/v1/runs')).status).toBe(401);
  });

  test('is counted by the limit of its user, together with the browser', async () => {
    const { token, person } = await signedIn('member');
    const browser = new Browser(baseUrl, person.token);
    const answers: Answer[] = [];
    while (answers.length < SESSION_LIMITS.user + AT_ONCE) {
      const batch = Array.from({ length: AT_ONCE }, (_, at) =>
        at % 2 === 0 ? call(token, '/cli/v1/session') : browser.get('/app/device'),
      );
      answers.push(...(await Promise.all(batch)));
    }
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(AT_ONCE);
    for (const { headers } of refused) {
      expect(headers.get('x-ratelimit-scope')).toBe('user');
      expect(headers.get('retry-after')).toMatch(/^\d+$/);
    }
  });
});
