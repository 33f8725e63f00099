/** JSON lines for tests of packed texts, and how they are split. */
import fc from 'fast-check';

import { putRepeatsBack } from '../../../src/model/packed/document-stream.ts';
import { Holes, joinText, type SplitText } from '../../../src/model/packed/narrow-text.ts';
import { type SplitLines, TextSplitter } from '../../../src/reads/text-splitter.ts';

/** Parts of strings, with escapes, U+0000 and lone surrogates. */
export const parts = fc.array(
  fc.constantFrom(
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
    'a word ',
  ),
  { maxLength: 12 },
);
/** Some are long, and repeat themselves. */
const string = fc
  .tuple(parts, fc.constantFrom(1, 1, 7, 40))
  .map(([some, times]) => some.join('').repeat(times));
const other = fc.constantFrom('0', '-1.50e+300', '9'.repeat(100), 'true', 'null', '[]', '{}');
const space = fc.constantFrom('', '', ' ', '\t ');

const key = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(text, fc.constantFrom('"attributes"', '"body"'));

const { json } = fc.letrec<{ json: string; list: string; object: string; text: string }>((tie) => ({
  json: fc.oneof({ depthSize: 'small' }, tie('text'), other, tie('list'), tie('object')),
  text: fc.oneof(
    string.map((value) => JSON.stringify(value)),
    string.map((value) => JSON.stringify(value).replaceAll('a', '\\u0061')),
  ),
  list: fc
    .tuple(fc.array(tie('json'), { maxLength: 4 }), space)
    .map(([values, gap]) => `[${values.join(`${gap},`)}${gap}]`),
  object: fc
    .tuple(fc.array(fc.tuple(key(tie('text')), tie('json')), { maxLength: 4 }), space)
    .map(([members, gap]) => {
      const all = members.map(([key, value]) => `${key}${gap}:${gap}${value}`);
      return `{${gap}${all.join(`,${gap}`)}}`;
    }),
}));

/** JSON texts with white space between tokens, each with a line feed at its end. */
export const jsonLines = fc
  .array(json, { maxLength: 6 })
  .map((lines) => Buffer.from(lines.map((line) => `${line}\n`).join('')));

/** Joins the parts of a text. */
export function joined({ bytes, narrow, attributes, ...documents }: SplitText): Buffer {
  const left = bytes - narrow.text.length - attributes.text.length;
  return joinText({
    bytes,
    narrow: narrow.text,
    holes: new Holes(narrow),
    attributes,
    documents: putRepeatsBack(documents, left),
  });
}

const shared = new TextSplitter();

/** Splits a text, given line by line. */
export function split(text: Buffer, splitter = shared): SplitLines {
  splitter.begin(text.length);
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at) + 1 || text.length;
    splitter.put(text.subarray(at, end - 1));
    splitter.putByte(text[end - 1] as number);
    at = end;
  }
  return splitter.end();
}
