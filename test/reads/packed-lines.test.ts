/** Records of runs come back from packed lines as they were, in their order, with the heads that enclose them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type BlockRecord, recordsOf } from '../../src/otlp/lines/block-records.ts';
import { LINE_BYTES_MAX } from '../../src/otlp/lines/lines.ts';
import type { Frame } from '../../src/otlp/lines/record-finder.ts';
import { toEnd } from '../../src/otlp/pieces.ts';
import { PACKED_BYTES_MAX, packLines } from '../../src/reads/packed-lines.ts';
import { joined } from '../model/packed/json-lines.ts';

const ALL = [0, Number.MAX_SAFE_INTEGER];

const read = (text: Buffer): readonly BlockRecord[] => toEnd(recordsOf('traces', text, ALL));

/** A record with all that encloses it. */
function contentOf({ bytes, frame }: Pick<BlockRecord, 'bytes' | 'frame'>): string[] {
  const heads: string[] = [bytes.toString()];
  for (let at: Frame | null = frame; at !== null; at = at.parent) {
    heads.push(at.head.toString(), at.tail);
  }
  return heads;
}

/** Packs runs and reads them again, by the records of their blocks. */
function packedAndRead(runs: readonly (readonly BlockRecord[])[]) {
  const blocks = toEnd(packLines(runs)).map((block) => ({ ...block, text: joined(block.text) }));
  const found = runs.map((): BlockRecord[] => []);
  for (const { text, records, runs: packed } of blocks) {
    const own = read(text);
    expect(own).toHaveLength(records);
    for (const { run, from, start, end } of packed) {
      expect(found[run]).toHaveLength(from);
      found[run]?.push(...own.slice(start, end));
    }
    expect(packed.at(-1)?.end).toBe(records);
    for (const line of text.toString().trimEnd().split('\n')) JSON.parse(line);
  }
  return { blocks, found };
}

const span = (name: string): string => `{"name":${JSON.stringify(name)},"n":1.50}`;

/** A line with one span in each of its scopes. */
function lineOf(extra: string, resource: string, scopes: readonly string[]): string {
  const list = scopes.map((scope) => `{"scope":{"name":"${scope}"},"spans":[${span(scope)}]}`);
  return `{${extra}"resourceSpans":[{"resource":{"x":"${resource}"},"scopeSpans":[${list}],"schemaUrl":""}]}\n`;
}

describe('runs', () => {
  test('of any heads in any order', () => {
    const few = fc.constantFrom('a', 'b', 'ä\\u0000');
    const line = fc
      .tuple(fc.constantFrom('', '"own":[1],'), few, fc.array(few, { minLength: 1, maxLength: 4 }))
      .map((of) => lineOf(...of));
    const runs = fc.array(fc.array(line, { maxLength: 5 }), { maxLength: 4 });
    fc.assert(
      fc.property(runs, (texts) => {
        const records = texts.map((lines) => read(Buffer.from(lines.join(''))));
        const { found } = packedAndRead(records);
        expect(found.map((run) => run.map(contentOf))).toEqual(
          records.map((run) => run.map(contentOf)),
        );
      }),
    );
  });

  test('records with equal heads share a line, whichever request they came from', () => {
    const records = read(Buffer.from(lineOf('', 'r', ['s']).repeat(3)));
    const [block] = packedAndRead([records]).blocks;
    expect(block?.text.toString()).toBe(
      '{"resourceSpans":[{"resource":{"x":"r"},"schemaUrl":"","scopeSpans":[{"scope":{"name":"s"},' +
        `"spans":[${[span('s'), span('s'), span('s')]}]}]}]}\n`,
    );
  });

  test('each begins a line', () => {
    const records = read(Buffer.from(lineOf('', 'r', ['s'])));
    const { blocks } = packedAndRead([records, [], records]);
    expect(blocks).toHaveLength(1);
    expect(blocks[0]?.text.toString().trimEnd().split('\n')).toHaveLength(2);
    expect(blocks[0]?.runs.map(({ run }) => run)).toEqual([0, 2]);
  });

  test('no records are no block', () => {
    expect(toEnd(packLines([]))).toEqual([]);
    expect(toEnd(packLines([[], []]))).toEqual([]);
  });
});

/** A run of records with so many bytes that do not repeat. */
function unlike(seed: number, ...sizes: readonly number[]): readonly BlockRecord[] {
  let state = seed;
  const word = (): string => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    return `"${(state >>> 0).toString(16)}"`;
  };
  return sized(...sizes).map((record, index) => {
    const words: string[] = [];
    for (let bytes = 0; bytes < (sizes[index] ?? 0); bytes += words.at(-1)?.length ?? 0) {
      words.push(word());
    }
    return { ...record, bytes: Buffer.from(`[${words.join()}]`) };
  });
}

/** A run of records of so many bytes. */
function sized(...sizes: readonly number[]): readonly BlockRecord[] {
  const frame = read(Buffer.from(lineOf('', 'r', ['s'])))[0]?.frame;
  if (frame === undefined) throw new Error('no record');
  return sizes.map((size, ordinal) => {
    const bytes = Buffer.alloc(size, 'x');
    bytes.write('{"attributes":["');
    bytes.write('"]}', size - 3);
    return { ordinal, bytes, frame, origin: { resource: {}, scope: {}, head: frame.head } };
  });
}

describe('sizes', () => {
  const kib = (...sizes: readonly number[]): number[] => sizes.map((size) => size * 1024);

  const half = PACKED_BYTES_MAX / 2;

  test('a run that fits a block is not parted; a larger one has several', () => {
    const runs = [sized(half, half - 1000), sized(half, half - 1000), sized(half, half, half)];
    const { blocks, found } = packedAndRead(runs);
    expect(found.map((run) => run.map(({ bytes }) => bytes.length))).toEqual(
      runs.map((run) => run.map(({ bytes }) => bytes.length)),
    );
    expect(blocks.map(({ runs: packed }) => packed.map(({ run, from }) => [run, from]))).toEqual([
      [[0, 0]],
      [[1, 0]],
      [[2, 0]],
      [[2, 1]],
      [[2, 2]],
    ]);
    for (const { text } of blocks) expect(text.length).toBeLessThan(PACKED_BYTES_MAX + 1000);
  });

  test('a record larger than a block is alone in one', () => {
    const { blocks } = packedAndRead([sized(100), sized(2 * PACKED_BYTES_MAX), sized(100)]);
    expect(blocks.map(({ records }) => records)).toEqual([1, 1, 1]);
  });

  test('a line ends before it is longer than the limit', () => {
    const size = LINE_BYTES_MAX / 4;
    const { blocks } = packedAndRead([sized(...Array.from({ length: 9 }, () => size))]);
    const lines = blocks[0]?.text.toString().trimEnd().split('\n') ?? [];
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line.length).toBeLessThan(LINE_BYTES_MAX);
  });

  test('no run begins in a block whose parts are long', () => {
    const runs = [1, 2, 3, 4].map((seed) => unlike(seed, ...kib(100, 200)));
    const { blocks } = packedAndRead(runs);
    expect(blocks.map(({ runs: packed }) => packed.map(({ run }) => run))).toEqual([
      [0, 1, 2],
      [3],
    ]);
  });

  test('a run continues in another block when the parts are longer', () => {
    const { blocks, found } = packedAndRead([unlike(1, ...kib(450, 450, 300, 10))]);
    expect(blocks.map(({ records }) => records)).toEqual([3, 1]);
    expect(found[0]).toHaveLength(4);
  });

  test('what repeats does not count', () => {
    const record = unlike(1, ...kib(300));
    const text = Buffer.from(JSON.stringify({ attributes: [record[0]?.bytes.toString()] }));
    const runs = Array.from({ length: 5 }, () => record.map((one) => ({ ...one, bytes: text })));
    expect(packedAndRead(runs).blocks).toHaveLength(1);
  });
});
