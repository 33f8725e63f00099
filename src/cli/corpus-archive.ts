/**
 * The archive of the rule package, as npm published it: fetched by npm, or taken from its cache, and
 * compared with the integrity that package-lock.json pins. What is installed may have been changed
 * since; the archive cannot.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { buildManifest, type Manifest } from '../engine/corpus/corpus.ts';
import { OperatorError } from '../errors.ts';

/** A megabyte from the registry; npm tries again by itself. */
const NPM_TIMEOUT_MS = 180_000;
const UNPACK_TIMEOUT_MS = 60_000;

/** The package as package-lock.json pins it. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** sha512-… */
  readonly integrity: string;
}

/**
 * The manifest of the published package.
 *
 * @throws {OperatorError} when it cannot be fetched, or its archive has another integrity
 */
export function publishedManifest(locked: LockedPackage): Manifest {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-corpus-'));
  try {
    const archive = fetchArchive(locked, folder);
    const unpacked = join(folder, 'unpacked');
    mkdirSync(unpacked);
    run(
      'tar',
      ['-xzf', archive, '-C', unpacked, '--strip-components=1'],
      folder,
      UNPACK_TIMEOUT_MS,
    );
    return buildManifest(unpacked, locked.integrity);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function fetchArchive({ name, version, integrity }: LockedPackage, folder: string): string {
  const wanted = `${name}@${version}`;
  run('npm', ['pack', wanted, '--ignore-scripts', '--prefer-offline'], folder, NPM_TIMEOUT_MS);
  const [file] = readdirSync(folder).filter((one) => one.endsWith('.tgz'));
  if (file === undefined) throw new OperatorError(`npm pack ${wanted} wrote no archive`);
  const archive = join(folder, file);
  const actual = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (actual === integrity) return archive;
  throw new OperatorError(
    `The registry's archive of ${wanted} is not the one that package-lock.json pins: it has the ` +
      `integrity ${actual}, not ${integrity}. Nothing was written.`,
  );
}

function run(program: string, args: readonly string[], cwd: string, timeoutMs: number): void {
  const { status, error, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    timeout: timeoutMs,
  });
  if (status === 0) return;
  const why = error?.message ?? stderr.trim();
  throw new OperatorError(`${program} ${args[0]} failed: ${why}`, { cause: error });
}
