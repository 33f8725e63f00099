/**
 * `sluice corpus refresh` to another version: the real command in a checkout of its own, the real npm
 * and a registry with packages of made-up rules.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { appendFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorkspace } from '../../src/db/people/workspaces.ts';
import { buildManifest, toManifestText } from '../../src/engine/corpus/corpus.ts';
import { CORPUS_PACKAGE } from '../../src/main/corpus-location.ts';
import { type TinyRule, tinyYaml } from '../engine/tiny-rules.ts';
import { copyCheckout } from '../support/checkout.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';

/** A registry with packages of the test, for the real npm. */
interface PackageRegistry {
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

function integrityOf(archive: Buffer): string {
  return `sha512-${createHash('sha512').update(archive).digest('base64')}`;
}

async function openRegistry(): Promise<PackageRegistry> {
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

const WRITTEN = ['corpus/manifest.json', 'corpus/classification.json', 'docs/rules-coverage.md'];
const SAME: TinyRule = { id: 'ATR-2026-90001', conditions: [['user_input', 'open sesame']] };
const CHANGES = 'ATR-2026-90002';
const GOES: TinyRule = { id: 'ATR-2026-90003', conditions: [['user_input', 'hocus pocus']] };
const COMES: TinyRule = {
  id: 'ATR-2026-90004',
  status: 'experimental',
  conditions: [['content', 'abracadabra']],
};
function untested(id: string): TinyRule {
  return { id, conditions: [['content', 'shazam']], truePositives: [], trueNegatives: [] };
}
/** RE2 has no backreferences. */
const VERSIONS: Readonly<Record<string, readonly TinyRule[]>> = {
  '1.0.0': [SAME, { id: CHANGES, conditions: [['user_input', 'simsalabim']] }, GOES],
  // Half of the rules ship no test cases, then most of them.
  '3.0.0': [SAME, untested(CHANGES)],
  '4.0.0': [SAME, untested(CHANGES), untested('ATR-2026-90005')],
  '2.0.0': [SAME, { id: CHANGES, conditions: [['user_input', '(simsala|abra)\\1']] }, COMES],
};

let registry: PackageRegistry;
let scratch: MigratedDatabase;
let checkout: string;
let packages: string;
const integrities = new Map<string, string>();

/** Installs a version, as npm would: the package's folder and the lock file's entry. */
async function install(version: string, integrity = integrities.get(version) ?? ''): Promise<void> {
  const folder = join(checkout, 'node_modules', CORPUS_PACKAGE);
  await rm(folder, { recursive: true, force: true });
  await cp(join(packages, version), folder, { recursive: true });
  const entry = { version, integrity };
  const lock = { packages: { [`node_modules/${CORPUS_PACKAGE}`]: entry } };
  await writeFile(join(checkout, 'package-lock.json'), JSON.stringify(lock));
}

/** Not beside the test's own event loop: the registry must answer npm. */
async function refresh(...options: string[]) {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, ['bin/sluice.js', 'corpus', 'refresh', ...options], {
    cwd: checkout,
    env: {
      PATH,
      HOME: packages,
      NO_COLOR: '1',
      DATABASE_URL: scratch.url,
      npm_config_registry: registry.url,
      npm_config_cache: join(packages, 'cache'),
    },
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const code = await new Promise((resolve) => child.once('close', resolve));
  return { code, ...output };
}

const written = () => Promise.all(WRITTEN.map((path) => readFile(join(checkout, path), 'utf8')));

beforeAll(async () => {
  registry = await openRegistry();
  scratch = await openMigratedDatabase();
  packages = await mkdtemp(join(tmpdir(), 'sluice-packages-'));
  for (const [version, rules] of Object.entries(VERSIONS)) {
    const folder = join(packages, version);
    for (const rule of rules) {
      const path = join(folder, `rules/prompt-injection/${rule.id}.yaml`);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, tinyYaml(rule));
    }
    await mkdir(join(folder, 'dist'));
    await writeFile(join(folder, 'dist/index.js'), '');
    const manifest = { name: CORPUS_PACKAGE, version, main: './dist/index.js' };
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    integrities.set(version, registry.publish(folder));
    await rm(join(folder, `${CORPUS_PACKAGE}-${version}.tgz`));
  }
  checkout = await copyCheckout(['bin', 'dist', 'corpus', 'docs'], [CORPUS_PACKAGE]);
  await install('1.0.0');
  const first = buildManifest(join(packages, '1.0.0'), integrities.get('1.0.0') ?? '');
  await writeFile(join(checkout, WRITTEN[0] ?? ''), toManifestText(first));
  expect(await refresh()).toMatchObject({ code: 0, stderr: '' });
  const { id } = await createWorkspace(scratch.database, 'acme', 'Acme');
  await scratch.database.query(
    `INSERT INTO rule_overrides (workspace_id, rule_id, enabled)
     VALUES ($1, $2, true), ($1, $3, false), ($1, $4, false)`,
    [id, GOES.id, CHANGES, SAME.id],
  );
});
afterAll(async () => {
  await registry.close();
  await scratch.close();
  await rm(checkout, { recursive: true });
  await rm(packages, { recursive: true });
});

test('an archive other than the locked one, and files other than the archive’s, are refused', async () => {
  const before = await written();
  await install('2.0.0', integrities.get('1.0.0'));
  const republished = await refresh();
  expect(republished).toMatchObject({ code: 1, stdout: '' });
  expect(republished.stderr).toContain('is not the one that package-lock.json pins');
  expect(republished.stderr).toContain(integrities.get('2.0.0'));

  await install('2.0.0');
  const rule = `rules/prompt-injection/${COMES.id}.yaml`;
  await appendFile(join(checkout, 'node_modules', CORPUS_PACKAGE, rule), '\n# harmless\n');
  const altered = await refresh();
  expect(altered).toMatchObject({ code: 1, stdout: '' });
  expect(altered.stderr).toContain(`file_altered ${rule}`);
  expect(await written()).toEqual(before);
});

test('another version is reviewed: rules, classes and overrides; and all is written together', async () => {
  const before = await written();
  await install('2.0.0');
  const { code, stdout, stderr } = await refresh();
  expect(stderr).toContain('package-lock.json pins agent-threat-rules 2.0.0');
  expect(code).toBe(0);
  expect(stdout.split('\n').slice(0, -3)).toEqual([
    `package    agent-threat-rules 1.0.0 → 2.0.0, ${integrities.get('2.0.0')}`,
    'files      1 added, 1 removed, 1 changed',
    'rules      1 added, 1 removed, 1 of another class or status',
    `  + ${COMES.id}  experimental, as_written, runs on demand`,
    `  - ${GOES.id}  stable, as_written, runs by default`,
    `  ~ ${CHANGES}  stable, as_written, runs by default → stable, unsupported, runs never`,
    'overrides  2 of rules that are gone or cannot run',
    `  ! ${CHANGES}  off in workspace "acme"`,
    `  ! ${GOES.id}  on in workspace "acme"`,
    '',
  ]);
  const [manifest = '', classification = '', coverage = ''] = await written();
  expect(JSON.parse(manifest)).toMatchObject({
    version: '2.0.0',
    integrity: integrities.get('2.0.0'),
  });
  expect(classification).toContain(COMES.id);
  expect(coverage).toContain('Snapshot 2.0.0');
  for (const [index, text] of (await written()).entries()) expect(text).not.toBe(before[index]);

  // A second time there is nothing to review.
  const again = await refresh('--json');
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(again.stdout)).toMatchObject({
    from: '2.0.0',
    to: '2.0.0',
    rules: { added: [], removed: [], changed: [] },
  });
});

test('rules without test cases never run; a package where most have none is pinned only on request', async () => {
  await install('3.0.0');
  const half = await refresh();
  expect(half.code).toBe(0);
  expect(half.stderr).toContain(
    `warning: 1 of 2 rules of agent-threat-rules 3.0.0 ship no test cases and never run: ${CHANGES}`,
  );
  expect(half.stdout).toContain(`${CHANGES}  stable, unsupported, runs never → stable, fails_own`);
  const before = await written();
  await install('4.0.0');
  const most = await refresh();
  expect(most).toMatchObject({ code: 1, stdout: '' });
  expect(most.stderr).toContain('2 of 3 rules of agent-threat-rules 4.0.0 ship no test cases');
  expect(most.stderr).toContain('sluice corpus refresh --without-tests');
  expect(await written()).toEqual(before);
  const accepted = await refresh('--without-tests');
  expect(accepted.code).toBe(0);
  expect(accepted.stderr).toContain('2 of 3 rules');
  expect((await written())[2]).toContain('ships no tests');
});
