/**
 * Loaded into a server by NODE_OPTIONS: writes the CPU time of every long turn of its main thread's event loop
 * into the file that LOOP_PROBE_FILE names, a number of milliseconds per line.
 *
 * A timer that is always due runs once a turn. What the thread spent on its core in between is the turn's length:
 * by the kernel's count, so that a busy machine makes nothing look slower (Linux, /proc/thread-self/schedstat).
 */
const { appendFileSync, openSync, readSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const EVERY_MS = 1;
const LONG_MS = 10;
const NANOS_PER_MS = 1e6;

const path = process.env.LOOP_PROBE_FILE;
if (isMainThread && path !== undefined) {
  const counts = openSync('/proc/thread-self/schedstat', 'r');
  const buffer = Buffer.alloc(128);
  const spentMs = () => {
    const length = readSync(counts, buffer, 0, buffer.length, 0);
    return Number.parseInt(buffer.toString('latin1', 0, length), 10) / NANOS_PER_MS;
  };
  let before = spentMs();
  setInterval(() => {
    const now = spentMs();
    if (now - before >= LONG_MS) appendFileSync(path, `${(now - before).toFixed(1)}\n`);
    before = spentMs();
  }, EVERY_MS).unref();
}
