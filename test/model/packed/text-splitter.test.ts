/** A text that is split and joined is the same, byte for byte. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { DOCUMENT_BYTES_MIN } from '../../../src/model/packed/assembly/codes.ts';
import { putRepeatsBack } from '../../../src/model/packed/document-stream.ts';
import { Holes, type SplitText } from '../../../src/model/packed/narrow-text.ts';
import { TextSplitter } from '../../../src/reads/text-splitter.ts';
import { joined, jsonLines, split } from './json-lines.ts';

/** The lines of a text as values, without attributes and bodies. */
function parsedLines(text: Buffer): unknown {
  return text
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((line) =>
      JSON.parse(line, (key, value: unknown) => {
        if (key === 'attributes' && Array.isArray(value)) return [];
        if (key === 'body' && typeof value === 'object' && value !== null && !Array.isArray(value))
          return {};
        return value;
      }),
    );
}

describe('a text', () => {
  test('comes back, and the narrow text is JSON without attributes and bodies', () => {
    const splitter = new TextSplitter();
    fc.assert(
      fc.property(jsonLines, (text) => {
        const parts = split(text, splitter);
        expect(parts.bytes).toBe(text.length);
        expect(joined(parts)).toEqual(text);
        expect(parsedLines(parts.narrow.text)).toEqual(parsedLines(text));
      }),
    );
  });

  test('has what a splitter made of texts before it neither in nor out', () => {
    const [one, other] = ['question '.repeat(40), 'answer '.repeat(40)].map((text) =>
      Buffer.from(`{"attributes":["${text}"]}\n`),
    ) as [Buffer, Buffer];
    const splitter = new TextSplitter();
    for (const text of [one, other, one]) {
      expect(split(text, splitter)).toEqual(split(text, new TextSplitter()));
      expect(joined(split(text, splitter))).toEqual(text);
    }
  });

  test('keeps strings below the limit, and keys', () => {
    const [short, long] = [DOCUMENT_BYTES_MIN - 1, DOCUMENT_BYTES_MIN].map((length) =>
      'x'.repeat(length),
    );
    const ends = [`{"${long}" : "${short}","a":["`, `"],"${long}":1}`];
    const text = `{"attributes":[${ends.join(long)}],"name":"${long}"}\n`;
    const parts = split(Buffer.from(text));
    expect(parts.attributes.text.toString()).toBe(ends.join(''));
    expect(parts.narrow.text.toString()).toBe(`{"attributes":[],"name":"${long}"}\n`);
    expect(joined(parts).toString()).toBe(text);
  });

  test.each(['"', '\\"', '\\\\'])('has %s where the limit is', (escaped) => {
    for (let before = DOCUMENT_BYTES_MIN - 4; before < DOCUMENT_BYTES_MIN + 4; before += 1) {
      const text = Buffer.from(`{"body":{"${'x'.repeat(before)}${escaped}":"y"}}\n`);
      expect(joined(split(text))).toEqual(text);
    }
  });

  test('may be longer than expected', () => {
    const text = Buffer.from(`{"attributes":["${'0123456789'.repeat(10_000)}"]}\n`);
    const splitter = new TextSplitter();
    splitter.begin(10);
    splitter.put(text);
    expect(joined(splitter.end()).equals(text)).toBe(true);
  });

  test('may come several times from the same memory', () => {
    const text = Buffer.from(`{"attributes":["${'0123456789'.repeat(1000)}"]}`);
    const splitter = new TextSplitter();
    splitter.begin(10);
    for (let time = 0; time < 20; time += 1) splitter.put(text);
    expect(joined(splitter.end()).equals(Buffer.concat(Array(20).fill(text)))).toBe(true);
  });

  test('with a long string that does not end is refused', () => {
    const splitter = new TextSplitter();
    for (const text of ['{"attributes":["', '{"body":{"']) {
      splitter.begin(10);
      const put = (): void => splitter.put(Buffer.from(`${text}${'x'.repeat(100)}`));
      expect(put).toThrow(RangeError);
    }
  });
});

describe('attributes', () => {
  const long = 'x'.repeat(70);

  test.each([
    ['{"attributes":[{"a":[1]}],"b":2}', '{"attributes":[],"b":2}', '{"a":[1]}'],
    ['{"attributes" : [ "]" ] }', '{"attributes" : [] }', ' "]" '],
    [`{"attributes":["${long}"]}`, '{"attributes":[]}', '""'],
    [`["attributes","${long}"]`, `["attributes","${long}"]`, ''],
    ['{"body":{"a":{}},"b":2}', '{"body":{},"b":2}', '"a":{}'],
    ['{"body":["}"]}', '{"body":["}"]}', ''],
    ['{"body":{"attributes":[1]}}', '{"body":{}}', '"attributes":[1]'],
    ['{"attributes":[],"x":[1]}', '{"attributes":[],"x":[1]}', ''],
    ['{"attributes":null,"x":["attributes"]}', '{"attributes":null,"x":["attributes"]}', ''],
    ['{"attributes":{"attributes":[1]}}', '{"attributes":{"attributes":[]}}', '1'],
    ['{"attributes":[{"attributes":[1]}]}', '{"attributes":[]}', '{"attributes":[1]}'],
  ])('of %s are taken out', (text, narrow, attributes) => {
    const parts = split(Buffer.from(`${text}\n`));
    expect(parts.narrow.text.toString()).toBe(`${narrow}\n`);
    expect(parts.attributes.text.toString()).toBe(attributes);
    expect(joined(parts).toString()).toBe(`${text}\n`);
  });

  test('may end with the text', () => {
    const splitter = new TextSplitter();
    for (const text of [
      '{"attributes',
      '{"attributes"',
      '{"attributes":',
      '{"attributes":[',
      '{"attributes":[1,"a"',
    ]) {
      splitter.begin(0);
      splitter.put(Buffer.from(text));
      expect(joined(splitter.end()).toString()).toBe(text);
    }
  });
});

test('holes say how many bytes of a record were taken out', () => {
  const values = [70, 80].map((length) => `{"attributes":["${'x'.repeat(length)}"]}`);
  const { narrow } = split(Buffer.from(`[${values.join()},{"body":{"a":1}}]\n`));
  const [one, two, three] = ['{"attributes":[]}', '{"attributes":[]}', '{"body":{}}'];
  expect(narrow.text.toString()).toBe(`[${one},${two},${three}]\n`);
  const holes = new Holes(narrow);
  expect(holes.bytesIn(0, narrow.text.length)).toBe(72 + 82 + 5);
  expect(holes.bytesIn(19, 19 + two.length)).toBe(82);
  expect(holes.bytesIn(37, 37 + three.length)).toBe(5);
  expect(holes.bytesIn(narrow.text.length, narrow.text.length)).toBe(0);
});

describe('repeats', () => {
  const documentsOf = (texts: readonly string[]): SplitText =>
    split(Buffer.from(`{"attributes":${JSON.stringify(texts)}}\n`));
  const noise = Array.from({ length: 2000 }, (_, at) =>
    String.fromCharCode(97 + ((Math.imul(at + 1, 0x9e3779b1) >>> 24) % 26)),
  ).join('');

  test('of documents are stored once, whether they are one string or several', () => {
    const [one, two, three] = [noise.slice(0, 500), noise.slice(500, 900), noise.slice(900)];
    const apart = [one, one, two, one, two, three, one, two, three] as string[];
    for (const texts of [apart, [noise, noise, noise.slice(300)], [noise, `${noise}${noise}`]]) {
      const parts = documentsOf(texts);
      expect(parts.literals.length).toBeLessThanOrEqual(noise.length + 40);
      expect(parts.repeats.length).toBeLessThan(40);
      expect(joined(parts).toString()).toBe(`{"attributes":${JSON.stringify(texts)}}\n`);
    }
  });

  test('end before half an escape', () => {
    const beginning = noise.slice(0, 100);
    const texts = ['\n', '"', '\\', '\t'].map((end) => `${beginning}${end}${noise.slice(0, 64)}`);
    expect(joined(documentsOf(texts)).toString()).toBe(`{"attributes":${JSON.stringify(texts)}}\n`);
  });

  test('may overlap', () => {
    const parts = documentsOf(['a'.repeat(10_000)]);
    expect(parts.literals.length).toBeLessThan(200);
    expect(joined(parts).toString()).toBe(`{"attributes":["${'a'.repeat(10_000)}"]}\n`);
  });

  test('of any pieces come back', () => {
    const piece = fc
      .tuple(fc.nat({ max: 1900 }), fc.nat({ max: 200 }))
      .map(([from, bytes]) => noise.slice(from, from + bytes));
    const text = fc
      .array(fc.oneof(piece, fc.string({ unit: 'binary' })))
      .map((all) => all.join(''));
    fc.assert(
      fc.property(fc.array(text), (texts) => {
        expect(joined(documentsOf(texts)).toString()).toBe(
          `{"attributes":${JSON.stringify(texts)}}\n`,
        );
      }),
    );
  });

  test('that are damaged never make more than the declared bytes', () => {
    fc.assert(
      fc.property(
        fc.uint8Array(),
        fc.uint8Array(),
        fc.nat({ max: 1000 }),
        (literals, numbers, bytes) => {
          const stored = { literals: Buffer.from(literals), repeats: Buffer.from(numbers) };
          try {
            expect(putRepeatsBack(stored, bytes)).toHaveLength(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError);
          }
        },
      ),
    );
  });
});
