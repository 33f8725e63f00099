/** `sluice corpus …`: verifies the pinned corpus, and rewrites its manifest for review. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';

import {
  buildManifest,
  loadManifest,
  type Manifest,
  toManifestText,
  verifyCorpus,
} from '../engine/corpus/corpus.ts';
import { OperatorError } from '../errors.ts';
import {
  CORPUS_PACKAGE,
  corpusPackageDir,
  LOCKFILE_PATH,
  MANIFEST_PATH,
} from '../main/corpus-location.ts';
import { paint } from '../terminal/paint.ts';
import { answer, type OutputOptions } from './answer.ts';
import { coveragePage } from './coverage.ts';
import { loadCatalog } from './load-catalog.ts';

/** The package's integrity as the lock file pins it. */
function lockedIntegrity(): string {
  const lock = JSON.parse(readFileSync(LOCKFILE_PATH, 'utf8')) as {
    packages?: Record<string, { integrity?: string }>;
  };
  const integrity = lock.packages?.[`node_modules/${CORPUS_PACKAGE}`]?.integrity;
  if (integrity === undefined) {
    throw new OperatorError(`package-lock.json does not pin ${CORPUS_PACKAGE}: run npm install`);
  }
  return integrity;
}

function verify(options: OutputOptions): void {
  const manifest = loadManifest(MANIFEST_PATH);
  const integrity = lockedIntegrity();
  if (integrity !== manifest.integrity) {
    throw new OperatorError(
      `package-lock.json pins another ${CORPUS_PACKAGE} than corpus/manifest.json was written for. ` +
        'Review the change and run sluice corpus refresh.',
    );
  }
  const { snapshot } = verifyCorpus(corpusPackageDir(), manifest);
  answer(options, snapshot, () =>
    [
      `${paint.green('verified')}  ${snapshot.files} rule files of ${CORPUS_PACKAGE} ${snapshot.version}`,
      `snapshot  ${snapshot.date}`,
      `identity  ${snapshot.identity}`,
      `sha256    ${snapshot.sha256}`,
    ].join('\n'),
  );
}

/** What a refresh changes, file by file. */
function difference(before: Manifest, after: Manifest) {
  const names = [...new Set([...Object.keys(before.files), ...Object.keys(after.files)])].sort();
  return {
    added: names.filter((name) => !Object.hasOwn(before.files, name)),
    removed: names.filter((name) => !Object.hasOwn(after.files, name)),
    changed: names.filter(
      (name) =>
        Object.hasOwn(before.files, name) &&
        Object.hasOwn(after.files, name) &&
        before.files[name] !== after.files[name],
    ),
  };
}

function refresh(options: OutputOptions): void {
  const before = loadManifest(MANIFEST_PATH);
  const after = buildManifest(corpusPackageDir(), lockedIntegrity());
  writeFileSync(MANIFEST_PATH, toManifestText(after));
  const changes = difference(before, after);
  answer(options, { from: before.version, to: after.version, ...changes }, () => {
    const { added, removed, changed } = changes;
    const total = added.length + removed.length + changed.length;
    if (total === 0 && before.version === after.version) return 'Nothing has changed.';
    return [
      `corpus/manifest.json now describes ${CORPUS_PACKAGE} ${after.version} (was ${before.version}):`,
      ...added.map((name) => `  ${paint.green('+')} ${name}`),
      ...removed.map((name) => `  ${paint.red('-')} ${name}`),
      ...changed.map((name) => `  ${paint.yellow('~')} ${name}`),
      'Review it with git diff, compare sluice rules list before and after, then commit.',
    ].join('\n');
  });
}

const COVERAGE_PATH = 'docs/rules-coverage.md';

async function coverage(options: { write?: boolean | string }): Promise<void> {
  const page = coveragePage(await loadCatalog());
  if (options.write === undefined) {
    process.stdout.write(page);
    return;
  }
  const path = typeof options.write === 'string' ? options.write : COVERAGE_PATH;
  writeFileSync(path, page);
  process.stdout.write(`${path} is written.\n`);
}

/** Adds `corpus verify`, `corpus refresh` and `corpus coverage`. */
export function addCorpusCommands(program: Command): void {
  const corpus = program.command('corpus').description('the pinned rule corpus');
  corpus
    .command('verify')
    .description('compare every rule file with corpus/manifest.json; exit code 1 on any difference')
    .option('--json', 'answer as JSON')
    .addHelpText('after', '\nExample:\n  sluice corpus verify && echo untouched')
    .action(verify);
  corpus
    .command('refresh')
    .description('rewrite corpus/manifest.json from the installed package, for review')
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  npm install --save-exact agent-threat-rules@X.Y.Z\n' +
        '  sluice corpus refresh && git diff corpus/manifest.json',
    )
    .action(refresh);
  corpus
    .command('coverage')
    .description('how much of the corpus runs here, and why the rest does not, as Markdown')
    .option('--write [file]', `write it to a file; ${COVERAGE_PATH} when none is named`)
    .addHelpText('after', '\nExample:\n  sluice corpus coverage | less')
    .action(coverage);
}
