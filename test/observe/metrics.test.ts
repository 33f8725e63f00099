/** The metrics of several threads as one text: sums, and what is no sum. */
import { expect, test } from 'vitest';

import { createObserver, type Observer } from '../../src/observe/events.ts';
import { sumMetrics } from '../../src/observe/metrics.ts';

const observers = (count: number): Observer[] =>
  Array.from({ length: count }, () => createObserver('silent'));

async function textOf(all: readonly Observer[]): Promise<string[]> {
  const parts = await Promise.all(all.map(({ metrics }) => metrics.registry.getMetricsAsJSON()));
  // As they cross between threads.
  return (await sumMetrics(structuredClone(parts))).split('\n');
}

test('counters and histograms are added up by their labels', async () => {
  const [first, second] = observers(2);
  first?.events.requestAnswered('traces', 200);
  second?.events.requestAnswered('traces', 200);
  second?.events.requestAnswered('logs', 429);
  for (const elapsedMs of [1, 30]) {
    first?.events.batchCommitted({ requests: 1, rows: 10, bytes: 100, elapsedMs });
  }
  second?.events.batchCommitted({ requests: 1, rows: 5, bytes: 50, elapsedMs: 30 });
  const text = await textOf([first, second].filter((one) => one !== undefined));
  expect(text).toEqual(
    expect.arrayContaining([
      'sluice_ingest_requests_total{signal="traces",status="200"} 2',
      'sluice_ingest_requests_total{signal="logs",status="429"} 1',
      'sluice_store_rows_total 25',
      'sluice_store_batch_seconds_bucket{le="0.001"} 1',
      'sluice_store_batch_seconds_bucket{le="0.05"} 3',
      'sluice_store_batch_seconds_count 3',
    ]),
  );
});

test('bytes in flight are added up; limits are shared when every thread shares them', async () => {
  const all = observers(3);
  for (const [index, { events }] of all.entries()) events.inflightChanged(index);
  for (const { events } of all.slice(0, 2)) events.limiterAnswered();
  expect(await textOf(all)).toContain('sluice_store_inflight_bytes 3');
  expect(await textOf(all)).toContain('sluice_limits_shared 0');
  all[2]?.events.limiterAnswered();
  expect(await textOf(all)).toContain('sluice_limits_shared 1');
  // The main thread of several counts nothing, and takes no part in it.
  const [main] = observers(1);
  main?.metrics.limitsShared.remove();
  expect(await textOf([...all, ...(main === undefined ? [] : [main])])).toContain(
    'sluice_limits_shared 1',
  );
});

test('the names and kinds are those of one thread', async () => {
  const [one] = observers(1);
  const own = (await one?.metrics.registry.metrics())?.split('\n') ?? [];
  const types = (text: readonly string[]) =>
    text.filter((line) => line.startsWith('# TYPE')).sort();
  expect(types(await textOf(observers(2)))).toEqual(types(own));
});
