/** A metric that followed another the last time is expected behind it: it may be one that differs in little. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { casesOf } from '../../support/cases.ts';
import { isTakenAlike } from '../both-ways.ts';

const POINT = '"dataPoints":[{"timeUnixNano":"1700000000000000000","asInt":"1"}]';

/** Alike in all but one thing, or in how it is written. */
const METRICS = [
  `{"name":"a","unit":"1","sum":{"aggregationTemporality":2,"isMonotonic":true,${POINT}}}`,
  `{"name":"b","unit":"1","sum":{"aggregationTemporality":2,"isMonotonic":true,${POINT}}}`,
  `{"name":"a","unit":"2","sum":{"aggregationTemporality":2,"isMonotonic":true,${POINT}}}`,
  `{"name":"a","unit":"1","sum":{"aggregationTemporality":1,"isMonotonic":true,${POINT}}}`,
  `{"name":"a","unit":"1","sum":{"aggregationTemporality":2,"isMonotonic":false,${POINT}}}`,
  `{"name":"a","unit":"1","sum":{"aggregationTemporality":2,${POINT}}}`,
  `{"name":"a","sum":{"aggregationTemporality":2,"isMonotonic":true,${POINT}}}`,
  `{"name":"a","description":"1","sum":{"aggregationTemporality":2,"isMonotonic":true,${POINT}}}`,
  `{"name":"a1","sum":{"aggregationTemporality":2,"isMonotonic":true,${POINT}}}`,
  `{"sum":{${POINT},"isMonotonic":true,"aggregationTemporality":2},"unit":"1","name":"a"}`,
  `{"name":"a","unit":"1","gauge":{${POINT}}}`,
  `{"name":"a","unit":"1","gauge":{${POINT}},"metadata":[]}`,
  `{"name":"a","unit":"1","gauge":{"dataPoints":[]}}`,
  `{"name":"a", "unit": "1","gauge":{${POINT}}}`,
  `{"name":"żółw","unit":"1","gauge":{${POINT}}}`,
  `{"name":"a","description":"${'x'.repeat(3000)}","gauge":{${POINT}}}`,
];

const bodyOf = (metrics: readonly string[]): Buffer =>
  Buffer.from(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[${metrics.join()}]}]}]}`);

test('metrics that are nearly the ones expected are read as the plain decoder reads them', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...METRICS), { minLength: 1, maxLength: 12 }),
      (metrics) => {
        // Twice: what was read is expected then.
        expect(isTakenAlike('metrics', bodyOf(metrics))).toBe(true);
        expect(isTakenAlike('metrics', bodyOf(metrics))).toBe(true);
      },
    ),
    { numRuns: casesOf(2000) },
  );
});
