/**
 * The machine and the commit on which figures were measured; printed with every result.
 */
import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** What must be committed before figures are written: what is measured, and what measures. */
const MEASURED_PATHS = ['src', 'bin', 'bench', 'package.json', 'package-lock.json'];
const RESULTS = ':(exclude)bench/results';
const COMMIT_DIGITS = 10;

export interface MachineFacts {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly kernel: string;
  readonly node: string;
  /** load average of the minute before the run; much above 0 means that the machine was busy */
  readonly loadBefore: number;
  readonly at: string;
  /** that was measured; null outside a repository */
  readonly commit: string | null;
}

/** The output of git in this checkout; null when there is none. */
export function git(...args: readonly string[]): string | null {
  try {
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return null;
  }
}

/** Whether what is measured is what the commit holds. */
export function isCommitted(): boolean {
  return git('status', '--porcelain', '--', ...MEASURED_PATHS, RESULTS) === '';
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
    commit: git('rev-parse', `--short=${COMMIT_DIGITS}`, 'HEAD'),
  };
}

export function machineLine(facts: MachineFacts): string {
  const { at, cores, cpu, memoryGib, kernel, node, loadBefore, commit } = facts;
  return (
    `${at.slice(0, 10)}, commit ${commit ?? 'unknown'}, ${cores} cores (${cpu}), ` +
    `${memoryGib} GiB, Linux ${kernel}, Node ${node}, load before ${loadBefore}`
  );
}
