/**
 * Another engine beside ours in the same run: a program of its own, which is not part of the
 * repository. It is called with a file of texts, each ended by a NUL, and prints one line of JSON:
 * `{"engine":"…","patterns":2679,"hits":12,"mbPerSecond":6.1}`, megabytes per second of its CPU time.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface BesideRun {
  /** name and version */
  readonly engine: string;
  /** patterns that it accepts */
  readonly patterns: number;
  readonly hits: number;
  readonly mbPerSecond: number;
}

/** @param program with its first arguments, separated by blanks; it gets the file's path as the last */
export function runBeside(program: string, texts: readonly string[]): BesideRun {
  const [command = '', ...given] = program.split(' ');
  const folder = mkdtempSync(join(tmpdir(), 'bench-match-'));
  const file = join(folder, 'texts');
  try {
    writeFileSync(file, texts.map((text) => `${text.replaceAll('\0', ' ')}\0`).join(''));
    return JSON.parse(execFileSync(command, [...given, file], { encoding: 'utf8' })) as BesideRun;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
