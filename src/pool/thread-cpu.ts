/**
 * Measures the CPU time of a thread, and detects a stuck one. Not wall-clock time: match threads
 * are niced, and being slow on a busy machine must not count as failure.
 *
 *   worker   begin(cpu now) ──► slice ──► end()       in memory that both threads see
 *   pass     stalledMs(): CPU time used since the slice began; 0 between slices
 *
 * Node has `process.threadCpuUsage` from 23.9 on. Before that, Linux reports every thread in
 * `/proc/self/task`; where neither exists, wall-clock time is used.
 */
import { openSync, readFileSync, readlinkSync, readSync } from 'node:fs';

const NANOS_PER_MS = 1e6;
const MICROS_PER_MS = 1e3;
/** `schedstat` is three numbers: time on a CPU, time waiting for one, turns. */
const SCHEDSTAT_BYTES_MAX = 80;

/** The CPU time that a thread has used, in milliseconds; precise to a few milliseconds. */
export type ThreadClock = () => number;

type WithThreadUsage = typeof process & {
  readonly threadCpuUsage?: () => { readonly user: number; readonly system: number };
};

/** The CPU clock of the calling thread; a reading from /proc takes 5 µs. */
export function createThreadClock(): ThreadClock {
  const { threadCpuUsage } = process as WithThreadUsage;
  if (threadCpuUsage !== undefined) {
    return () => {
      const { user, system } = threadCpuUsage();
      return (user + system) / MICROS_PER_MS;
    };
  }
  return schedstatClock() ?? (() => performance.now());
}

function schedstatClock(): ThreadClock | null {
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r');
    const buffer = Buffer.alloc(SCHEDSTAT_BYTES_MAX);
    const clock = () => parseCpuMs(buffer.toString('latin1', 0, readSync(file, buffer, 0, 80, 0)));
    return Number.isNaN(clock()) ? null : clock;
  } catch {
    return null;
  }
}

/** @returns NaN when the text is not in Linux's format */
function parseCpuMs(schedstat: string): number {
  return /^\d+ /.test(schedstat) ? Number.parseInt(schedstat, 10) / NANOS_PER_MS : Number.NaN;
}

/** CPU time of any thread of this process; null if unknown. */
function cpuMsOf(threadId: number): number | null {
  try {
    const cpuMs = parseCpuMs(readFileSync(`/proc/self/task/${threadId}/schedstat`, 'latin1'));
    return Number.isNaN(cpuMs) ? null : cpuMs;
  } catch {
    return null;
  }
}

/** The kernel's id of the calling thread; 0 if unknown. */
function ownThreadId(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1)) || 0;
  } catch {
    return 0;
  }
}

/** The same in every thread, unlike `performance.now()`, and never set, unlike the time of day. */
const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);

const [THREAD_ID, IS_WORKING, CPU_MS, WALL_MS] = [0, 1, 2, 3] as const;
const FIELDS = 4;

/** Shared memory in which a worker reports its current slice to the main thread. */
export class ThreadPulse {
  readonly #fields: Float64Array;

  /** @param memory from `createMemory`, one per thread */
  constructor(memory: SharedArrayBuffer) {
    this.#fields = new Float64Array(memory);
  }

  static createMemory(): SharedArrayBuffer {
    return new SharedArrayBuffer(FIELDS * Float64Array.BYTES_PER_ELEMENT);
  }

  /** In the worker: a slice starts. */
  begin(cpuMs: number): void {
    if (this.#fields[THREAD_ID] === 0) this.#fields[THREAD_ID] = ownThreadId();
    this.#fields[CPU_MS] = cpuMs;
    this.#fields[WALL_MS] = monotonicMs();
    this.#fields[IS_WORKING] = 1;
  }

  /** In the worker: the slice is over. */
  end(): void {
    this.#fields[IS_WORKING] = 0;
  }

  /** In the main thread: CPU time of the current slice, or wall-clock time if that is unknown. */
  get stalledMs(): number {
    const [threadId = 0, isWorking = 0, cpuMs = 0, wallMs = 0] = this.#fields;
    if (isWorking === 0) return 0;
    const now = threadId === 0 ? null : cpuMsOf(threadId);
    return now === null ? monotonicMs() - wallMs : now - cpuMs;
  }
}
