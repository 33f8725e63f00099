/** Packed blocks give back the text, byte for byte, or say that they are damaged. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checksumOf, UnreadableBlockError } from '../../../../src/db/telemetry/block-codec.ts';
import { BROTLI, CODECS } from '../../../../src/db/telemetry/codecs.ts';
import { DOCUMENT_BYTES_MIN, splitText } from '../../../../src/db/telemetry/packed/documents.ts';
import {
  compressPacked,
  readNarrow,
  readPacked,
} from '../../../../src/db/telemetry/packed/packed-block.ts';
import { putRepeatsBack, takeRepeatsOut } from '../../../../src/db/telemetry/packed/repeats.ts';

const ID = '018f0000000070008000000000000000';

/** Strings as JSON may have them: short and long, with escapes, U+0000 and lone surrogates. */
const part = fc.constantFrom(
  'a',
  'é',
  '\u{1f600}',
  '"',
  '\\',
  '\\"',
  '\n',
  '\u0000',
  '\ud800',
  ':',
);
const string = fc
  .tuple(fc.array(part, { maxLength: 12 }), fc.constantFrom(1, 1, 7, 40))
  .map(([parts, times]) => parts.join('').repeat(times));
const number = fc.constantFrom('0', '-1.50e+300', `${'9'.repeat(100)}`, 'true', 'null', '[]', '{}');
const space = fc.constantFrom('', '', ' ', '\t ');

/** JSON texts, with white space between tokens. */
const { json } = fc.letrec<{ json: string; list: string; object: string; text: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('text'),
    number,
    tie('list'),
    tie('object'),
  ),
  text: fc.oneof(
    string.map((value) => JSON.stringify(value)),
    string.map((value) => JSON.stringify(value).replaceAll('a', '\\u0061')),
  ),
  list: fc
    .tuple(fc.array(tie('json'), { maxLength: 4 }), space)
    .map(([values, gap]) => `[${values.join(`${gap},`)}${gap}]`),
  object: fc
    .tuple(fc.array(fc.tuple(tie('text'), tie('json')), { maxLength: 4 }), space)
    .map(
      ([members, gap]) =>
        `{${gap}${members.map(([key, value]) => `${key}${gap}:${gap}${value}`).join(',')}}`,
    ),
}));
const lines = fc
  .array(json, { maxLength: 5 })
  .map((all) => Buffer.from(all.map((line) => `${line}\n`).join('')));

/** A JSON value without long strings. */
function emptied(value: unknown): unknown {
  if (typeof value === 'string') return value.length < 8 ? value : '';
  if (Array.isArray(value)) return value.map(emptied);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value).map(([key, member]) => [key, emptied(member)]);
}

describe('a packed block', () => {
  test('gives back any text', async () => {
    await fc.assert(
      fc.asyncProperty(lines, async (text) => {
        const block = { id: ID, ...(await compressPacked(text)) };
        expect(await readPacked(block)).toEqual(text);
        const { text: narrow, holes } = await readNarrow(block);
        expect(narrow.length + holes.bytes).toBe(text.length);
        const [all, short] = [text, narrow].map((of) =>
          of
            .toString()
            .split('\n')
            .slice(0, -1)
            .map((line) => emptied(JSON.parse(line))),
        );
        expect(short).toEqual(all);
      }),
    );
  });

  test('gives back bytes that are not JSON', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), fc.array(part), async (bytes, parts) => {
        const text = Buffer.concat([bytes, Buffer.from(parts.join('').repeat(20))]);
        expect(await readPacked({ id: ID, ...(await compressPacked(text)) })).toEqual(text);
      }),
    );
  });

  test('keeps strings below the limit, and keys', () => {
    const [short, long] = [DOCUMENT_BYTES_MIN - 1, DOCUMENT_BYTES_MIN].map((length) =>
      'x'.repeat(length),
    );
    const text = `{"${long}" : "${short}","a":["${long}"]}\n`;
    const { narrow, documents } = splitText(Buffer.from(text));
    expect(narrow.toString()).toBe(`{"${long}" : "${short}","a":[""]}\n`);
    expect(documents.toString()).toBe(long);
  });

  test('tells how long the documents of a record are', async () => {
    const values = [70, 80, 90].map((length) => `"${'x'.repeat(length)}"`);
    const text = Buffer.from(`[${values.join()}]\n`);
    const { text: narrow, holes } = await readNarrow({ id: ID, ...(await compressPacked(text)) });
    expect(narrow.toString()).toBe('["","",""]\n');
    expect(holes.bytesIn(0, narrow.length)).toBe(240);
    expect(holes.bytesIn(3, 6)).toBe(80);
    expect(holes.bytesIn(narrow.length, narrow.length)).toBe(0);
  });
});

describe('a damaged block', () => {
  const text = Buffer.from(
    Array.from(
      { length: 20 },
      (_, index) => `{"a":"${'question '.repeat(10 + index)}","b":${index}}\n`,
    ).join(''),
  );

  test('any changed byte is noticed', async () => {
    const block = await compressPacked(text);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('narrow', 'documents'),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (name, at, change) => {
          const data = Buffer.from(block[name].data);
          const index = at % data.length;
          data[index] = (data[index] as number) ^ change;
          const damaged = { ...block, id: ID, [name]: { ...block[name], data } };
          await expect(readPacked(damaged)).rejects.toThrow(UnreadableBlockError);
        },
      ),
    );
  });

  test('whatever the parts hold, the answer has the right length or an error is thrown', async () => {
    const { pack } = CODECS.get(BROTLI) ?? {};
    if (pack === undefined) throw new Error('no brotli');
    const partOf = async (bytes: Uint8Array) => {
      const data = await pack(Buffer.from(bytes));
      return { bytes: bytes.length, checksum: checksumOf(data), data };
    };
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array(),
        fc.uint8Array(),
        fc.nat({ max: 300 }),
        async (narrow, documents, bytes) => {
          const block = {
            id: ID,
            codec: BROTLI,
            bytes,
            narrow: await partOf(narrow),
            documents: await partOf(documents),
          };
          const read = await readPacked(block).catch((error: unknown) => error);
          if (read instanceof Buffer) expect(read).toHaveLength(bytes);
          else expect(read).toBeInstanceOf(UnreadableBlockError);
        },
      ),
    );
  });

  test('parts of two blocks do not fit', async () => {
    const [one, other] = await Promise.all([
      compressPacked(text),
      compressPacked(text.subarray(text.indexOf('\n') + 1)),
    ]);
    const mixed = { ...one, id: ID, documents: other.documents };
    await expect(readPacked(mixed)).rejects.toThrow(UnreadableBlockError);
  });

  test('a text with another length is an error', async () => {
    const block = await compressPacked(text);
    await expect(readPacked({ ...block, id: ID, bytes: block.bytes + 1 })).rejects.toThrow(
      UnreadableBlockError,
    );
  });
});

describe('repeats', () => {
  const repeated = fc
    .array(fc.tuple(fc.nat({ max: 6 }), fc.nat({ max: 5000 }), fc.nat({ max: 200 })), {
      maxLength: 30,
    })
    .map((pieces) => {
      const source = Array.from({ length: 7 }, (_, seed) =>
        Buffer.from(
          Array.from(
            { length: 5200 },
            (_, at) => (Math.imul(at * 7 + seed, 0x9e3779b1) >>> 24) % (seed + 2),
          ),
        ),
      );
      return Buffer.concat(
        pieces.map(([seed, from, length]) =>
          (source[seed] as Buffer).subarray(from, from + length),
        ),
      );
    });

  test('come back as they were', () => {
    fc.assert(
      fc.property(repeated, (text) => {
        expect(putRepeatsBack(takeRepeatsOut(text), text.length)).toEqual(text);
      }),
    );
  });

  test('are stored once', () => {
    const text = Buffer.from(
      Array.from({ length: 999 }, (_, at) => Math.imul(at, 0x9e3779b1) >>> 24),
    );
    const { literals, repeats } = takeRepeatsOut(Buffer.concat([text, text, text]));
    expect(literals).toEqual(text);
    expect(repeats.length).toBeLessThan(10);
  });

  test('a run of one byte is one repeat', () => {
    const { literals } = takeRepeatsOut(Buffer.alloc(10_000, 'a'));
    expect(literals.length).toBeLessThan(64);
  });

  test('whatever they name, no more than the declared bytes are made', () => {
    fc.assert(
      fc.property(
        fc.uint8Array(),
        fc.uint8Array(),
        fc.nat({ max: 1000 }),
        (literals, repeats, bytes) => {
          const read = (): Buffer =>
            putRepeatsBack(
              { literals: Buffer.from(literals), repeats: Buffer.from(repeats) },
              bytes,
            );
          try {
            expect(read()).toHaveLength(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError);
          }
        },
      ),
    );
  });
});
