#!/usr/bin/env node
/**
 * Builds `dist/`, the JavaScript that `npm start`, `sluice` and their threads run, unless it was built from
 * these very sources: their digest is kept in `dist/built-from`, so neither clocks nor copies matter.
 *
 * Plain JavaScript on Node alone, because it runs before anything is built. `dist/` appears by a rename,
 * whole or not at all. Checks no types; that is `npm run check`.
 */
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = join(ROOT, 'src');
const BUILT = join(ROOT, 'dist');
const STAMP = 'built-from';
const CONFIG = 'tsconfig.build.json';
/** What decides the result beside `src/`. */
const TOOLS = ['package-lock.json', 'tsconfig.json', CONFIG, 'bin/build.js'];
const BUILD_WITHIN_MS = 300_000;

class BuildError extends Error {}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** One digest over the names and contents of all files that decide what is built. */
function digestOf(paths) {
  const hash = createHash('sha256');
  for (const path of paths) {
    const content = readFileSync(path);
    hash.update(`${path.slice(ROOT.length)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

function isBuiltFrom(digest) {
  const stamp = join(BUILT, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === digest;
}

/** The compiler's own file, from the package and not from the PATH. */
function compiler() {
  const require = createRequire(import.meta.url);
  try {
    const manifest = require.resolve('typescript/package.json');
    return join(dirname(manifest), require(manifest).bin.tsc);
  } catch {
    throw new BuildError(
      'dist/ is missing or older than src/, and TypeScript is not installed to build it: run\n' +
        '  npm ci && npm prune --omit=dev\n' +
        'instead of npm ci --omit=dev',
    );
  }
}

function compile(draft) {
  const args = [compiler(), '-p', join(ROOT, CONFIG), '--outDir', draft];
  const { status, error } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    stdio: 'inherit',
    timeout: BUILD_WITHIN_MS,
  });
  if (status !== 0) throw new BuildError(`tsc failed: ${error?.message ?? `exit code ${status}`}`);
}

/** What is read as it is: migrations, styles, the dashboard's script, its icon. */
function copyOthers(draft) {
  for (const path of filesIn(SOURCES)) {
    if (path.endsWith('.ts')) continue;
    const copy = join(draft, path.slice(SOURCES.length));
    mkdirSync(dirname(copy), { recursive: true });
    cpSync(path, copy);
  }
}

/** Puts `draft` in the place of `dist/`. Two builds at once: the same result, one of them stays. */
function publish(draft, digest) {
  const old = `${draft}.old`;
  try {
    if (existsSync(BUILT)) renameSync(BUILT, old);
    renameSync(draft, BUILT);
  } catch (error) {
    if (!isBuiltFrom(digest)) throw error;
  } finally {
    rmSync(old, { recursive: true, force: true });
  }
}

function build(digest) {
  const draft = join(ROOT, `dist.${randomBytes(6).toString('hex')}`);
  try {
    compile(draft);
    copyOthers(draft);
    writeFileSync(join(draft, STAMP), digest);
    publish(draft, digest);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

try {
  // A packed copy has no sources; what it came with is what it runs.
  if (existsSync(SOURCES)) {
    const digest = digestOf([...filesIn(SOURCES), ...TOOLS.map((name) => join(ROOT, name))]);
    if (!isBuiltFrom(digest)) build(digest);
  }
} catch (error) {
  const isDenied = ['EACCES', 'EPERM', 'EROFS'].includes(error.code);
  const hint = isDenied ? ': run `npm run build` as the user that owns this folder' : '';
  process.stderr.write(`sluice: cannot build dist/: ${error.message}${hint}\n`);
  process.exitCode = 1;
}
