/**
 * What `npm pack` puts into the package: what runs, the documents that a server serves, and the files of
 * deploy/ that they speak of; nothing else.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

import { documentFiles } from '../src/main/documents.ts';

const ROOT = new URL('../', import.meta.url);
/** Above its size, of which 5 MB are the copies of uWebSockets.js for Node 20. */
const PACKED_BYTES_MAX = 10 * 1024 * 1024;

interface Packed {
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

function pack(): Packed {
  // Scripts are not run: the tests have built already.
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const text = execFileSync('npm', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
  const [packed] = Object.values(JSON.parse(text.toString()) as Record<string, Packed>);
  if (packed === undefined) throw new Error('npm pack listed nothing');
  return packed;
}

test('the package has what runs, and no sources, tests or benchmarks', () => {
  const { size, files } = pack();
  const paths = files.map(({ path }) => path);
  const tops = [...new Set(paths.map((path) => path.split('/')[0]))];
  expect(tops.toSorted()).toEqual([
    'ARCHITECTURE.md',
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'bin',
    'corpus',
    'deploy',
    'dist',
    'docs',
    'package.json',
  ]);
  expect(paths.filter((path) => path.startsWith('bin/'))).toEqual(['bin/sluice.js']);
  expect(paths).toContain('dist/main.js');
  expect(paths).toContain('dist/cli.js');
  expect(paths).toContain('dist/ordinary-records.wasm');
  expect(paths).toContain('dist/text-splitter.wasm');
  expect(paths).toContain('corpus/manifest.json');
  for (const name of ['systemd/sluice.service', 'prometheus/alerts.yaml', 'grafana/sluice.json']) {
    expect(paths).toContain(`deploy/${name}`);
  }
  const migrations = readdirSync(new URL('src/db/migrations/', ROOT));
  expect(migrations.length).toBeGreaterThan(0);
  for (const name of migrations) expect(paths).toContain(`dist/db/migrations/${name}`);
  for (const name of readdirSync(new URL('src/web/assets/', ROOT))) {
    expect(paths).toContain(`dist/web/assets/${name}`);
  }
  for (const { path } of documentFiles()) expect(paths).toContain(path);
  expect(paths.filter((path) => /\.tsx?$|\.test\.js$|\.env|\.key$/.test(path))).toEqual([]);
  const maps = paths.filter((path) => path.endsWith('.map'));
  for (const name of ['main', 'cli', 'pool/worker']) expect(maps).toContain(`dist/${name}.js.map`);
  expect(maps.filter((path) => !paths.includes(path.slice(0, -'.map'.length)))).toEqual([]);
  for (const map of maps) {
    const { sourcesContent = null } = JSON.parse(readFileSync(new URL(map, ROOT), 'utf8'));
    expect(sourcesContent, map).toBeNull();
  }
  expect(size).toBeLessThan(PACKED_BYTES_MAX);
});
