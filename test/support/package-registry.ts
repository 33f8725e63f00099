/** A registry with packages of a test's own making, for the real npm. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface PackageRegistry {
  readonly url: string;
  /**
   * Publishes a package folder with the real `npm pack`.
   * @returns the integrity of its archive
   */
  readonly publish: (folder: string) => string;
  readonly close: () => Promise<void>;
}

interface Published {
  readonly manifest: { readonly name: string; readonly version: string };
  readonly archive: Buffer;
}

export function integrityOf(archive: Buffer): string {
  return `sha512-${createHash('sha512').update(archive).digest('base64')}`;
}

export async function openRegistry(): Promise<PackageRegistry> {
  const versions = new Map<string, Published>();
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://registry');
    const archive = versions.get(/-([\d.]+)\.tgz$/.exec(pathname)?.[1] ?? '')?.archive;
    response.end(archive ?? JSON.stringify(packument()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const packument = () => {
    const all = [...versions.values()].map(({ manifest, archive }) => ({
      ...manifest,
      dist: {
        tarball: `${url}/${manifest.name}/-/${manifest.name}-${manifest.version}.tgz`,
        integrity: integrityOf(archive),
      },
    }));
    return {
      name: all[0]?.name,
      'dist-tags': { latest: all.at(-1)?.version },
      versions: Object.fromEntries(all.map((one) => [one.version, one])),
    };
  };
  return {
    url,
    publish: (folder) => {
      const file = execFileSync('npm', ['pack', '--silent'], { cwd: folder, encoding: 'utf8' });
      const archive = readFileSync(join(folder, file.trim()));
      const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      versions.set(manifest.version, { manifest, archive });
      return integrityOf(archive);
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
