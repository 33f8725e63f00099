/** A copy of this checkout whose files a test may change. */
import { cp, mkdir, mkdtemp, readdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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
