/** Parts of this checkout for processes that tests start: a copy whose files may change, and bundled programs. */
import { rmSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { ROOT } from './server.ts';

/**
 * Copies parts of this checkout into a new folder under the temporary one, which the caller
 * removes.
 *
 * @param parts names in the checkout's root, beside package.json and its lock file
 * @param missing packages it does not have; all others are links to this one's
 */
export async function copyCheckout(
  parts: readonly string[],
  missing: readonly string[],
): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'sluice-checkout-'));
  for (const name of [...parts, 'package.json', 'package-lock.json']) {
    await cp(join(ROOT, name), join(root, name), { recursive: true });
  }
  const modules = join(root, 'node_modules');
  await mkdir(modules);
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (missing.includes(name)) continue;
    await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  }
  return root;
}

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
