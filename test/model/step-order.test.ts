/**
 * The order of steps: parents before children, and the same for equal runs, so that a rule is found at
 * the same step whatever the ids are and however the steps arrived.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { evaluateRun } from '../../src/engine/evaluate.ts';
import { createMatcher } from '../../src/engine/matcher/matcher.ts';
import { inTimeOrder } from '../../src/model/step-order.ts';
import type { Step } from '../../src/model/steps.ts';
import { log, span } from '../engine/steps.ts';
import { tinyRule } from '../engine/tiny-rules.ts';
import { casesOf } from '../support/cases.ts';
import { hex8 } from '../support/rows.ts';

const namesOf = (steps: readonly Step[]): string[] => inTimeOrder(steps).map(({ name }) => name);

describe('steps', () => {
  test('come by their start, as numbers', () => {
    const at = (startUnixNano: string) => span({ name: startUnixNano, startUnixNano });
    expect(namesOf([at('10'), at('9'), at('1763640000000000001'), at('-1')])).toEqual([
      '-1',
      '9',
      '10',
      '1763640000000000001',
    ]);
  });

  test('that start and end together come parents first, log records after their span', () => {
    const chain = ['root', 'agent', 'chat', 'http'].map((name, index) =>
      // Ids fall where depth rises.
      span({ name, spanId: hex8(9 - index), parentSpanId: index === 0 ? null : hex8(10 - index) }),
    );
    const record = log({ name: 'said', spanId: hex8(8) });
    expect(namesOf([record, ...chain.toReversed()])).toEqual([
      'root',
      'agent',
      'chat',
      'said',
      'http',
    ]);
  });

  test('come before a child that ends later than they do', () => {
    const parent = span({ name: 'parent', spanId: hex8(2), endUnixNano: '5' });
    const child = span({ name: 'child', spanId: hex8(1), parentSpanId: hex8(2), endUnixNano: '9' });
    expect(namesOf([child, parent])).toEqual(['parent', 'child']);
  });

  test('whose parents form a circle are all kept', () => {
    const circle = [1, 2, 3].map((id) =>
      span({ name: String(id), spanId: hex8(id), parentSpanId: hex8((id % 3) + 1) }),
    );
    expect(namesOf(circle).toSorted()).toEqual(['1', '2', '3']);
  });
});

/** A run as a tree: each step's parent is an earlier one, and times often coincide. */
const run = fc.array(
  fc.record({
    parent: fc.nat(8),
    start: fc.nat(2),
    length: fc.nat(1),
    name: fc.constantFrom('chat', 'search', 'fetch'),
    isLog: fc.boolean(),
    text: fc.constantFrom('secret one', 'secret two', 'nothing'),
  }),
  { minLength: 1, maxLength: 9 },
);
type Drawn = typeof run extends fc.Arbitrary<infer Value> ? Value : never;

/** @param ids of the steps, in the order in which they were drawn */
function stepsOf(drawn: Drawn, ids: readonly number[]): Step[] {
  const idOf = (index: number) => hex8(ids[index] ?? 0);
  return drawn.map(({ parent, start, length, name, isLog, text }, index) => {
    const above = index === 0 ? null : idOf(parent % index);
    const own = isLog
      ? { source: 'log' as const, spanId: above, parentSpanId: null }
      : { spanId: idOf(index), parentSpanId: above };
    return span({
      ...own,
      name,
      startUnixNano: String(start),
      endUnixNano: String(isLog ? start : start + length),
      attributes: { 'gen_ai.tool.call.result': text, 'event.name': name },
    });
  });
}

const shuffled = (length: number) =>
  fc.shuffledSubarray(
    Array.from({ length }, (_, index) => index + 1),
    { minLength: length },
  );

test('a rule is found at the same step of equal runs, whatever their ids and arrival', () => {
  const matcher = createMatcher([tinyRule({ conditions: [['tool_response', 'secret']] })]);
  const settings = { surfaceCapBytes: 1000, excerptChars: 40 };
  const foundIn = (steps: readonly Step[]) =>
    evaluateRun(inTimeOrder(steps), matcher, () => true, settings).findings.map(
      ({ stepName, excerpt, surface }) => ({ stepName, excerpt, surface }),
    );
  const equalRuns = run.chain((drawn) =>
    fc.record({
      drawn: fc.constant(drawn),
      ids: shuffled(drawn.length),
      arrival: shuffled(drawn.length),
    }),
  );
  fc.assert(
    fc.property(equalRuns, ({ drawn, ids, arrival }) => {
      const first = stepsOf(
        drawn,
        drawn.map((_, index) => index + 1),
      );
      const again = stepsOf(drawn, ids);
      const arrived = arrival.flatMap((place) => again[place - 1] ?? []);
      expect(foundIn(arrived)).toEqual(foundIn(first));
      expect(namesOf(arrived)).toEqual(namesOf(first));
    }),
    { numRuns: casesOf(2000) },
  );
});

test('every step comes after its parent, unless it starts before it', () => {
  fc.assert(
    fc.property(
      run.chain((drawn) => fc.tuple(fc.constant(drawn), shuffled(drawn.length))),
      ([drawn, ids]) => {
        const ordered = inTimeOrder(stepsOf(drawn, ids));
        const placeOf = new Map(
          ordered.flatMap(({ source, spanId }, place) =>
            source === 'span' ? [[spanId, place] as const] : [],
          ),
        );
        for (const [place, { source, spanId, parentSpanId, startUnixNano }] of ordered.entries()) {
          const above = placeOf.get(source === 'span' ? parentSpanId : spanId);
          if (above === undefined || ordered[above]?.startUnixNano !== startUnixNano) continue;
          expect(above).toBeLessThan(place);
        }
      },
    ),
  );
});
