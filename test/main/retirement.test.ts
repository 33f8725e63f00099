/** The first step of a stop: not ready at once, and no sooner than DRAIN_MS before the next step. */
import { describe, expect, test, vi } from 'vitest';
import { createRetirement } from '../../src/main/stop-order.ts';

describe.each([0, 40])('with DRAIN_MS=%d', (drainMs) => {
  test('the probe fails before connections begin to close, and stays so', async () => {
    const { check, begin } = createRetirement(drainMs);
    await expect(check()).resolves.toBeUndefined();
    const probes: Promise<void>[] = [];
    const begun = begin(() => probes.push(check()));
    await expect(probes[0]).rejects.toThrow('being stopped');
    await begun;
    await expect(check()).rejects.toThrow('being stopped');
  });

  test('the step lasts that long at least, and may last longer than that', async () => {
    const { begin, limitMs } = createRetirement(drainMs);
    const startedAtMs = performance.now();
    await begin(() => {});
    // Timers may be early by a part of a millisecond.
    expect(performance.now() - startedAtMs).toBeGreaterThan(drainMs - 1);
    expect(limitMs).toBeGreaterThan(drainMs);
  });
});

test('without a load balancer the next step begins in the same turn', async () => {
  const retired = vi.fn();
  let isOver = false;
  const begun = createRetirement(0)
    .begin(retired)
    .then(() => {
      isOver = true;
    });
  expect(retired).toHaveBeenCalledOnce();
  // No timer and no I/O in between: promises that are resolved already come first.
  await Promise.resolve();
  await Promise.resolve();
  expect(isOver).toBe(true);
  await begun;
});
