#!/usr/bin/env node
/**
 * `npm run release -- <version>`: makes a release of the checked-out commit.
 *
 * It dates the version's section of the changelog, writes the version to every file that names it,
 * commits and tags, and fills a folder with what is published: the package, its bill of materials,
 * the Helm chart, and the SHA-256 of each. Nothing is pushed or published.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Command, InvalidArgumentError } from 'commander';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CHANGELOG = join(ROOT, 'CHANGELOG.md');
const CHART = 'deploy/helm/sluice';
const SUMS = 'SHA256SUMS';

class ReleaseError extends Error {}

const run = (program, ...args) =>
  execFileSync(program, args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
const git = (...args) => run('git', ...args).trim();

function versionOf(text) {
  if (/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.test(text)) return text;
  throw new InvalidArgumentError('A version is three numbers, as in 0.1.0.');
}

/** @returns below zero, zero or above it, as `a` is lower than `b`, equal or higher */
function compareVersions(a, b) {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2];
}

function requireReleasable(version) {
  if (git('status', '--porcelain') !== '') {
    throw new ReleaseError('The working tree has changes. Commit or remove them first.');
  }
  const released = git('tag', '--list', 'v*').split('\n').filter(Boolean);
  for (const tag of released) {
    if (compareVersions(version, tag.slice(1)) <= 0) {
      throw new ReleaseError(`${tag} is released already. Choose a higher version.`);
    }
  }
}

/** Replaces the only match of a pattern in a file. */
function edit(path, pattern, replacement, problem) {
  const file = resolve(ROOT, path);
  const text = readFileSync(file, 'utf8');
  if (!pattern.test(text)) throw new ReleaseError(problem);
  writeFileSync(file, text.replace(pattern, replacement));
}

function writeVersion(version, date) {
  edit(
    CHANGELOG,
    new RegExp(`^## ${version.replaceAll('.', '\\.')} — unreleased$`, 'm'),
    `## ${version} — ${date}`,
    `CHANGELOG.md has no section "## ${version} — unreleased". Write what changed under that heading.`,
  );
  const pattern = /^(version|appVersion): .+$/gm;
  edit(`${CHART}/Chart.yaml`, pattern, `$1: ${version}`, 'Chart.yaml has no version.');
  run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version');
}

/** Fills the folder with what is published, and writes the digest of each file. */
function makeFiles(version, folder) {
  run('npm', 'pack', '--pack-destination', folder);
  writeFileSync(join(folder, `sluice-${version}.cdx.json`), run('npm', 'run', '--silent', 'sbom'));
  git('add', '--update');
  const chart = `${git('write-tree')}:${CHART}`;
  const archive = join(folder, `sluice-chart-${version}.tgz`);
  run('git', 'archive', '--format=tar.gz', '--prefix=sluice/', `--output=${archive}`, chart);
  const digests = readdirSync(folder)
    .sort()
    .map((name) => {
      const digest = createHash('sha256').update(readFileSync(join(folder, name)));
      return `${digest.digest('hex')}  ${name}\n`;
    });
  writeFileSync(join(folder, SUMS), digests.join(''));
}

/** Changes nothing in the repository when a step fails. */
function release(version, { out, date }) {
  requireReleasable(version);
  const folder = resolve(out ?? join(ROOT, 'release', version));
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0) {
    throw new ReleaseError(`${folder} is not empty. Name another folder with --out.`);
  }
  try {
    writeVersion(version, date);
    makeFiles(version, folder);
    git('commit', '--quiet', '--all', '--allow-empty', '--message', `release: ${version}`);
    git('tag', '--annotate', `v${version}`, '--message', `Sluice ${version}`);
  } catch (error) {
    git('reset', '--quiet', '--hard');
    throw error;
  }
  process.stdout.write(
    `v${version} is committed and tagged. Its files are in ${folder}:\n` +
      `${readdirSync(folder)
        .map((name) => `  ${name}\n`)
        .join('')}` +
      `Check them with: cd ${folder} && sha256sum --check ${SUMS}\n` +
      'Publish them, and push the commit with its tag: git push --follow-tags\n',
  );
}

const program = new Command('release')
  .description('Makes a release of the checked-out commit: changelog, versions, tag, and files.')
  .argument('<version>', 'for example 0.1.0', versionOf)
  .option('--out <folder>', 'an empty or new folder for the files (default: release/<version>)')
  .option('--date <date>', 'of the release', new Date().toISOString().slice(0, 10))
  .addHelpText(
    'after',
    `
Before: npm run check, npm test and .ci/nightly have passed on this commit.
Exit code 1 when something is missing; docs/releases.md lists all steps.

Examples:
  npm run release -- 0.1.0
  npm run release -- 0.1.1 --out /srv/releases/0.1.1
`,
  );
program.parse();
try {
  release(program.processedArgs[0], program.opts());
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  process.stderr.write(`release: ${error.message}\n`);
  process.exitCode = 1;
}
