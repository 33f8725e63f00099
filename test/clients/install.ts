/**
 * Global set-up of the suite of clients: installs the packages of this folder when its lock file has
 * changed. With NEWEST=1 takes the newest version of every package first, and writes them down.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const HERE = import.meta.dirname;
const LOCK = join(HERE, 'package-lock.json');
const INSTALLED = join(HERE, 'node_modules/.installed-lock.json');

/** Packages that put their program in place with a script. */
const BUILT = ['bun', 'deno', '@anthropic-ai/claude-code'];

const npm = (...args: readonly string[]): void =>
  void execFileSync('npm', args, { cwd: HERE, stdio: 'inherit' });

/** The newest version of each package; of `npm:ai@5.0.1` the newest version 5. */
function newest(): string[] {
  const manifest = readFileSync(join(HERE, 'package.json'), 'utf8');
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> };
  return Object.entries(dependencies).map(([name, version]) => {
    const [, alias] = /^(npm:.+@\d+)\./.exec(version) ?? [];
    return `${name}@${alias ?? 'latest'}`;
  });
}

const isInstalled = (): boolean =>
  existsSync(INSTALLED) && readFileSync(INSTALLED, 'utf8') === readFileSync(LOCK, 'utf8');

/** @throws when npm fails */
export default function setUp(): void {
  if (process.env.NEWEST === '1') npm('install', '--ignore-scripts', ...newest());
  // Not `npm ci`, which refuses a lock file without the packages of other machines.
  else if (!isInstalled()) npm('install', '--ignore-scripts');
  if (!isInstalled()) npm('rebuild', ...BUILT);
  cpSync(LOCK, INSTALLED);
}
