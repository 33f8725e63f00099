/** `sluice corpus …`: verifies the pinned corpus, and pins another one. */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { loadManifest, type Manifest, verifyCorpus } from '../engine/corpus/corpus.ts';
import { OperatorError } from '../errors.ts';
import {
  CORPUS_PACKAGE,
  COVERAGE_PATH,
  corpusPackageDir,
  LOCKFILE_PATH,
  MANIFEST_PATH,
  pinnedCorpus,
} from '../main/corpus-location.ts';
import { loadKeptCatalog } from '../pool/kept-catalog.ts';
import { note, paint } from '../terminal/output.ts';
import { answer, type OutputOptions } from './answer.ts';
import { disagreement, lockedPackage, refreshCorpus } from './corpus-refresh.ts';
import { reviewLines, reviewOverrides } from './corpus-review.ts';
import { coveragePage } from './coverage.ts';

function verify(options: OutputOptions): void {
  const manifest = loadManifest(MANIFEST_PATH);
  // An installed package has no lock file; every rule file is checked either way.
  const difference = existsSync(LOCKFILE_PATH)
    ? disagreement(lockedPackage(LOCKFILE_PATH, manifest.package), manifest)
    : null;
  if (difference !== null) {
    throw new OperatorError(`${difference} Review the change and run sluice corpus refresh.`);
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

/** File names that a refresh adds, removes and changes. */
function difference(before: Manifest, after: Manifest) {
  const names = [...new Set([...Object.keys(before.files), ...Object.keys(after.files)])].sort();
  const isIn = ({ files }: Manifest, name: string) => Object.hasOwn(files, name);
  return {
    added: names.filter((name) => !isIn(before, name)),
    removed: names.filter((name) => !isIn(after, name)),
    changed: names.filter(
      (name) => isIn(before, name) && isIn(after, name) && before.files[name] !== after.files[name],
    ),
  };
}

interface RefreshOptions extends OutputOptions {
  readonly withoutTests?: boolean;
}

async function refresh(options: RefreshOptions): Promise<void> {
  const files = {
    ...pinnedCorpus(),
    lockfilePath: LOCKFILE_PATH,
    coveragePath: COVERAGE_PATH,
  };
  const refreshed = refreshCorpus(files, options.withoutTests);
  const { before, after, warnings, rules, classification } = refreshed;
  for (const warning of warnings) note(`${paint.yellow('warning:')} ${warning}`);
  const overrides = await reviewOverrides(classification);
  const changes = difference(before, after);
  const answered = {
    from: before.version,
    to: after.version,
    ...changes,
    warnings,
    rules,
    overrides,
  };
  answer(options, answered, () =>
    [
      `package    ${CORPUS_PACKAGE} ${before.version} → ${after.version}, ${after.integrity}`,
      `files      ${changes.added.length} added, ${changes.removed.length} removed, ${changes.changed.length} changed`,
      ...reviewLines(rules, overrides),
      '',
      'Written: corpus/manifest.json, corpus/classification.json, docs/rules-coverage.md.',
      'Review them with git diff, then commit them together.',
    ].join('\n'),
  );
}

function coverage(): void {
  process.stdout.write(coveragePage(loadKeptCatalog(pinnedCorpus())));
}

export function addCorpusCommands(program: Command): void {
  const corpus = program.command('corpus').description('the pinned rule corpus');
  corpus
    .command('verify')
    .description('compare every rule file with corpus/manifest.json; exit code 1 on any difference')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice corpus verify && echo untouched')
    .action(verify);
  corpus
    .command('refresh')
    .description(
      'pin the installed package: rewrite what corpus/ and docs/rules-coverage.md hold, and print a review',
    )
    .option('--without-tests', 'pin it even if most of its rules ship no test cases and never run')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  npm install --save-exact agent-threat-rules@X.Y.Z\n' +
        '  sluice corpus refresh && git diff corpus docs/rules-coverage.md',
    )
    .action(refresh);
  corpus
    .command('coverage')
    .description('how much of the corpus runs here, and why the rest does not, as Markdown')
    .addHelpText('after', '\nExample:\n  sluice corpus coverage | less')
    .action(coverage);
}
