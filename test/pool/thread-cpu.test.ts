/** CPU time of a thread, as seen by the thread and by the main thread. */
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';

import { createThreadClock, ThreadPulse } from '../../src/pool/thread-cpu.ts';
import { waitFor } from '../support/wait-for.ts';

const SOON = { withinMs: 20_000 };
const workers: Worker[] = [];
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.terminate();
});

/** A thread that starts a slice and computes or sleeps in it. */
function threadIn(state: 'computing' | 'asleep', memory: SharedArrayBuffer): void {
  const source = `
    const { workerData } = require('node:worker_threads');
    const fields = new Float64Array(workerData);
    const fs = require('node:fs');
    const stat = () => Number(fs.readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6;
    fields[0] = Number(fs.readlinkSync('/proc/thread-self').split('/').at(-1));
    fields[2] = stat(); fields[3] = Date.now(); fields[1] = 1;
    if (${JSON.stringify(state)} === 'computing') for (;;);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  `;
  workers.push(new Worker(source, { eval: true, workerData: memory }));
}

function compute(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** The kernel advances a thread's CPU time by this much at a time, at most. */
const CLOCK_STEP_MS = 10;

test('the clock advances while the thread computes', () => {
  const clock = createThreadClock();
  const [before, from] = [clock(), performance.now()];
  // A clock that does not advance runs into the test's time limit, however busy the machine is.
  while (clock() - before < 20) compute(1);
  const used = clock() - before;
  const passed = performance.now() - from;
  expect(used).toBeGreaterThan(5);
  expect(used).toBeLessThan(passed + CLOCK_STEP_MS);
});

test('a pulse is at rest between slices', () => {
  const pulse = new ThreadPulse(ThreadPulse.createMemory());
  expect(pulse.stalledMs).toBe(0);
  pulse.begin(createThreadClock()());
  while (pulse.stalledMs <= 5) compute(1);
  expect(pulse.stalledMs).toBeGreaterThan(5);
  pulse.end();
  expect(pulse.stalledMs).toBe(0);
});

test.runIf(process.platform === 'linux')(
  'of another thread only what it computed counts, not how long it has waited',
  async () => {
    const [busy, idle] = [ThreadPulse.createMemory(), ThreadPulse.createMemory()];
    threadIn('computing', busy);
    threadIn('asleep', idle);
    const from = performance.now();
    await waitFor(() => new ThreadPulse(busy).stalledMs > 300, {
      ...SOON,
      what: 'it has computed',
    });
    expect(new Float64Array(idle)[1]).toBe(1);
    expect(performance.now() - from).toBeGreaterThan(250);
    expect(new ThreadPulse(idle).stalledMs).toBeLessThan(150);
  },
);
