/** Which spans repeat another one, and the counts of a run that follow. */
import { expect, test } from 'vitest';
import {
  possibleRepeats,
  SentSpans,
  type UnreadStep,
  withRepeats,
} from '../../src/model/repeated-spans.ts';

test('a span repeats the first one with its trace id, span id and content', () => {
  const sent = new SentSpans<number>();
  const spans = [
    ['t', 's', 'c'],
    ['t', 's', 'd'],
    ['t', 'r', 'c'],
    ['u', 's', 'c'],
    ['t', 's', 'c'],
    ['t', 's', 'd'],
    ['t', 's', 'c'],
  ] as const satisfies readonly (readonly [string, string, string])[];
  expect(
    spans.map(([trace, id, content], index) => sent.repeatedBy(index, trace, id, content)),
  ).toEqual([...[null, null, null, null], ...[0, 1, 0]]);
});

test('only spans with an id and a start in common may be repeats', () => {
  const step = (fields: Partial<UnreadStep> = {}): UnreadStep => ({
    source: 'span',
    spanId: 'a',
    startUnixNano: '1',
    ...fields,
  });
  const steps = [
    step(),
    step({ startUnixNano: '0' }),
    step({ spanId: 'b' }),
    step({ source: 'log' }),
    step({ source: 'log' }),
    step({ source: 'log', spanId: null }),
    step(),
    step({ spanId: 'b' }),
    step(),
  ];
  const found = possibleRepeats(steps, (one) => one);
  expect(found.map((one) => steps.indexOf(one))).toEqual([0, 6, 8, 2, 7]);
  expect(possibleRepeats(steps.slice(0, 6), (one) => one)).toEqual([]);
});

test('a reader of all steps corrects what was counted; one that saw fewer repeats does not', () => {
  const run = { spans: 5, repeatedSpans: 2 };
  expect(withRepeats(run, 4)).toEqual({ spans: 3, repeatedSpans: 4 });
  expect(withRepeats(run, 2)).toEqual(run);
  expect(withRepeats(run, 0)).toEqual(run);
});
