/**
 * What requests say about runs, and that it does not matter in which order or in which pieces they
 * say it. Pure: PostgreSQL's half of the same rules is held to this one in copy-writer.test.ts.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  runDeltas as deltasOfRequest,
  mergeDeltas,
  type RunDelta,
} from '../../../src/db/telemetry/run-delta.ts';
import type { DecodedRequest } from '../../../src/model/telemetry.ts';
import { casesOf } from '../../support/cases.ts';
import {
  decodedRequest,
  factsOf,
  hex8,
  hex16,
  logFacts,
  logRow,
  type RowsRequest,
  resourceRow,
  sessionFor,
  spanFacts,
  spanRow,
  TRACE_ID,
} from '../../support/rows.ts';

const WORKSPACE = 7;
const EMPTY_RUN: RunDelta = {
  workspaceId: WORKSPACE,
  runId: TRACE_ID,
  spans: 0,
  logRecords: 0,
  startUnixNano: null,
  endUnixNano: null,
  finished: false,
  failed: false,
  name: null,
  serviceName: null,
  sessionKey: null,
  records: [],
};

/** The deltas of a request, without its records. */
const runDeltas = (
  request: RowsRequest | DecodedRequest,
  workspaceId: number,
  logRuns?: Parameters<typeof deltasOfRequest>[2],
): RunDelta[] => {
  const facts = 'resources' in request ? factsOf(request) : request;
  return deltasOfRequest(facts, workspaceId, logRuns).map((delta) => ({ ...delta, records: [] }));
};

test('the records of each run, by their numbers in the request', () => {
  const other = hex16(0xc2);
  const spans = [TRACE_ID, other, other, TRACE_ID, TRACE_ID].map((traceId) => spanRow({ traceId }));
  const logs = [null, other, null, other].map((traceId) => logRow({ traceId }));
  const records = (fields: Partial<RowsRequest>) =>
    deltasOfRequest(factsOf(decodedRequest(fields)), WORKSPACE).map((delta) => [
      delta.runId,
      delta.records,
    ]);
  expect(records({ spans })).toEqual([
    [TRACE_ID, [0, 1, 3, 5]],
    [other, [1, 3]],
  ]);
  expect(records({ logs })).toEqual([[other, [1, 2, 3, 4]]]);
});

describe('one request', () => {
  test('a root and its children', () => {
    const request = decodedRequest({
      spans: [
        spanRow({ parentSpanId: hex8(1), name: 'chat', startUnixNano: '20', endUnixNano: '30' }),
        spanRow({ name: 'invoke_agent', startUnixNano: '9', endUnixNano: '100' }),
        spanRow({ parentSpanId: hex8(1), name: 'tool', startUnixNano: '40', endUnixNano: '99' }),
      ],
    });
    expect(runDeltas(request, WORKSPACE)).toEqual([
      {
        ...EMPTY_RUN,
        spans: 3,
        startUnixNano: '9',
        endUnixNano: '100',
        finished: true,
        name: 'invoke_agent',
        serviceName: 'agent',
      },
    ]);
  });

  test.each([
    [0, false],
    [1, false],
    [2, true],
  ])('a root with status %d: failed is %s', (statusCode, failed) => {
    const [delta] = runDeltas(decodedRequest({ spans: [spanRow({ statusCode })] }), WORKSPACE);
    expect(delta?.failed).toBe(failed);
  });

  test('the error of a child is not the error of the run', () => {
    const child = spanRow({ parentSpanId: hex8(1), statusCode: 2 });
    const [delta] = runDeltas(decodedRequest({ spans: [child] }), WORKSPACE);
    expect(delta).toMatchObject({ finished: false, failed: false, name: null });
  });

  test('log records count when they carry a trace id; an unknown time widens nothing', () => {
    const request = decodedRequest({
      logs: [
        logRow(),
        logRow({ traceId: TRACE_ID, timeUnixNano: '0', observedUnixNano: '0' }),
        logRow({ traceId: TRACE_ID, timeUnixNano: '0', observedUnixNano: '50' }),
        logRow({ traceId: TRACE_ID, timeUnixNano: '60', observedUnixNano: '5' }),
      ],
    });
    expect(runDeltas(request, WORKSPACE)).toEqual([
      {
        ...EMPTY_RUN,
        logRecords: 3,
        startUnixNano: '50',
        endUnixNano: '60',
        serviceName: 'agent',
      },
    ]);
  });

  test('a root span that belongs to a prompt does not finish its run', () => {
    const session = { ...sessionFor('nothing', hex16(0x5e), hex16(5)), hasTrace: true };
    const span = spanFacts({ session });
    const runs = new Map([[span, { runId: hex16(5), sessionKey: session.key }]]);
    const request = { ...factsOf(decodedRequest()), spans: [span] };
    expect(runDeltas(request, WORKSPACE, runs)).toMatchObject([
      { runId: hex16(5), spans: 1, finished: false, name: null, sessionKey: session.key },
    ]);
  });

  test('log records without a trace id count for the run they were put into', () => {
    const session = sessionFor('text', hex16(0x5e), hex16(5));
    const own = logFacts({ timeUnixNano: '60', session });
    const other = logFacts({ timeUnixNano: '70', session: { ...session, runId: null } });
    const request = { ...factsOf(decodedRequest()), logs: [own, other] };
    const runs = new Map([[own, { runId: hex16(5), sessionKey: session.key }]]);
    expect(runDeltas(request, WORKSPACE, runs)).toEqual([
      {
        ...EMPTY_RUN,
        runId: hex16(5),
        logRecords: 1,
        startUnixNano: '60',
        endUnixNano: '60',
        serviceName: 'agent',
        sessionKey: session.key,
      },
    ]);
  });

  test('the service is the root’s, whatever came first', () => {
    const request = decodedRequest({
      resources: [
        resourceRow({ id: hex16(1), serviceName: 'a-tool' }),
        resourceRow({ id: hex16(2), serviceName: 'the-agent' }),
      ],
      spans: [
        spanRow({ resourceId: hex16(1), parentSpanId: hex8(1) }),
        spanRow({ resourceId: hex16(2) }),
        spanRow({ resourceId: hex16(1), parentSpanId: hex8(1) }),
      ],
    });
    expect(runDeltas(request, WORKSPACE)[0]?.serviceName).toBe('the-agent');
  });
});

test('merged deltas come in the order of workspace and run, one per run', () => {
  const request = (traceIds: readonly number[]): RowsRequest =>
    decodedRequest({ spans: traceIds.map((id) => spanRow({ traceId: hex16(id) })) });
  const merged = mergeDeltas([
    runDeltas(request([5, 3]), 2),
    runDeltas(request([9, 3]), 1),
    runDeltas(request([3]), 2),
  ]);
  expect(merged.map(({ workspaceId, runId, spans }) => [workspaceId, runId, spans])).toEqual([
    [1, hex16(3), 1],
    [1, hex16(9), 1],
    [2, hex16(3), 2],
    [2, hex16(5), 1],
  ]);
});

test('merging leaves the deltas it was given as they were', () => {
  const delta = Object.freeze({ ...EMPTY_RUN, spans: 1 });
  expect(mergeDeltas([[delta], [delta]])).toEqual([{ ...EMPTY_RUN, spans: 2 }]);
});

// ── Order ────────────────────────────────────────────────────────────────────────────────────

/** Texts whose order differs between UTF-16 and UTF-8 are among them. */
const text = fc.constantFrom('a', 'b', '', 'Z', '\uFFFD', '\u{1F600}', 'ab');
const time = fc.constantFrom('0', '5', '9', '10', '99', '100', '1763640000000000001');

const request: fc.Arbitrary<RowsRequest> = fc
  .record({
    services: fc.array(fc.option(text), { minLength: 3, maxLength: 3 }),
    spans: fc.array(
      fc.record({
        traceId: fc.constantFrom(hex16(1), hex16(2)),
        resourceId: fc.constantFrom(hex16(0), hex16(1), hex16(2)),
        parentSpanId: fc.constantFrom(null, hex8(1)),
        name: text,
        statusCode: fc.constantFrom(0, 1, 2),
        startUnixNano: time,
        endUnixNano: time,
      }),
      { maxLength: 4 },
    ),
    logs: fc.array(
      fc.record({
        traceId: fc.constantFrom(null, hex16(1), hex16(2)),
        resourceId: fc.constantFrom(hex16(0), hex16(1), hex16(2)),
        timeUnixNano: time,
        observedUnixNano: time,
      }),
      { maxLength: 3 },
    ),
  })
  .map(({ services, spans, logs }) =>
    decodedRequest({
      resources: services.map((serviceName, id) => resourceRow({ id: hex16(id), serviceName })),
      spans: spans.map(spanRow),
      logs: logs.map(logRow),
    }),
  );

const shuffledRequests = fc
  .array(request, { minLength: 1, maxLength: 6 })
  .chain((requests) =>
    fc.tuple(
      fc.constant(requests),
      fc.shuffledSubarray(requests, { minLength: requests.length }),
      fc.nat(requests.length),
    ),
  );

const deltasOf = (requests: readonly RowsRequest[]): RunDelta[][] =>
  requests.map((one) => runDeltas(one, WORKSPACE));

test('the same requests in any order give the same runs', () => {
  fc.assert(
    fc.property(shuffledRequests, ([requests, shuffled]) => {
      expect(mergeDeltas(deltasOf(shuffled))).toEqual(mergeDeltas(deltasOf(requests)));
    }),
    { numRuns: casesOf(500) },
  );
});

test('the same requests in two batches give the same runs as in one', () => {
  fc.assert(
    fc.property(shuffledRequests, ([requests, , cut]) => {
      const first = mergeDeltas(deltasOf(requests.slice(0, cut)));
      const second = mergeDeltas(deltasOf(requests.slice(cut)));
      expect(mergeDeltas([second, first])).toEqual(mergeDeltas(deltasOf(requests)));
    }),
    { numRuns: casesOf(500) },
  );
});
