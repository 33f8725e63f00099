/**
 * The machine on which figures were measured; printed with every result.
 */
import { cpus, loadavg, release, totalmem } from 'node:os';

export interface MachineFacts {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly kernel: string;
  readonly node: string;
  /** load average of the minute before the run; much above 0 means that the machine was busy */
  readonly loadBefore: number;
  readonly at: string;
}

export function machineFacts(): MachineFacts {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    loadBefore: Number((loadavg()[0] ?? 0).toFixed(2)),
    at: new Date().toISOString(),
  };
}

/** The facts as the beginning of a sentence. */
export function machineLine({
  at,
  cores,
  cpu,
  memoryGib,
  kernel,
  node,
  loadBefore,
}: MachineFacts): string {
  return (
    `${at.slice(0, 10)}, ${cores} cores (${cpu}), ${memoryGib} GiB, Linux ${kernel}, ` +
    `Node ${node}, load before ${loadBefore}`
  );
}
