/** Lists in JSON are divided where `JSON.parse` would divide them, or not at all. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { elementsOf } from '../../../../../src/engine/surfaces/reader/messages/list-elements.ts';

const element = fc.dictionary(fc.string(), fc.jsonValue());

test('a list of objects has the elements that it was made of, however it is written', () => {
  fc.assert(
    fc.property(fc.array(element, { minLength: 1 }), fc.constantFrom(0, 2, '\t'), (list, space) => {
      const texts = elementsOf(JSON.stringify(list, null, space)) ?? [];
      expect(texts.map((text) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(list)));
    }),
  );
});

test('a text with valid elements is a valid list of them', () => {
  const token = fc.constantFrom(
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    '"',
    '\\',
    '"a"',
    '1',
    ' ',
    '\n',
    '{}',
  );
  fc.assert(
    fc.property(fc.array(token, { maxLength: 12 }), (tokens) => {
      const json = `[{"a":${tokens.join('')}`;
      const parsed = elementsOf(json)?.map(parse);
      if (parsed === undefined || parsed.includes(undefined)) return;
      expect(JSON.parse(json)).toEqual(parsed);
    }),
    { numRuns: 5000 },
  );
});

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

test.each([
  '',
  '[]',
  ' [{}]',
  '[{}] ',
  '[1]',
  '[{},]',
  '[{} {}]',
  '[{}',
  '[{"a":"}]',
  '{"a":[{}]}',
  '[[{}]]',
])('%j is not divided', (json) => {
  expect(elementsOf(json)).toBeNull();
});
