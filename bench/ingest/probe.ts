/** Requests `/health` at a fixed rate over separate connections during a load. */
import { type Latency, latencyOf } from './latency.ts';
import { Sender } from './sender.ts';

const CONNECTIONS = 4;
const PER_SECOND = 50;

/**
 * Probes until `ended`. Latency counts from the time a probe was due, so it includes the delay of
 * probes that a stalled server holds up.
 *
 * @throws when one is answered anything but 200
 */
export async function probeHealth(base: string, ended: Promise<unknown>): Promise<Latency> {
  const url = new URL('/health', base);
  const bytes = Buffer.from(`GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`);
  const milliseconds: number[] = [];
  let isRunning = true;
  void ended.finally(() => {
    isRunning = false;
  });
  const senders: Sender[] = [];
  const startedAt = performance.now();
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const turn = async (place: number): Promise<void> => {
    const sender = await Sender.open(url, (error) => fail(error));
    senders.push(sender);
    for (let number = place; isRunning; number += CONNECTIONS) {
      const due = startedAt + (number * 1000) / PER_SECOND;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
      const status = await new Promise<number>((resolve) => sender.send(bytes, resolve));
      milliseconds.push(performance.now() - due);
      if (status !== 200) throw new Error(`/health was answered ${status}`);
    }
  };
  try {
    const turns = Array.from({ length: CONNECTIONS }, (_, place) => turn(place));
    await Promise.race([Promise.all(turns), failed]);
  } finally {
    isRunning = false;
    for (const sender of senders) sender.close();
  }
  return latencyOf(milliseconds);
}
