/**
 * Makes one JavaScript file of a TypeScript program and what it imports, as bin/build.js does: a process
 * of its own has no Vitest to read TypeScript, and tsx takes a second of CPU time for each.
 */
import { rmSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

/** Every user can enter it, as tests run processes of other users; packages are found from it. */
const FOLDER = fileURLToPath(new URL('../../node_modules/.sluice/', import.meta.url));

/** Removed when this process ends. @returns the path of the file */
export async function bundle(program: URL): Promise<string> {
  const path = `${FOLDER}${basename(program.pathname, '.ts')}-${process.pid}.js`;
  await build({
    input: fileURLToPath(program),
    platform: 'node',
    external: (id) => /^[a-z@]/.test(id),
    output: { file: path, format: 'esm', codeSplitting: false },
  });
  process.once('exit', () => rmSync(path, { force: true }));
  return path;
}
