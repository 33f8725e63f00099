/** Files of OTLP/JSON: documents, lines, compressed, and what is none. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';

import { type ReplayBody, readBodies, signalOf } from '../../../src/cli/replay/replay-input.ts';

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
  ['gzip', (text: string): string | Buffer => gzipSync(text)],
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
  [gzipSync(SPANS).subarray(0, 25), 'unexpected end of file'],
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
