#!/usr/bin/env node
/**
 * Builds `dist/`, the JavaScript that `npm start`, `sluice` and their threads run, unless `dist/`
 * is up to date: `dist/built-from` holds the digest of the sources it was built from. File times
 * are not used.
 *
 * Some 30 files instead of 600, because Node.js takes half a millisecond for each: a program of its
 * own for each of `PROGRAMS`, and `dist/chunks/` for what several share. Packages stay outside.
 *
 * Plain JavaScript, because it runs before anything is built. `dist/` is replaced by a rename, so it
 * is never incomplete. Types are not checked here; `npm run check` does that.
 */
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
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { MENDED_FILES, writeMended } from './mend-uws.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = join(ROOT, 'src');
const BUILT = join(ROOT, 'dist');
const STAMP = 'built-from';
const PREFILTER = join(SOURCES, 'engine/prefilter/assembly');
/** AssemblyScript: changes rarely, and takes longer to compile than all others. */
const ASSEMBLIES = [
  { folder: join(SOURCES, 'ingest/assembly'), entry: 'scan.ts', file: 'ordinary-records.wasm' },
  { folder: join(SOURCES, 'model/packed/assembly'), entry: 'split.ts', file: 'text-splitter.wasm' },
  { folder: PREFILTER, entry: 'ascii.ts', file: 'ascii-literals.wasm' },
  { folder: PREFILTER, entry: 'non-ascii.ts', file: 'non-ascii-literals.wasm' },
];
const ASSEMBLY_STAMP = 'assembled-from';
/** What is started by its path: programs, threads, processes. */
const PROGRAMS = [
  'main',
  'cli',
  'terminal/node-runtime',
  'pool/worker',
  'pool/catalog-process',
  'ingest/decode-process',
  'relay/decode-process',
];
/** Inputs of the build beside `src/`. */
const TOOLS = ['package-lock.json', 'bin/build.js', 'bin/mend-uws.js'];
/** rolldown's own, for what TARGET does not have. */
const HELPERS = '@oxc-project/runtime';
/** Of Node.js 20. */
const TARGET = 'es2023';
const PUBLISH_ATTEMPTS = 5;

class BuildError extends Error {}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** One SHA-256 over the names and contents of all inputs. */
function digestOf(paths) {
  const hash = createHash('sha256');
  for (const path of paths) {
    const content = readFileSync(path);
    hash.update(`${path.slice(ROOT.length)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** A file of `dist/`; null when it is missing, as while another build replaces the folder. */
function readBuilt(name) {
  try {
    return readFileSync(join(BUILT, name));
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return null;
  }
}

const toolFiles = () => TOOLS.map((name) => join(ROOT, name));

/** Whether `dist/` was built from these sources, and its WebAssembly is whole. */
function isBuiltFrom(digest) {
  return (
    readBuilt(STAMP)?.toString() === digest &&
    assembledBefore() !== null &&
    MENDED_FILES.every((name) => existsSync(join(BUILT, name)))
  );
}

const assemblyStamp = (digest, programs) => {
  const hash = createHash('sha256');
  for (const program of programs) hash.update(program);
  return `${digest} ${hash.digest('hex')}`;
};

/**
 * The programs that were compiled before; null when one is missing or damaged. By its digest, because a processor
 * without SIMD accepts none.
 *
 * @param digest only if they were compiled of these sources
 */
function assembledBefore(digest) {
  const stamp = readBuilt(ASSEMBLY_STAMP)?.toString();
  const programs = ASSEMBLIES.map(({ file }) => readBuilt(file));
  if (stamp === undefined || programs.includes(null)) return null;
  return stamp === assemblyStamp(digest ?? stamp.split(' ', 1)[0], programs) ? programs : null;
}

/** A package that is only needed to build. */
async function tool(name) {
  try {
    return await import(name);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new BuildError(
      `dist/ is missing or older than src/, and ${name} is not installed to build it: run\n` +
        '  npm ci && npm prune --omit=dev\n' +
        'instead of npm ci --omit=dev',
    );
  }
}

/** Packages, and Node.js's own modules: what is not named by a path. */
const isPackage = (id) => /^[a-z@]/.test(id) && !id.startsWith(HELPERS);

async function compile(draft) {
  const { rolldown } = await tool('rolldown');
  const bundle = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(PROGRAMS.map((name) => [name, join(SOURCES, `${name}.ts`)])),
    platform: 'node',
    external: isPackage,
    tsconfig: false,
    transform: { target: TARGET },
  });
  const { output } = await bundle.write({
    dir: draft,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    // For stack traces (src/stack-traces.ts).
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await bundle.close();
  checkDepth(output);
}

/** Compiles AssemblyScript, or copies what was compiled of the same sources before. */
async function assemble(draft) {
  const sources = ASSEMBLIES.flatMap(({ folder }) => filesIn(folder));
  const digest = digestOf([...sources, ...toolFiles()]);
  const before = assembledBefore(digest);
  const programs = [];
  for (const [index, assembly] of ASSEMBLIES.entries()) {
    const target = join(draft, assembly.file);
    if (before === null) await compileAssembly(assembly, target);
    else writeFileSync(target, before[index]);
    programs.push(readFileSync(target));
  }
  writeFileSync(join(draft, ASSEMBLY_STAMP), assemblyStamp(digest, programs));
}

async function compileAssembly({ folder, entry, file }, target) {
  const { main } = await tool('assemblyscript/asc');
  const { error, stderr } = await main([
    ...[join(folder, entry), '--outFile', target],
    ...['--baseDir', folder, '--runtime', 'stub', '--enable', 'simd', '--use', 'abort='],
    ...['-O3', '--noAssert', '--noColors'],
  ]);
  if (error !== null) throw new BuildError(`${file}: ${error.message}\n${stderr}`);
}

/** A path like `../../package.json` means the same from `src/main/` as from `dist/chunks/`. */
function checkDepth(output) {
  for (const { fileName, code = '' } of output) {
    if (!fileName.includes('/') && code.includes('import.meta')) {
      throw new BuildError(`${fileName} has import.meta of a file of another depth`);
    }
  }
}

/** Copies the files that are not compiled: migrations, styles, the dashboard's script and icon. */
function copyOthers(draft) {
  for (const path of filesIn(SOURCES)) {
    if (path.endsWith('.ts')) continue; // Also AssemblyScript.
    const copy = join(draft, path.slice(SOURCES.length));
    mkdirSync(dirname(copy), { recursive: true });
    cpSync(path, copy);
  }
}

/**
 * Renames; false when `from` is missing, or `to` is a folder that another build put there first.
 */
function tryRename(from, to) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code)) return false;
    throw error;
  }
}

/**
 * Replaces `dist/` by `draft`. Of two builds of the same sources at once, either result will do.
 */
function publish(draft, digest) {
  const old = `${draft}.old`;
  for (let attempt = 1; attempt <= PUBLISH_ATTEMPTS; attempt += 1) {
    tryRename(BUILT, `${old}.${attempt}`);
    const isDone = tryRename(draft, BUILT) || isBuiltFrom(digest);
    rmSync(`${old}.${attempt}`, { recursive: true, force: true });
    if (isDone) return;
  }
  throw new BuildError('another build keeps replacing dist/');
}

async function build(digest) {
  const draft = join(ROOT, `dist.${randomBytes(6).toString('hex')}`);
  try {
    await compile(draft);
    await assemble(draft);
    writeMended(join(ROOT, 'node_modules/uWebSockets.js'), draft);
    copyOthers(draft);
    writeFileSync(join(draft, STAMP), digest);
    publish(draft, digest);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

try {
  // An installed package has no sources, only its dist/.
  if (existsSync(SOURCES)) {
    const digest = digestOf([...filesIn(SOURCES), ...toolFiles()]);
    if (!isBuiltFrom(digest)) await build(digest);
  }
} catch (error) {
  const isDenied = ['EACCES', 'EPERM', 'EROFS'].includes(error.code);
  const hint = isDenied ? ': run `npm run build` as the user that owns this folder' : '';
  process.stderr.write(`sluice: cannot build dist/: ${error.message}${hint}\n`);
  process.exitCode = 1;
}
