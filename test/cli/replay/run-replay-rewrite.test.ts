/** New ids and shifted times, and everything else as it was. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { latestTime, replaceIds, shiftTimes } from '../../../src/cli/replay/run-replay.ts';

const TRACE = '5b8efff798038103d269b633813fc60c';
const SPAN = 'eee19b7ec3c1b174';
/** Names of members as text of a sender, and numbers that JavaScript would round. */
const inText = JSON.stringify({ traceId: TRACE, startTimeUnixNano: '7', n: 1 });
const body = (members: object) =>
  JSON.stringify({
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: [
              {
                ...members,
                attributes: [
                  { key: 'traceId', value: { stringValue: inText } },
                  { key: 'timeUnixNano', value: { intValue: '9223372036854775807' } },
                ],
              },
            ],
          },
        ],
      },
    ],
  });

describe('times', () => {
  const times = { startTimeUnixNano: '1000', endTimeUnixNano: '2000', timeUnixNano: '0' };

  test('the latest one is found, as text or as a number', () => {
    expect(latestTime(body(times))).toBe(2000n);
    expect(latestTime('{"observedTimeUnixNano": 1795000000000000123 }')).toBe(1795000000000000123n);
    expect(latestTime('{}')).toBe(0n);
  });

  test('all move by as much, exactly; 0 means not set', () => {
    const moved = { startTimeUnixNano: '1005', endTimeUnixNano: '2005', timeUnixNano: '0' };
    expect(shiftTimes(body(times), 5n)).toBe(body(moved));
    expect(shiftTimes('{"timeUnixNano":1795000000000000123}', 1n)).toBe(
      '{"timeUnixNano":"1795000000000000124"}',
    );
    expect(shiftTimes('{"timeUnixNano":"5"}', -9n)).toBe('{"timeUnixNano":"0"}');
  });

  test('there and back is the same', () => {
    const nanos = fc.bigInt({ min: 10n ** 18n, max: 2n * 10n ** 18n });
    fc.assert(
      fc.property(nanos, fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }), (time, by) => {
        const text = body({ startTimeUnixNano: `${time}` });
        expect(shiftTimes(shiftTimes(text, by), -by)).toBe(text);
      }),
    );
  });
});

describe('ids', () => {
  interface Ids {
    readonly traceId: string;
    readonly spanId: string;
    readonly parentSpanId: string;
  }
  const idsIn = (text: string): Ids =>
    (JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: Ids[] }[] }[] }).resourceSpans[0]
      ?.scopeSpans[0]?.spans[0] as Ids;

  test('equal ones stay equal, also in another case; others differ; texts are left alone', () => {
    const given = body({ traceId: TRACE, spanId: SPAN, parentSpanId: SPAN.toUpperCase() });
    const replaced = replaceIds(given, 'salt');
    const ids = idsIn(replaced);
    expect(ids.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(ids.traceId).not.toBe(TRACE);
    expect(ids.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(ids.parentSpanId).toBe(ids.spanId);
    expect(replaceIds(given, 'salt')).toBe(replaced);
    expect(idsIn(replaceIds(given, 'other')).traceId).not.toBe(ids.traceId);
    expect(replaced).toContain(JSON.stringify(inText));
  });

  test('what is not set, and what is no id, stays', () => {
    const text = body({ traceId: TRACE.slice(1), spanId: SPAN, parentSpanId: '' });
    expect(idsIn(replaceIds(text, 's'))).toMatchObject({
      traceId: TRACE.slice(1),
      parentSpanId: '',
    });
    expect(replaceIds('{"parentSpanId":"0000000000000000"}', 's')).toContain('0000000000000000');
  });
});
