/**
 * A corpus that is not what the manifest says: nothing evaluates with it, by whatever way, though the
 * catalogue of the right corpus is kept in the data folder.
 */
import { execFile } from 'node:child_process';
import { appendFile, cp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { copyCheckout } from '../support/checkout.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { CATALOGUE_FOLDER } from '../support/kept-catalogue.ts';
import { launchServer, ROOT } from '../support/server.ts';

const CATEGORY = 'rules/prompt-injection';
const BODY = JSON.stringify({ resourceSpans: [] });

let root: string;
let rules: string;
let file: string;
let settings: Record<string, string>;
let database: TestDatabase;

beforeAll(async () => {
  root = await copyCheckout(['bin', 'dist', 'corpus', 'docs'], ['agent-threat-rules']);
  rules = join(root, 'node_modules', 'agent-threat-rules');
  await cp(join(ROOT, 'node_modules', 'agent-threat-rules'), rules, { recursive: true });
  const [first = ''] = (await readdir(join(rules, CATEGORY))).sort();
  file = join(CATEGORY, first);
  await writeFile(join(root, 'body.json'), BODY);
  database = await createTestDatabase({ template: inject('migratedTemplate') });
  settings = { DATABASE_URL: database.url, DATA_DIR: CATALOGUE_FOLDER, LOG_LEVEL: 'error' };
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
  await database.drop();
});

interface Ended {
  readonly code: number | null;
  readonly said: string;
}

function sluice(...args: string[]): Promise<Ended> {
  const { PATH = '', HOME = '' } = process.env;
  const options = { cwd: root, env: { PATH, HOME, ...settings } };
  return new Promise((resolve) => {
    const command = [join(root, 'bin', 'sluice.js'), ...args];
    const child = execFile(process.execPath, command, options, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, said: stdout + stderr }),
    );
  });
}

async function serve(): Promise<Ended> {
  const server = launchServer(settings, root);
  const { code } = await server.exited;
  return { code, said: server.stdout() + server.stderr() };
}

test('the corpus as it was pinned evaluates', async () => {
  expect(await sluice('pass', 'run')).toMatchObject({ code: 0 });
});

describe.each([
  [
    'a rule that was altered',
    () => appendFile(join(rules, file), '\n# one line more\n'),
    () => cp(join(ROOT, 'node_modules', 'agent-threat-rules', file), join(rules, file)),
  ],
  [
    'a rule that is missing',
    () => rename(join(rules, file), join(root, 'elsewhere')),
    () => rename(join(root, 'elsewhere'), join(rules, file)),
  ],
  [
    'a rule more',
    () => cp(join(rules, file), join(rules, `${file}.yaml`)),
    () => rm(join(rules, `${file}.yaml`)),
  ],
])('%s', (_what, tamper, undo) => {
  beforeAll(tamper);
  afterAll(undo);

  test.each([
    ['pass', 'run', 1],
    // 1 is for findings.
    ['scan', 'body.json', 2],
    ['rules', 'list', 1],
    ['corpus', 'verify', 1],
  ] as const)('is refused by sluice %s %s', async (command, operand, expected) => {
    const { code, said } = await sluice(command, operand);
    expect(said).toContain(file);
    expect(code).toBe(expected);
  });

  test('is refused by the server', async () => {
    const { code, said } = await serve();
    expect(said).toContain(file);
    expect(code).toBe(1);
  });
});
