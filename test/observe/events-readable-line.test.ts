/** What a terminal shows of a log line, and that no line can do anything to the terminal. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { readableLine } from '../../src/observe/events.ts';

const at = new Date(2026, 10, 27, 9, 5, 7, 42).getTime();
const line = (fields: object): string => `${JSON.stringify({ time: at, ...fields })}\n`;

test('time, level, message, then the facts', () => {
  expect(
    readableLine(line({ level: 20, request: 1, path: '/v1/traces', msg: 'request: head read' })),
  ).toBe('09:05:07.042 DEBUG request: head read  request=1  path=/v1/traces\n');
  const failing = { level: 40, failing: ['postgres'], why: 'no answer', msg: '/ready answers 503' };
  expect(readableLine(line(failing))).toBe(
    '09:05:07.042 WARN  /ready answers 503  failing=["postgres"]  why="no answer"\n',
  );
  expect(readableLine(line({ level: 35 }))).toBe('09:05:07.042 35    \n');
});

test('a line that is none of pino’s stays as it is', () => {
  for (const other of ['no JSON\n', '7\n', 'null\n', '{}\n', '{"time":"x","level":30}\n'])
    expect(readableLine(other)).toBe(other);
});

test('nothing in it moves the cursor or begins another line', () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom('\u001b[2J', 'a\nb', '\r', '\u202e', '\u0000'),
  );
  fc.assert(
    fc.property(fc.dictionary(text, text), text, (facts, msg) => {
      const shown = readableLine(line({ ...facts, level: 30, msg, time: at }));
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
      expect(shown.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/);
      expect(shown.endsWith('\n')).toBe(true);
    }),
  );
});
