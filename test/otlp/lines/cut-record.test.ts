/** Records that are too large to be shown whole. */
import { describe, expect, test } from 'vitest';

import { cutRecord, isDense } from '../../../src/otlp/lines/cut-record.ts';
import { PIECE_BYTES, toEnd } from '../../../src/otlp/pieces.ts';

const MEGABYTE = 'x'.repeat(1024 * 1024);
const BYTES_MAX = 8 * 1024;

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const cutText = (json: string, bytesMax = BYTES_MAX) =>
  toEnd(cutRecord(Buffer.from(json), bytesMax));
const cut = (record: object, bytesMax?: number) => cutText(JSON.stringify(record), bytesMax);

describe('attributes', () => {
  test('are the short ones, and then the beginnings of strings, in their order', () => {
    const long = text('long', 'é'.repeat(2_000));
    const longer = text('longer', 'y'.repeat(5_000));
    const short = { key: 'n', value: { intValue: '3' } };
    const list = { key: 'list', value: { arrayValue: { values: Array(500).fill({}) } } };
    const empty = { key: 'empty' };
    const attributes = [long, short, list, longer, empty, text('name', 'chat')];
    expect(cut({ attributes }, 12 * 1024).attributes).toEqual([
      long,
      short,
      { key: 'empty', value: null },
      text('name', 'chat'),
    ]);
    expect(cut({ attributes }, 32 * 1024).attributes).toEqual([
      long,
      short,
      longer,
      { key: 'empty', value: null },
      text('name', 'chat'),
    ]);
  });

  test('have strings of at most 8,192 characters, and no key of more than 256', () => {
    const attributes = [text('long', MEGABYTE), text('k'.repeat(257), 'a'), text(MEGABYTE, 'b')];
    const kept = cut({ attributes }, 32 * 1024).attributes;
    expect(kept).toEqual([text('long', 'x'.repeat(8192))]);
  });

  test('are the last ones of their keys, of the first thousand', () => {
    const attributes = Array.from({ length: 3_000 }, (_, at) => text(`${at % 1_500}`, `${at}`));
    const kept = cut({ attributes: [text('0', 'first'), ...attributes] }, 1024 * 1024);
    expect(kept.attributes).toEqual(attributes.slice(0, 1_000));
  });

  test('end where the next short one does not fit', () => {
    const attributes = Array.from({ length: 9 }, (_, at) => text(`${at}`, 'v'.repeat(1_000)));
    expect(cut({ attributes }).attributes).toEqual(attributes.slice(0, 4));
  });

  test('may have their members in any order, with unknown ones and white space', () => {
    const attributes = `[ { "value" : {"x":[1,"]"], "stringValue" : "b" } , "z":{}, "key" : "a" } ]`;
    expect(cutText(`{ "attributes" : ${attributes} , "links":[{}] }`)).toEqual({
      attributes: [{ key: 'a', value: { x: [1, ']'], stringValue: 'b' } }],
    });
  });
});

test.each([
  ['a string', { stringValue: 'é'.repeat(1e6) }, { stringValue: 'é'.repeat(8192) }],
  [
    'an object',
    {
      kvlistValue: {
        values: [
          { key: 'long', value: { arrayValue: { values: [{ stringValue: MEGABYTE }] } } },
          text('$text', 'hi'),
        ],
      },
    },
    { kvlistValue: { values: [text('$text', 'hi')] } },
  ],
  ['a list', { arrayValue: { values: [{ stringValue: MEGABYTE }] } }, {}],
  [
    'short',
    { arrayValue: { values: [{ intValue: '1' }] } },
    { arrayValue: { values: [{ intValue: '1' }] } },
  ],
])('of a body that is %s, the beginning is kept', (_, body, kept) => {
  expect(cut({ eventName: 'e', body, spanId: 'ab' })).toEqual({ eventName: 'e', body: kept });
});

test('the first events that fit are kept whole', () => {
  const events = [
    { name: 'first', attributes: [text('a', 'b')] },
    { name: MEGABYTE },
    { name: 'last' },
  ];
  expect(cut({ events }).events).toEqual([events[0]]);
});

test('names, messages, ids, times and numbers are kept, links and unknown members are not', () => {
  const status = { message: MEGABYTE, code: 2, x: [MEGABYTE] };
  const numbers = { flags: 257, droppedAttributesCount: '3', droppedEventsCount: 4 };
  const other = { links: [{ traceId: MEGABYTE }], unknown: MEGABYTE };
  const own = { traceId: 'ab', timeUnixNano: '7', observedTimeUnixNano: '8', severityNumber: 9 };
  const names = { name: MEGABYTE, severityText: MEGABYTE };
  expect(cut({ ...other, ...own, ...names, status, ...numbers })).toEqual({
    ...own,
    severityText: 'x'.repeat(256),
    name: 'x'.repeat(256),
    status: { message: 'x'.repeat(1024), code: 2 },
    ...numbers,
  });
});

test.each([
  ['in UTF-8', JSON.stringify('😀'.repeat(1_000)), '😀'.repeat(256)],
  ['escaped', `"${'\\ud83d\\ude00'.repeat(1_000)}"`, '😀'.repeat(128)],
  ['escaped, parted by the cut', `"a${'\\ud83d\\ude00'.repeat(1_000)}"`, `a${'😀'.repeat(127)}`],
  ['control characters', JSON.stringify('\u0001'.repeat(1_000)), '\u0001'.repeat(256)],
  ['NUL', `"${'\\u0000'.repeat(1_000)}"`, '\ufffd'.repeat(256)],
  [
    'backslashes before a u',
    JSON.stringify('\\ud83d'.repeat(1_000)),
    `${'\\ud83d'.repeat(42)}\\ud8`,
  ],
])('a beginning has whole characters: %s', (_, name, kept) => {
  expect(cutText(`{"name":${name}}`).name).toBe(kept);
});

test('long records are read in pieces', () => {
  const values = Array.from({ length: 1e5 }, () => ({}));
  const attributes = [text('text', MEGABYTE), { key: 'list', value: { arrayValue: { values } } }];
  const many = Array.from({ length: 1e5 }, (_, at) => text(`${at}`, ''));
  for (const record of [
    { attributes },
    { attributes: many },
    { events: many },
    { body: { kvlistValue: { values: many } } },
  ]) {
    const bytes = Buffer.from(JSON.stringify(record));
    const pieces = cutRecord(bytes, BYTES_MAX);
    let pauses = 0;
    while (pieces.next().done !== true) pauses += 1;
    expect(pauses).toBeGreaterThan(bytes.length / PIECE_BYTES / 2);
  }
});

test('structures count in texts, and less outside of them', () => {
  const dense = (record: object, max: number) => isDense(Buffer.from(JSON.stringify(record)), max);
  const inText = { name: '{},'.repeat(100) };
  expect([dense(inText, 299), dense(inText, 301)]).toEqual([true, false]);
  const attributes = Array.from({ length: 100 }, (_, at) => text(`"${at}`, 'v'));
  expect([dense({ attributes }, 220), dense({ attributes }, 230)]).toEqual([true, false]);
});
