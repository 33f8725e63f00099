/**
 * The owner's sign of life, for processes elsewhere that cannot see it and have no lock to ask: it
 * renews its record, and the file system notes when.
 *
 *   renewed ──OWNER_SILENT_MS without another──► silent
 *
 * Ages are differences of the file system's own times, so that the clocks of two machines do not matter.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileSystemNowMs, renewedAtMs, renewRecord } from './record.ts';

export const OWNER_SILENT_MS = 20_000;
const RENEW_EVERY_MS = 5000;
const POLL_MS = 250;

/** Renews the record until it is stopped. Does not keep the process alive. */
export function startHeartbeat(home: string, name: string): { stop(): Promise<void> } {
  let renewing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    renewing = renewRecord(home, name).catch(() => {
      // The next one may work. The lock protects the folder meanwhile, where there are locks.
    });
  }, RENEW_EVERY_MS).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await renewing;
    },
  };
}

/**
 * Waits until the process of a record is known to be silent or not: `OWNER_SILENT_MS` at most.
 *
 * @returns false when the record was renewed meanwhile
 */
export async function untilSilent(home: string, name: string): Promise<boolean> {
  const startedAt = performance.now();
  const first = await renewedAtMs(home, name);
  for (;;) {
    const last = await renewedAtMs(home, name);
    if (last === null) return true;
    if (last !== first) return false;
    if ((await fileSystemNowMs(home)) - last > OWNER_SILENT_MS) return true;
    // Also when the file system's clock was set back.
    if (performance.now() - startedAt > OWNER_SILENT_MS) return true;
    await sleep(POLL_MS);
  }
}
