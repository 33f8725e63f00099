/**
 * Stack traces of the built program, in its threads and processes, and how positions are looked up.
 * test/e2e/built-program.test.ts has those of a server at work.
 */
import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { describe, expect, test } from 'vitest';

import { originOf } from '../src/stack-traces.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const BUILT = `${ROOT}dist/`;
/** Lines and columns tried of each file. */
const LINES = 40;
const COLUMNS = 8;

const mapFiles = readdirSync(BUILT, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.js.map'),
);

describe('positions', () => {
  test.each(mapFiles)('%s: as Node.js finds them', (name) => {
    const payload = JSON.parse(readFileSync(BUILT + name, 'utf8')) as SourceMapPayload;
    const map = new SourceMap(payload);
    const lines = readFileSync(BUILT + name.slice(0, -'.map'.length), 'utf8').split('\n');
    const places = Array.from({ length: LINES }, (_, nth) => {
      const line = 1 + Math.floor((nth * lines.length) / LINES);
      const length = lines[line - 1]?.length ?? 0;
      return Array.from({ length: COLUMNS }, (_none, part) => {
        return [line, 1 + Math.floor((part * length) / COLUMNS)] as const;
      });
    }).flat();
    const expected = places.map(([line, column]) => {
      const entry = map.findEntry(line - 1, column - 1);
      // Node.js goes back to the line before where a line has no mapping.
      if (!('originalSource' in entry) || entry.generatedLine !== line - 1) return null;
      const path = entry.originalSource.replace(/^(?:\.\.\/)+/, '');
      return `${path}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    });
    expect(places.map(([line, column]) => originOf(payload, line, column))).toEqual(expected);
  });

  test('there are maps', () => {
    expect(mapFiles.length).toBeGreaterThan(20);
  });

  test('a file that is not of src/, and a line that is not there, have none', () => {
    // One segment: line 1, column 0 is line 1, column 0 of the source.
    expect(originOf({ sources: ['../src/x.ts'], mappings: 'AAAA' }, 1, 5)).toBe('src/x.ts:1:1');
    expect(originOf({ sources: ['../lib/x.ts'], mappings: 'AAAA' }, 1, 5)).toBeNull();
    expect(originOf({ sources: ['../src/x.ts'], mappings: 'AAAA' }, 2, 1)).toBeNull();
    expect(originOf({ sources: [], mappings: '' }, 1, 1)).toBeNull();
  });
});

/** The frames of our own code; each must name a line of a source. */
function ownFrames(stack: string): string[] {
  expect(stack).not.toContain(BUILT);
  const frames = [...stack.matchAll(/\b(src\/[\w/-]+\.ts):(\d+):\d+/g)];
  for (const [, path = '', line] of frames) {
    const text = readFileSync(ROOT + path, 'utf8').split('\n')[Number(line) - 1];
    expect(text?.trim(), `${path}:${line}`).toBeTruthy();
  }
  return frames.map(([, path = '']) => path);
}

describe('an error of the built program names files of src/', () => {
  test('a thread that evaluates runs, as the server starts it', async () => {
    const pool = new Piscina({
      filename: `${BUILT}pool/worker.js`,
      maxThreads: 1,
      workerData: { settings: { rules: [null], tables: null } },
    });
    try {
      const error = await pool.run({}, { name: 'evaluate' }).then(
        () => expect.unreachable('rules are missing'),
        (thrown: unknown) => thrown as Error,
      );
      const frames = ownFrames(error.stack ?? '');
      expect(frames[0]).toMatch(/^src\/engine\//);
      expect(frames.at(-1)).toBe('src/pool/worker.ts');
    } finally {
      await pool.destroy();
    }
  });

  test.each(['ingest/decode-process', 'relay/decode-process'])('%s', async (name) => {
    const child: ChildProcess = fork(`${BUILT}${name}.js`, {
      serialization: 'advanced',
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.send('no part of a message');
    const [{ exception }] = (await once(child, 'message')) as [{ exception: Error }];
    await once(child, 'exit');
    expect(ownFrames(exception.stack ?? '')).toContain('src/limited-process/messages.ts');
  });

  test('the process that prepares the catalogue', async () => {
    const child = fork(`${BUILT}pool/catalog-process.js`, {
      serialization: 'advanced',
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.send({ keepIn: ROOT, manifestPath: `${ROOT}missing.json` });
    const [{ error }] = (await once(child, 'message')) as [{ error: Error }];
    await once(child, 'exit');
    expect(ownFrames(error.stack ?? '').at(-1)).toBe('src/pool/catalog-process.ts');
  });
});

describe('dist/main.js takes no arguments', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [`${BUILT}main.js`, ...args], { encoding: 'utf8' });

  test.each([[['--help']], [['-h']]])('%j shows its usage', (args) => {
    const { status, stdout, stderr } = run(...args);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: npm start/);
  });

  test.each([
    [['--port=1'], '"--port=1"'],
    [['serve'], '"serve"'],
    [['--help', 'x'], '"x"'],
    [[''], '""'],
    [['--version'], '"--version"'],
  ])('%j is unknown', (args, named) => {
    const { status, stdout, stderr } = run(...args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`sluice: unknown argument ${named}\n\nUsage: npm start`);
  });
});
