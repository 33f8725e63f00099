import { expect, it } from 'vitest';
import { BASE64_UNITS_MIN, TITLE_UNITS, titleFrom } from '../../src/engine/run-title.ts';

const said = (...texts: string[]) =>
  texts.map((text) => ({ surface: 'step_input' as const, text }));

it.each([
  '0.1.0',
  'v2.3.1-beta',
  '2026-11-26T20:00:00Z',
  'b1946ac9-2492-4d23-81f5-3f0d8c1a9e77',
  '8f2763e5c327397bc0ff29b55857b1ab',
  'conv_5j66UpCpwteGg4YSxUnt7lPY',
  'EmwKAhgBEgy3va3pzixjafWJsRUaDLFSmXB6iqyT0Q==',
  '   ',
])('%s is no title', (text) => {
  expect(titleFrom(said(text))).toBeNull();
  expect(titleFrom(said(text, 'Where is my parcel?'))).toBe('Where is my parcel?');
});

it.each([
  'hello',
  'Parcel 4471',
  '1.5 litres',
  'https://x.example/a',
  'thank_you',
  'version 0.1.0',
])('%s is a title', (text) => {
  expect(titleFrom(said(text))).toBe(text);
});

it('only what a user sent is a title', () => {
  expect(titleFrom([{ surface: 'tool_result', text: 'x' }])).toBeNull();
});

it('is cut to whole characters', () => {
  const longest = 'x'.repeat(TITLE_UNITS);
  expect(titleFrom(said(longest))).toBe(longest);
  expect(titleFrom(said(`${longest}x`))).toBe(longest);
  expect(titleFrom(said(`${longest.slice(1)}😀`))).toBe(longest.slice(1));
});

it('base64 is none, unless it may be a word', () => {
  const code = 'aB1+'.repeat(BASE64_UNITS_MIN).slice(0, BASE64_UNITS_MIN);
  expect(titleFrom(said(code))).toBeNull();
  expect(titleFrom(said(code.slice(0, -1)))).toBe(code.slice(0, -1));
});
