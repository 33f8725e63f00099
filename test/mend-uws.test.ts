/**
 * The copies of uWebSockets.js for Node 20: which file is mended, and how much of it. What they do is
 * tested by test/http/transport/request-head.test.ts.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const PACKAGE = join(ROOT, 'node_modules/uWebSockets.js');
/** The replaced bytes of each: those of one loop. */
const REPLACED = { uws_linux_x64_115: 86, uws_linux_arm64_115: 104 };

/** Mends the files of a folder, in a process of its own as a build does. */
function mendFolder(source: string, target: string): string {
  const code =
    `import { writeMended } from ${JSON.stringify(join(ROOT, 'bin/mend-uws.js'))};` +
    `writeMended(${JSON.stringify(source)}, ${JSON.stringify(target)});`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
    .stderr;
}

test.each(Object.entries(REPLACED))('%s differs within one loop only', (name, bytes) => {
  const before = readFileSync(join(PACKAGE, `${name}.node`));
  const after = readFileSync(join(ROOT, 'dist', `${name}.node`));
  expect(after.length).toBe(before.length);
  const first = before.findIndex((byte, at) => byte !== after[at]);
  const end = first + bytes;
  expect(first).toBeGreaterThan(0);
  expect(after.subarray(0, first).equals(before.subarray(0, first))).toBe(true);
  expect(after.subarray(end).equals(before.subarray(end))).toBe(true);
});

test('another file is refused, and nothing is written for it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-mend-'));
  try {
    for (const name of Object.keys(REPLACED)) {
      const changed = readFileSync(join(PACKAGE, `${name}.node`));
      changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
      writeFileSync(join(folder, `${name}.node`), changed);
    }
    expect(mendFolder(folder, folder)).toContain('is not the file that bin/mend-uws.js mends');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
