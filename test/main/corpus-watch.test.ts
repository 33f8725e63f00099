/**
 * The periodic check of the corpus on disk: files that differ make the process not ready, a check
 * that fails to run does not, and stopping does not wait for a check. The files are real, the
 * intervals short.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { buildManifest, CorpusError, toManifestText } from '../../src/engine/corpus/corpus.ts';
import { watchCorpus } from '../../src/main/corpus-watch.ts';
import { waitFor } from '../support/wait-for.ts';

const TIMING = { intervalMs: 5, retryMs: 5 };
const SOON = { withinMs: 10_000 };
const RULE = 'rules/prompt-injection/one.yaml';

let folder: string;
let packageDir: string;
let manifestPath: string;
let differed: unknown[];
let unchecked: unknown[];
let stop: () => void | Promise<void>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-corpus-watch-'));
  packageDir = join(folder, 'package');
  manifestPath = join(folder, 'manifest.json');
  mkdirSync(join(packageDir, 'rules/prompt-injection'), { recursive: true });
  writeFileSync(join(packageDir, 'package.json'), '{"name":"rules","version":"1.0.0"}');
  writeFileSync(join(packageDir, RULE), "title: one\ndate: '2026/01/02'\n");
  const integrity = `sha512-${'a'.repeat(86)}==`;
  writeFileSync(manifestPath, toManifestText(buildManifest(packageDir, integrity)));
  differed = [];
  unchecked = [];
});
afterEach(async () => {
  await stop();
  rmSync(folder, { recursive: true });
});

const watch = () =>
  watchCorpus(
    { packageDir, manifestPath },
    {
      corpusDiffers: (error) => differed.push(error),
      corpusUnchecked: (error) => unchecked.push(error),
    },
    {
      add: (_name, run) => {
        stop = run;
      },
    },
    TIMING,
  );

const until = (what: string, isSo: () => boolean) => waitFor(async () => isSo(), { ...SOON, what });
const isReady = (probe: () => Promise<void>) =>
  probe().then(
    () => true,
    () => false,
  );

test('is ready again when the files are', async () => {
  const probe = watch();
  expect(await isReady(probe)).toBe(true);
  renameSync(join(packageDir, RULE), join(folder, 'away'));
  await until('the difference to be seen', () => differed.length > 0);
  await expect(probe()).rejects.toThrow(`file_missing ${RULE}`);
  expect(differed[0]).toBeInstanceOf(CorpusError);
  renameSync(join(folder, 'away'), join(packageDir, RULE));
  await waitFor(() => isReady(probe), { ...SOON, what: 'the probe to succeed again' });
  expect(unchecked).toEqual([]);
});

test.each([
  ['altered', () => writeFileSync(join(packageDir, RULE), 'other'), `file_altered ${RULE}`],
  ['added', () => writeFileSync(join(packageDir, `${RULE}.bak`), ''), `file_extra ${RULE}.bak`],
  ['all removed', () => rmSync(join(packageDir, 'rules'), { recursive: true }), 'file_missing'],
  ['of another package', () => rmSync(join(packageDir, 'package.json')), 'package_mismatch'],
  ['without a manifest', () => rmSync(manifestPath), 'manifest_invalid'],
])('is not ready: %s', async (_what, tamper, problem) => {
  const probe = watch();
  tamper();
  await until('the difference to be seen', () => differed.length > 0);
  await expect(probe()).rejects.toThrow(problem);
});

test('a check that fails to run is reported and repeated, without an alarm', async () => {
  renameSync(manifestPath, join(folder, 'away'));
  // Reading a folder fails like a broken disk: an error that is not about the file.
  mkdirSync(manifestPath);
  const probe = watch();
  await until('two checks to fail', () => unchecked.length > 1);
  expect(await isReady(probe)).toBe(true);
  rmSync(manifestPath, { recursive: true });
  cpSync(join(folder, 'away'), manifestPath);
  rmSync(join(packageDir, RULE));
  await until('the next check to be made', () => differed.length > 0);
});

test('stopping does not wait for a check that hangs', async () => {
  rmSync(manifestPath);
  execFileSync('mkfifo', [manifestPath]);
  watch();
  // Opens once the check reads the pipe, and then keeps it waiting for data that never comes.
  const writer = await open(manifestPath, 'w');
  await stop();
  await writer.close();
  expect(differed).toEqual([]);
  expect(unchecked).toEqual([]);
});
