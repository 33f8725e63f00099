/** Files in which long commands record how far they came. */
import { open, readFile, rename } from 'node:fs/promises';

/** Returns the JSON of a file; undefined if there is no such file, null if it is not JSON. */
export async function readJsonFile(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces a file as a whole; it survives a crash when this resolves. */
export async function replaceJsonFile(path: string, value: unknown): Promise<void> {
  const part = `${path}.part`;
  const handle = await open(part, 'w');
  try {
    await handle.writeFile(`${JSON.stringify(value)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(part, path);
}
