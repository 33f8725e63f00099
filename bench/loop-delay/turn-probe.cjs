/**
 * Loaded into a server by NODE_OPTIONS: writes the CPU time of every long turn of the main thread's
 * event loop to the file LOOP_PROBE_FILE, one number of milliseconds per line.
 *
 * A timer that is always due runs once per turn. The thread's CPU time in between is the length of
 * the turn, as counted by the kernel (Linux, /proc/thread-self/schedstat), so a busy machine does
 * not distort it.
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
