/**
 * `npm start` and `sluice` run the built program and read code from this folder only. Before, tsx
 * cached compiled code in the temporary folder, under a name that any user could create first.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, chmod, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';

import { copyCheckout } from '../support/checkout.ts';
import { runProcess } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { CATALOGUE_FOLDER } from '../support/kept-catalogue.ts';
import { ROOT, startServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

const run = promisify(execFile);
/** The catalogue of these sources, which a checkout of the same ones reads too. */
const KEPT = { DATA_DIR: CATALOGUE_FOLDER };
/** The files of a checkout that `npm start` needs. */
const SOURCES = ['src', 'bin', 'corpus', 'docs', 'README.md', 'ARCHITECTURE.md', 'CHANGELOG.md'];
/** WebAssembly of the same sources, which a build keeps: compiling it takes longer than all the rest. */
const COMPILED = ['ordinary-records.wasm', 'text-splitter.wasm', 'assembled-from'].map(
  (name) => `dist/${name}`,
);

describe('a temporary folder that another user has prepared', () => {
  let folder: string;
  let marker: string;
  let database: TestDatabase;

  /**
   * Runs the command line from its sources, as in development, with tsx's cache on. Without
   * `process.exit`, because tsx writes its cache beside the program: it would leave empty files.
   */
  const runSources = () =>
    run(
      process.execPath,
      [
        '--import',
        'tsx',
        '--import',
        'data:text/javascript,process.exit=()=>{}',
        'src/cli.ts',
        '--version',
      ],
      { cwd: ROOT, env: { PATH: process.env.PATH, TMPDIR: folder } },
    );

  /** The attack of another user who knows the sources: the same file names, other code. */
  async function poison(): Promise<void> {
    await runSources();
    const [cache = ''] = (await readdir(folder)).filter((name) => name.startsWith('tsx-'));
    const path = join(folder, cache);
    const names = await readdir(path);
    expect(names.length).toBeGreaterThan(100);
    const payload = `import { writeFileSync as hostile } from 'node:fs';hostile(${JSON.stringify(marker)}, '');`;
    for (const name of names) {
      const entry = JSON.parse(await readFile(join(path, name), 'utf8'));
      await writeFile(join(path, name), JSON.stringify({ ...entry, code: payload + entry.code }));
    }
    // The attack works: tsx runs the planted code for the same sources.
    await runSources();
    expect(existsSync(marker)).toBe(true);
    await rm(marker);
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-shared-tmp-'));
    await chmod(folder, 0o777);
    marker = join(folder, 'hostile-code-ran');
    database = await createTestDatabase({ template: inject('migratedTemplate') });
    await poison();
  });
  afterEach(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  test('runs no code in the server, its threads and processes, or a command', async () => {
    const settings = { DATABASE_URL: database.url, TMPDIR: folder };
    const before = await readdir(folder);
    const server = await startServer(settings);
    try {
      const { code } = await runProcess(['corpus', 'verify'], settings);
      expect(code).toBe(0);
    } finally {
      await server.stop();
    }
    expect(existsSync(marker)).toBe(false);
    expect(await readdir(folder)).toEqual(before);
  });
});

/** How a program ended, and what it wrote. */
async function outcome(file: string, args: readonly string[], cwd: string) {
  const { PATH = '', HOME = '' } = process.env;
  const done = run(file, [...args], { cwd, env: { PATH, HOME } });
  return await done.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}

describe('a checkout', () => {
  test('npm start builds what is not built, and starts that; a change is built again', async () => {
    const root = await copyCheckout([...SOURCES, ...COMPILED], []);
    const database = await createTestDatabase({ template: inject('migratedTemplate') });
    const { PATH = '', HOME = '' } = process.env;
    const ports = { PORT: '0', OBSERVE_PORT: '0', ADMIN_PORT: '0' };
    const child = spawn('npm', ['start'], {
      cwd: root,
      env: { PATH, HOME, HOST: '127.0.0.1', DATABASE_URL: database.url, ...KEPT, ...ports },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    try {
      await waitFor(() => said.includes('Stop: Ctrl-C.') || child.exitCode !== null, {
        withinMs: 120_000,
        what: () => `npm start is ready: ${said}`,
      });
      expect(said).toContain('Stop: Ctrl-C.');
      const first = await readFile(join(root, 'dist', 'built-from'), 'utf8');

      const help = await outcome('bin/sluice.js', ['--help'], root);
      expect(help).toMatchObject({ code: 0, stderr: '' });
      await appendFile(join(root, 'src', 'cli.ts'), `\nprocess.stdout.write('changed: yes');\n`);
      expect(await outcome('npm', ['run', 'build'], root)).toMatchObject({ code: 0 });
      expect(await readFile(join(root, 'dist', 'built-from'), 'utf8')).not.toBe(first);
      const { stdout } = await outcome('bin/sluice.js', ['corpus', 'verify'], root);
      expect(stdout).toContain('changed: yes');
      expect((await readdir(root)).filter((name) => name.startsWith('dist'))).toEqual(['dist']);
    } finally {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
      await ended;
      await database.drop();
      await rm(root, { recursive: true, force: true });
    }
  });

  test('compiles WebAssembly again that is damaged, missing, or from other packages', async () => {
    const root = await copyCheckout([...SOURCES, 'dist'], []);
    const program = join(root, 'dist', 'ordinary-records.wasm');
    const stamp = join(root, 'dist', 'assembled-from');
    const whole = await readFile(program);
    const before = await readFile(stamp, 'utf8');
    const build = () => outcome(process.execPath, ['bin/build.js'], root);
    try {
      await writeFile(program, whole.subarray(0, 1000));
      expect(await build()).toMatchObject({ code: 0, stderr: '' });
      expect(await readFile(program)).toEqual(whole);
      expect(await readFile(stamp, 'utf8')).toBe(before);

      await rm(program);
      await appendFile(join(root, 'package-lock.json'), '\n');
      expect(await build()).toMatchObject({ code: 0, stderr: '' });
      expect(await readFile(program)).toEqual(whole);
      expect(await readFile(stamp, 'utf8')).not.toBe(before);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });

  test('without a compiler says which command was meant; what is built already is enough', async () => {
    const root = await copyCheckout(SOURCES, ['rolldown']);
    try {
      const start = await outcome('npm', ['start'], root);
      expect(start.code).toBe(1);
      expect(start.stderr).toContain('rolldown is not installed');
      expect(start.stderr).toContain('npm ci && npm prune --omit=dev');
      const command = await outcome('bin/sluice.js', ['--help'], root);
      expect(command.code).toBe(1);
      expect(command.stderr).toMatch(/^sluice: dist\/ is missing: run `npm ci`/);

      await cp(join(ROOT, 'dist'), join(root, 'dist'), { recursive: true });
      expect(await outcome(process.execPath, ['bin/build.js'], root)).toMatchObject({ code: 0 });
      expect(await outcome('bin/sluice.js', ['--help'], root)).toMatchObject({ code: 0 });
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
});

test('a package holds what was built and all that it reads, and no sources', async () => {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
  });
  const [pack] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const files = pack.files.map(({ path }) => path);
  for (const path of [
    'bin/sluice.js',
    'dist/main.js',
    'dist/pool/worker.js',
    'dist/db/migrations/0001-initial.sql',
    'dist/web/assets/style.css',
    'corpus/manifest.json',
    'docs/security.md',
    'ARCHITECTURE.md',
  ]) {
    expect(files).toContain(path);
  }
  expect(files.filter((path) => /^(src|test|bench|node_modules)\//.test(path))).toEqual([]);
});

describe('stack traces of a server at work', () => {
  /** Tells, for each place of our own code that asks for the time, how an error there would name it. */
  const PROBE = `
    const now = performance.now.bind(performance);
    const told = new Set();
    performance.now = () => {
      const place = new Error('probe').stack.split('\\n')[2] ?? '';
      if (!told.has(place)) process.stderr.write('PROBE ' + place.trim() + '\\n');
      told.add(place);
      return now();
    };`;

  test('name files of src/ and the very lines, in http and db', async () => {
    const database = await createTestDatabase({ template: inject('migratedTemplate') });
    const server = await startServer({
      DATABASE_URL: database.url,
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(PROBE)}`,
    });
    try {
      const probed = () =>
        [...server.stderr().matchAll(/^PROBE .*\b(src\/[\w/-]+\.ts):(\d+):\d+\)?$/gm)].map(
          ([, path = '', line]) => ({ path, line: Number(line) }),
        );
      expect((await fetch(`${server.baseUrl}/ready`)).status).toBe(200);
      for (const room of ['src/http/', 'src/db/', 'src/main/']) {
        await waitFor(() => probed().some(({ path }) => path.startsWith(room)), {
          withinMs: 30_000,
          what: () => `a place in ${room} asks for the time: ${server.stderr()}`,
        });
      }
      for (const { path, line } of probed()) {
        const source = (await readFile(join(ROOT, path), 'utf8')).split('\n');
        expect(source[line - 1], `${path}:${line}`).toContain('performance.now()');
      }
      expect(server.stderr()).not.toContain(`${ROOT}dist/`);
    } finally {
      await server.stop();
      await database.drop();
    }
  });
});
