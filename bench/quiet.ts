/**
 * Whether the machine is free for a measurement: how busy its cores are while nothing is measured yet.
 * The load average would still count a program that ended a minute ago.
 */
import { readFileSync } from 'node:fs';

import { pause } from './harness.ts';

/** Share of all cores that others may use before a measurement. */
export const BUSY_SHARE_MAX = 0.1;
const WATCHED_MS = 3000;
/** Of the figures behind `cpu` in /proc/stat. */
const [IDLE_FIELD, IO_WAIT_FIELD, FIELDS] = [3, 4, 8];

/** The first line of /proc/stat: ticks of all cores so far, by what they were used for. */
type Ticks = readonly number[];

/** @param stat the text of /proc/stat */
export function ticksOf(stat: string): Ticks {
  const [, ...ticks] = stat.split('\n', 1)[0]?.split(/ +/) ?? [];
  return ticks.slice(0, FIELDS).map(Number);
}

/** The share of the time between two readings in which the cores were used, by us or by the host. */
export function busyShare(before: Ticks, after: Ticks): number {
  const used = after.map((ticks, field) => ticks - (before[field] ?? 0));
  const all = used.reduce((sum, ticks) => sum + ticks, 0);
  const free = (used[IDLE_FIELD] ?? 0) + (used[IO_WAIT_FIELD] ?? 0);
  return all === 0 ? 0 : (all - free) / all;
}

/** The share of the cores that others use now. */
export async function busyNow(): Promise<number> {
  const read = (): Ticks => ticksOf(readFileSync('/proc/stat', 'utf8'));
  const before = read();
  await pause(WATCHED_MS);
  return busyShare(before, read());
}

/**
 * What is done with a result; null when nothing is to be measured.
 *
 * @param reasons why it must not be written
 * @param force `--force`: it is measured in any case, and only printed
 */
export function useOf(reasons: readonly string[], force: boolean): 'write' | 'print' | null {
  if (force) return 'print';
  return reasons.length === 0 ? 'write' : null;
}
