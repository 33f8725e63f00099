/** Files of OTLP/JSON: documents, lines, compressed, and what is none. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import { afterAll, expect, test } from 'vitest';

import {
  listReplayFiles,
  type ReplayBody,
  readBodies,
  signalOf,
} from '../../../src/cli/replay/replay-input.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-replay-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function bodiesIn(content: string | Buffer): Promise<Omit<ReplayBody, never>[]> {
  const file = join(folder, 'file');
  writeFileSync(file, content);
  const bodies: ReplayBody[] = [];
  for await (const { place, ...body } of readBodies(file)) {
    bodies.push({ ...body, place: place.slice(file.length) });
  }
  return bodies;
}

const SPANS = '{"resourceSpans":[]}';
const LOGS = '{ "resourceLogs" : [] }';
const METRICS = '{"resourceMetrics":[{"a":"ü"}]}';

test.each([
  ['plain', (text: string): string | Buffer => text],
  ['gzip', (text: string): string | Buffer => zlib.gzipSync(text)],
])('one body per line, %s', async (_, pack) => {
  expect(await bodiesIn(pack(`${SPANS}\n\n${LOGS}\r\n${METRICS}`))).toEqual([
    { signal: 'traces', text: SPANS, place: ':1' },
    { signal: 'logs', text: `${LOGS}\r`, place: ':3' },
    { signal: 'metrics', text: METRICS, place: ':4' },
  ]);
});

test('a document over several lines is one body', async () => {
  const text = JSON.stringify({ resourceSpans: [{ scopeSpans: [] }] }, null, 2);
  expect(await bodiesIn(`${text}\n`)).toEqual([{ signal: 'traces', text, place: '' }]);
});

test('lines longer than a piece that is read at a time', async () => {
  const long = JSON.stringify({ resourceLogs: [{ body: 'ä'.repeat(300_000) }] });
  expect((await bodiesIn(`${long}\n${SPANS}\n`)).map(({ text }) => text)).toEqual([long, SPANS]);
});

test.each([
  ['hello', 'is no OTLP/JSON'],
  [`${SPANS}\nhello`, ':2 is no OTLP/JSON'],
  ['{"spans":[]}', 'must be an object that begins with resourceSpans'],
  [zlib.gzipSync(SPANS).subarray(0, 25), 'unexpected end of file'],
])('%s is refused', async (content, why) => {
  await expect(bodiesIn(content)).rejects.toThrow(why);
});

test('a file that is not there', async () => {
  await expect(readBodies(join(folder, 'none')).next()).rejects.toThrow(/ENOENT/);
});

test('an empty file has no body', async () => {
  expect(await bodiesIn('')).toEqual([]);
});

test.each([
  [SPANS, 'traces'],
  [LOGS, 'logs'],
  [METRICS, 'metrics'],
  ['[]', null],
])('%s is of %s', (text, signal) => {
  expect(signalOf(text)).toBe(signal);
});

test('pieces that were compressed one by one are one file', async () => {
  const pieces = [`${SPANS}\n`, `${LOGS}\n`].map((text) => zlib.gzipSync(text));
  expect((await bodiesIn(Buffer.concat(pieces))).map(({ text }) => text)).toEqual([SPANS, LOGS]);
});

test('zstd, where Node.js has it; elsewhere the advice names the version', async () => {
  // `zstd` of "{"resourceSpans":[]}\n", twice.
  const frame = Buffer.from('KLUv/QRYqQAAeyJyZXNvdXJjZVNwYW5zIjpbXX0KqAAxqQ==', 'base64');
  const reading = bodiesIn(Buffer.concat([frame, frame]));
  if ('createZstdDecompress' in zlib) {
    expect((await reading).map(({ text }) => text)).toEqual([SPANS, SPANS]);
  } else await expect(reading).rejects.toThrow('use Node.js 22.15 or newer');
});

test('a folder has its files in the order of their hours, of all signals', () => {
  const archive = join(folder, 'archive');
  const names = [
    'logs/2026-11-20T12.jsonl.gz',
    'logs/2026-11-20T13.jsonl.gz',
    'traces/2026-11-20T12.jsonl.gz',
  ];
  for (const name of ['traces', 'logs']) mkdirSync(join(archive, name), { recursive: true });
  for (const name of [...names, 'export-state.json', 'logs/notes.txt']) {
    writeFileSync(join(archive, name), '');
  }
  const [first, second, third] = names.map((name) => join(archive, name));
  expect(listReplayFiles(['-', archive, 'x'])).toEqual(['-', first, third, second, 'x']);
  mkdirSync(join(folder, 'empty'));
  expect(() => listReplayFiles([join(folder, 'empty')])).toThrow('has no files');
});
