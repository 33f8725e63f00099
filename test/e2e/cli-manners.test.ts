/** What every command does where there is no database, no reader, or no answer. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sampleOf } from '../support/cases.ts';
import { runCommand, runProcess } from '../support/command.ts';
import { freezeServer, type Lab, openLab, serverPid } from '../support/embedded-lab.ts';
import { createDataDirectory, ROOT, startServer } from '../support/server.ts';
import { CLI_COMMANDS } from './cli-commands.ts';

type Words = readonly string[];

/** For `test.each`: the name of the test, and the arguments. */
function named(commands: readonly Words[]): (readonly [string, Words])[] {
  return commands.map((words) => [words.slice(0, 2).join(' '), words]);
}

/** Of so many commands, one writes its help to a pipe that is closed. */
const HELPS = 20;

/** Commands of the database, with arguments that are in order. */
const DATABASE_COMMANDS: readonly Words[] = [
  ['export'],
  ['key', 'create', '--kind', 'agent', '--name', 'x'],
  ['key', 'list'],
  ['key', 'limit', '1', '60'],
  ['key', 'revoke', '1'],
  ['workspace', 'create', 'support'],
  ['workspace', 'list'],
  ['workspace', 'plan', 'team'],
  ['workspace', 'rules'],
  ['workspace', 'redact', 'on'],
  ['workspace', 'redact-ingest', 'on'],
  ['user', 'create', 'ana@example.com'],
  ['user', 'list'],
  ['user', 'reset-password', 'ana@example.com'],
  ['audit', 'verify'],
  ['evidence', 'create', '--incident', '0'.repeat(32)],
  ['evidence', 'key'],
  ['pass', 'run'],
  ['migrate'],
];

describe('where there is no database', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-elsewhere-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test.each(named(DATABASE_COMMANDS))(
    '%s creates none, and says where it looked',
    async (_, words) => {
      const result = await runCommand(words, { DATA_DIR: '' }, { cwd: folder });
      expect(result).toMatchObject({ code: 1, stdout: '' });
      expect(result.stderr).toContain(`no database in ${join(folder, 'data')} (DATA_DIR)`);
      expect(result.stderr).toContain('sluice serve');
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  test('these are all commands of the database', () => {
    const ofServers = [
      'login',
      'logout',
      'whoami',
      'findings',
      'incidents',
      'exceptions',
      'runs',
      'alerts',
      'tools',
    ];
    const others = [
      'serve',
      'relay',
      'corpus',
      'rules',
      'scan',
      'completion',
      'doctor',
      'replay',
      'evidence verify',
      ...ofServers,
    ];
    const ofDatabase = CLI_COMMANDS.filter(
      ([name = '', second]) => !others.includes(name) && !others.includes(`${name} ${second}`),
    );
    expect(named(DATABASE_COMMANDS).map(([name]) => name)).toEqual(
      named(ofDatabase).map(([name]) => name),
    );
  });

  test.each([
    ['corpus', 'verify'],
    ['corpus', 'coverage'],
    ['rules', 'list'],
    ['rules', 'show', 'ATR-2026-00001'],
    ['scan', '-'],
  ])('%s %s needs none and leaves nothing behind', async (...words) => {
    const result = await runCommand(words, { DATA_DIR: '' }, { cwd: folder, input: 'harmless' });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a reader that ends before the output does', () => {
  const bash = (script: string) => {
    const { PATH = '', HOME = '' } = process.env;
    return spawnSync('bash', ['-o', 'pipefail', '-c', script], {
      cwd: ROOT,
      env: { PATH, HOME },
      encoding: 'utf8',
    });
  };

  // Help of all commands is written by the same code.
  test.each(sampleOf(named(CLI_COMMANDS), HELPS))('%s --help ends quietly', (_, words) => {
    // `true` ends at once, before Node.js has started.
    const result = bash(`node bin/sluice.js ${words.join(' ')} --help | true`);
    expect(result).toMatchObject({ status: 0, stderr: '' });
  });

  /** Each command is in the sample, and each reader; an exhaustive run has all pairs. */
  const READERS = [
    ['rules list', 'head -n 1'],
    ['rules list', 'true'],
    ['rules list --json', 'head -n 1'],
    ['rules list --json', 'true'],
    ['corpus coverage', 'true'],
    ['corpus coverage', 'head -n 1'],
    ['corpus verify', 'head -n 1'],
    ['corpus verify', 'true'],
  ] as const;
  test.each(sampleOf(READERS))('%s | %s ends quietly', (words, reader) => {
    const result = bash(`node bin/sluice.js ${words} | ${reader}`);
    expect(result).toMatchObject({ status: 0, stderr: '' });
    expect(result.stdout.length > 1).toBe(reader !== 'true');
  });

  test('an answer that cannot be written for another reason is an error', () => {
    expect(bash('node bin/sluice.js rules list > /dev/full')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('ENOSPC'),
    });
  });
});

describe('a database that does not answer', () => {
  /** Far below the time after which a person thinks that it hangs. */
  const SOON_MS = 60_000;
  let lab: Lab;
  beforeEach(() => {
    lab = openLab();
  });
  afterEach(async () => {
    await lab.close();
  });

  test('PostgreSQL that died under a server that hangs is an error, not a wait', async () => {
    const data = await createDataDirectory();
    const server = await startServer({ DATA_DIR: data.path });
    try {
      // One that runs starts it again.
      server.signal('SIGSTOP');
      process.kill(await serverPid(data.home), 'SIGKILL');
      const startedAt = performance.now();
      const result = await runProcess(['key', 'list'], { DATA_DIR: data.path });
      expect(result).toMatchObject({ code: 1, stdout: '' });
      expect(result.stderr).toMatch(
        /its PostgreSQL is not running or not ready: restart that process/,
      );
      expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
    } finally {
      await server.kill();
      await data.remove();
    }
  });

  test('one that hangs is an error, over DATABASE_URL and embedded', async () => {
    const dataDir = await lab.madeFolder();
    const postgres = await lab.start(dataDir);
    const thaw = await freezeServer(postgres.home, postgres.url);
    try {
      const startedAt = performance.now();
      const results = await Promise.all(
        [{ DATABASE_URL: postgres.url }, { DATA_DIR: dataDir }].map((settings) =>
          runProcess(['key', 'list'], settings),
        ),
      );
      expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
      for (const { code, stderr } of results) {
        expect(code).toBe(1);
        expect(stderr).toMatch(/^sluice: .*(does not answer|Cannot connect|cannot log in).*\n$/);
      }
    } finally {
      thaw();
    }
  });
});
