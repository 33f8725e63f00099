/** `npm run demo` as people start it: beside a running server, and without one. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { createWorkspace, findWorkspace } from '../../src/db/people/workspaces.ts';
import { bundle } from '../support/checkout.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { ledgerOf } from '../support/people.ts';
import { ROOT, startServer, type TestServer } from '../support/server.ts';
import { findFreePort } from '../support/sockets.ts';
import { openEyes } from './gateway.ts';

let database: TestDatabase;
let server: TestServer;
let settings: Record<string, string>;
/** One file, for what ends before it looks for files of Sluice. */
let built: readonly string[];
beforeAll(async () => {
  database = await createTestDatabase();
  settings = {
    DATABASE_URL: database.url,
    HOST: '127.0.0.1',
    PORT: String(await findFreePort()),
    OBSERVE_PORT: String(await findFreePort()),
    RUN_SETTLE_MS: '500',
    PASS_INTERVAL_MS: '200',
  };
  server = await startServer(settings);
  built = [await bundle(new URL('../../demo/demo.ts', import.meta.url))];
});
afterAll(async () => {
  await server.stop();
  await database.drop();
});

/** As `npm run demo` runs it. */
const FROM_SOURCE = ['--import', 'tsx', 'demo/demo.ts'];

async function runDemo(
  options: readonly string[] = [],
  changes: Record<string, string> = {},
  program: readonly string[] = built,
) {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [...program, ...options], {
    cwd: ROOT,
    env: { PATH, HOME, TSX_DISABLE_CACHE: '1', ...settings, ...changes },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    exited,
  ]);
  return { stdout, stderr, code };
}

test('both attacks are found, the honest run is not, the keys are revoked', async () => {
  const { stdout, stderr, code } = await runDemo([], {}, FROM_SOURCE);
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  expect(stdout).toContain('✓ honest run: evaluated, no findings');
  expect(stdout).toContain('! injection by the user: evaluated, 2 findings');
  expect(stdout).toContain('! poisoned page, stolen key: evaluated, 2 findings');
  expect([...stdout.matchAll(/ATR-\d{4}-\d{5}/g)].map(([id]) => id).sort()).toEqual([
    'ATR-2026-00001',
    'ATR-2026-00021',
    'ATR-2026-00511',
    'ATR-2026-00514',
  ]);
  const urls = [...stdout.matchAll(/^ +(http\S+)$/gm)].map(([, url]) => url ?? '');
  expect(urls).toHaveLength(4);
  const headers = { authorization: `Bearer ${server.firstKeys?.workspace}` };
  for (const url of urls) expect((await fetch(url, { headers })).status).toBe(200);
  expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);

  const eyes = openEyes(database.url);
  const { id: workspaceId } = await findWorkspace(eyes, null);
  const entries = (await ledgerOf(eyes, workspaceId)).filter(
    ({ actor }) => actor === 'npm run demo',
  );
  expect(entries.map(({ action, after }) => `${action} ${after?.kind}`)).toEqual([
    'key.revoked workspace',
    'key.revoked agent',
    'key.created workspace',
    'key.created agent',
  ]);
  const { rows } = await eyes.query(
    `SELECT kind FROM api_keys
      WHERE name = 'npm run demo' AND revoked_at IS NOT NULL ORDER BY kind`,
  );
  await eyes.end();
  expect(rows).toEqual([{ kind: 'agent' }, { kind: 'workspace' }]);
});

test('without a server it says what to do', async () => {
  const { stderr, code } = await runDemo([], { PORT: String(await findFreePort()) });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^sluice: No server answers at \S+\. Start one with npm start /);
});

test('a server with another database is recognised by the key it does not know', async () => {
  const other = await createTestDatabase({ template: inject('migratedTemplate') });
  const eyes = openEyes(other.url);
  await createWorkspace(eyes, 'elsewhere', 'Elsewhere');
  await eyes.end();
  const { stderr, code } = await runDemo([], { DATABASE_URL: other.url }, FROM_SOURCE);
  await other.drop();
  expect(code).toBe(1);
  expect(stderr).toContain('did not take the run "honest run"');
  expect(stderr).toContain('DATABASE_URL');
});

test('--help and mistakes', async () => {
  const help = await runDemo(['--help']);
  expect({ code: help.code, stderr: help.stderr }).toEqual({ code: 0, stderr: '' });
  expect(help.stdout).toContain('--workspace SLUG');
  const wrong = await runDemo(['--workspace', 'nowhere'], {}, FROM_SOURCE);
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain('There is no workspace "nowhere"');
  expect((await runDemo(['--fast'])).code).toBe(1);
});
