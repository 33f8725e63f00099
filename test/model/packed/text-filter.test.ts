import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createFilter, hashesOf } from '../../../src/model/packed/text-filter.ts';
import { TextSplitter } from '../../../src/reads/text-splitter.ts';
import { casesOf } from '../../support/cases.ts';

/** Checks, as the database does, whether a text with these hashes may be where the filter was made. */
function mayContain(filter: Buffer, hashes: readonly number[]): boolean {
  return hashes.every((hash) => {
    const bit = hash % (8 * filter.length);
    return ((filter[bit >>> 3] as number) & (1 << (bit & 7))) !== 0;
  });
}

/** Writes all or some characters as escapes, but for those that may be part of an escape. */
function escapeAll(json: string, every: number): string {
  let number = 0;
  return json.replace(/(\\.)|[^\\]/gsu, (one, known: string | undefined) => {
    number += 1;
    if (known !== undefined || number % every !== 0 || /["{}[\]:,\\0-9a-z]/.test(one)) return one;
    return Array.from(
      { length: one.length },
      (_, at) => `\\u${one.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join('');
  });
}

const splitter = new TextSplitter();
const filterOf = (text: string): Buffer => {
  splitter.begin(text.length);
  splitter.put(Buffer.from(text));
  // Large enough that no bit is set by chance.
  return createFilter(splitter.end().hashes, 22 * 64 * 1024);
};

const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      '"',
      '\\',
      '/',
      '\n',
      '\t',
      'u',
      'n',
      '0',
      '5',
      'c',
      'é',
      '日',
      '😀',
      'A',
      'a',
      '.',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
  minLength: 1,
  maxLength: 40,
});
const cut = fc.tuple(fc.nat(), fc.nat());

/** Part of a text, between characters. */
function partOf(whole: string, [from, length]: [number, number]): string {
  const characters = [...whole];
  const start = from % characters.length;
  return characters.slice(start, start + 1 + (length % characters.length)).join('');
}

it('finds every part of a text behind one to three levels of JSON, however it is escaped', () => {
  fc.assert(
    fc.property(
      text,
      fc.integer({ min: 0, max: 2 }),
      fc.integer({ min: 1, max: 4 }),
      cut,
      fc.boolean(),
      (whole, levels, every, range, slashes) => {
        let shown = whole;
        const views = [whole];
        for (let level = 0; level < levels; level += 1) {
          shown = JSON.stringify(level % 2 === 0 ? [shown] : { text: shown });
          if (slashes) shown = shown.replaceAll('/', '\\/');
          if (level === 1) shown = escapeAll(shown, every);
          views.push(shown);
        }
        const stored = escapeAll(JSON.stringify(shown), every);
        // The text is a name, an attribute, a document.
        const forms = [
          stored,
          `{"attributes":[${stored}]}`,
          `{"body":{"a":"${' '.repeat(48)}${stored.slice(1)}}}`,
        ];
        for (const form of forms) {
          const filter = filterOf(form);
          for (const view of views) {
            expect(mayContain(filter, hashesOf(partOf(view, range)))).toBe(true);
          }
        }
      },
    ),
    { numRuns: casesOf(1000) },
  );
});

it('finds every string of a packed block, also where one repeats another', () => {
  const name = fc.string({ unit: 'grapheme', maxLength: 30 });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(name, fc.string({ unit: 'grapheme', minLength: 60, maxLength: 300 })), {
        minLength: 1,
        maxLength: 4,
      }),
      cut,
      (given, range) => {
        const texts = given.flatMap(([, long], index) => [
          long,
          given
            .slice(0, index + 1)
            .map(([, one]) => one)
            .join(' '),
        ]);
        const spans = texts.map((value, index) => ({
          traceId: 'ab'.repeat(16),
          startTimeUnixNano: '1700000000000000000',
          name: given[index % given.length]?.[0] ?? '',
          attributes: [
            { key: 'prompt', value: { stringValue: value } },
            { key: 'short', value: { stringValue: value.slice(0, 20) } },
          ],
        }));
        const filter = filterOf(
          `${JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })}\n`,
        );
        for (const one of [...texts, ...given.map(([own]) => own)].filter(
          (value) => value !== '',
        )) {
          expect(mayContain(filter, hashesOf(partOf(one, range)))).toBe(true);
        }
      },
    ),
    { numRuns: casesOf(300) },
  );
});

it('A to Z count as a to z, other letters do not', () => {
  const filter = filterOf('"Evil.Example É"');
  expect(mayContain(filter, hashesOf('eviL.eXample'))).toBe(true);
  expect(mayContain(filter, hashesOf('ample É'))).toBe(true);
  expect(mayContain(filter, hashesOf('ample é'))).toBe(false);
  expect(mayContain(filter, hashesOf('elsewhere'))).toBe(false);
});

it('ids and times are not in the filter; a name that looks like one is', () => {
  const id = '0123456789abcdef0123456789abcdef';
  const time = '1712345678901234567';
  const ids = ['traceId', 'spanId', 'parentSpanId'].map((key) => `"${key}":"${id}"`);
  const times = ['endTimeUnixNano', 'UnixNano'].map((key) => `"${key}" : "${time}"`);
  const filter = filterOf(`{${[...ids, ...times].join()},"name":"plain"}`);
  expect(mayContain(filter, hashesOf(id))).toBe(false);
  expect(mayContain(filter, hashesOf(time))).toBe(false);
  expect(mayContain(filter, hashesOf('plain'))).toBe(true);
  for (const text of [`"name":"${id}"`, `"spanId":["${id}"]`, `"notSpanId":"${id}"`]) {
    expect(mayContain(filterOf(`{${text}}`), hashesOf(id))).toBe(true);
  }
});

it('a block has no groups of one before it, also if that one did not end', () => {
  const plain = filterOf('"plain"');
  splitter.begin(10);
  splitter.put(Buffer.from('"other"'));
  expect(filterOf('"plain"').equals(plain)).toBe(true);
});

it('a filter has at most a twentieth of the bytes of its block', () => {
  expect(createFilter([], 22_000)).toHaveLength(1000);
  expect(createFilter([1], 3)).toHaveLength(1);
});

it('a text without three certain bytes in a row may be anywhere', () => {
  expect(hashesOf('a"b\\c')).toEqual([]);
  expect(hashesOf('日')).toHaveLength(1);
});
