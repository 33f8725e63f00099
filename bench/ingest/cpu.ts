/**
 * What processes have used so far, from Linux's `/proc`: CPU seconds in steps of 10 ms, over all threads
 * of a process, for PostgreSQL over the whole cluster, including children that have exited; bytes; memory.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, which Linux fixes at 100 for all that /proc shows. */
const TICKS_PER_SECOND = 100;
const KIB_PER_MB = 1000 / 1.024;
/** Of the figures behind `cpu`: user, nice, system, idle, iowait, irq, softirq, steal. */
const STEAL_FIELD = 7;

interface Stat {
  readonly parent: number;
  readonly own: number;
  readonly ended: number;
}

function statOf(pid: number): Stat | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The name, in brackets, may hold blanks and brackets; fields are counted from behind it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return {
    parent: field(4),
    own: (field(14) + field(15)) / TICKS_PER_SECOND,
    ended: (field(16) + field(17)) / TICKS_PER_SECOND,
  };
}

export function cpuSeconds(pid: number): number {
  const stat = statOf(pid);
  if (stat === null) throw new Error(`process ${pid} has ended`);
  return stat.own;
}

export function parentOf(pid: number): number {
  const stat = statOf(pid);
  if (stat === null) throw new Error(`process ${pid} has ended`);
  return stat.parent;
}

/** CPU seconds of a process and all its children, ended ones too. */
export function familyCpuSeconds(pid: number): number {
  let seconds = cpuSeconds(pid) + (statOf(pid)?.ended ?? 0);
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(Number(name));
    if (stat?.parent === pid) seconds += stat.own;
  }
  return seconds;
}

/**
 * Bytes that a process has read and written so far, all threads together: of sockets and pipes that
 * Node reads and writes, and of files; not those of uWebSockets.js, which the kernel does not count here.
 */
export function movedBytes(pid: number): { readonly read: number; readonly written: number } {
  const text = readFileSync(`/proc/${pid}/io`, 'utf8');
  const field = (name: string): number =>
    Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1]);
  return { read: field('rchar'), written: field('wchar') };
}

export function residentMb(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kib) / KIB_PER_MB);
}

/**
 * Seconds so far in which this machine's host gave the cores to others ("steal"): nothing runs here
 * meanwhile, whatever is measured.
 */
export function stolenSeconds(): number {
  const [, ...ticks] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/ +/) ?? [];
  return Number(ticks[STEAL_FIELD]) / TICKS_PER_SECOND;
}
