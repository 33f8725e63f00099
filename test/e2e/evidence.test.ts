/**
 * Evidence packages through the server: downloaded with a key and from the dashboard, created by the command, verified
 * by a command that has neither server nor database.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { triageFindings } from '../../src/db/findings/triage-writes.ts';
import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { loadManifest } from '../../src/engine/corpus/corpus.ts';
import { readTar } from '../../src/evidence/tar.ts';
import { corpusPackageDir, MANIFEST_PATH } from '../../src/main/corpus-location.ts';
import { openBrowser } from '../support/chromium.ts';
import { runCommand } from '../support/command.ts';
import { addPerson, type Person } from '../support/people.ts';
import { chromiumPath } from '../support/programs.ts';
import { sendAttack } from './attack.ts';
import { type Gateway, type Keys, openGateway, read, request } from './gateway.ts';

const NOTE = 'Reported to the customer.';
const RULE = 'ATR-2026-00001';
let gateway: Gateway;
let keys: Keys & { readonly id: number };
let owner: Person;
let member: Person;
let ids: { readonly runId: string; readonly findingId: string };
let folder: string;

beforeAll(async () => {
  gateway = await openGateway();
  keys = await gateway.addWorkspace('crew');
  owner = await addPerson(gateway.database, keys.id, 'owner');
  member = await addPerson(gateway.database, keys.id, 'member');
  ids = await sendAttack(gateway, keys.agent, 'invoke_agent evidence');
  const actor = { userId: null, name: 'a test', origin: 'command line' };
  const change = { ids: [ids.findingId], state: 'confirmed', note: NOTE } as const;
  await triageFindings(gateway.database, keys.id, change, actor);
  folder = await mkdtemp(join(tmpdir(), 'sluice-evidence-'));
});
afterAll(async () => {
  await gateway.close();
  await rm(folder, { recursive: true });
});

const url = (path: string): string => `${gateway.server.baseUrl}${path}`;
const withKey = (key: string) => ({ authorization: `Bearer ${key}` });
const asPerson = ({ token }: Person) => ({ cookie: `sluice_session=${token}` });

async function download(path: string, headers: Record<string, string>): Promise<Buffer> {
  const response = await fetch(url(path), { headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  expect([response.status, response.headers.get('content-type')], bytes.toString()).toEqual([
    200,
    'application/x-tar',
  ]);
  return bytes;
}

function filesOf(bytes: Buffer): Map<string, string> {
  const files = readTar({ read: (from, length) => bytes.subarray(from, from + length) });
  return new Map([...files].map(({ name, content }) => [name, content.toString()]));
}

/** The lines of a file of JSON. */
const linesOf = (files: Map<string, string>, name: string) =>
  (files.get(name) ?? '')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
const manifestOf = (files: Map<string, string>) => JSON.parse(files.get('manifest.json') ?? '');

/** Verifies offline: no setting names a database. */
async function verify(bytes: Buffer, ...options: string[]) {
  const path = join(folder, 'package.tar');
  await writeFile(path, bytes);
  return await runCommand(['evidence', 'verify', path, ...options]);
}

const records = async (runId: string, signal: string): Promise<string> => {
  const path = `/platform/v1/runs/${runId}/otlp?signal=${signal}`;
  return (await request(url(path), { headers: withKey(keys.workspace) })).text;
};

describe('the package of a finding', () => {
  test('has the records as sent, the finding, its rule and the triage', async () => {
    const finding = `/platform/v1/risk-findings/${ids.findingId}`;
    const files = filesOf(await download(`${finding}/evidence`, withKey(keys.workspace)));
    expect(files.get(`runs/${ids.runId}/traces-001.jsonl`)).toBe(
      await records(ids.runId, 'traces'),
    );
    expect(linesOf(files, 'findings.jsonl')).toEqual([await read(url(finding), keys.workspace)]);
    expect(linesOf(files, 'triage.jsonl')).toMatchObject([
      { kind: 'state', before: 'new', after: 'confirmed' },
      { kind: 'note', after: NOTE },
    ]);
    expect([...files.keys()].filter((name) => name.startsWith('rules/'))).toEqual([
      `rules/${RULE}.yaml`,
    ]);
    const [path = ''] = Object.keys(loadManifest(MANIFEST_PATH).files).filter((one) =>
      one.includes(RULE),
    );
    const rule = await readFile(join(corpusPackageDir(), path), 'utf8');
    expect(files.get(`rules/${RULE}.yaml`)).toBe(rule);
    expect(manifestOf(files)).toMatchObject({
      workspace: 'crew',
      subject: { kind: 'finding', id: ids.findingId },
      runs: [ids.runId],
      redacted: false,
    });
    expect(files.get('README.txt')).toContain('no trusted timestamp');
  });

  test('is verified offline, with the key of the API, and not after a change', async () => {
    const bytes = await download(
      `/platform/v1/risk-findings/${ids.findingId}/evidence`,
      withKey(keys.workspace),
    );
    const { public_key: key } = await read<{ public_key: string }>(
      url('/platform/v1/evidence-key'),
      keys.workspace,
    );
    const found = await verify(bytes, '--public-key', key);
    expect(found).toMatchObject({ code: 0, stderr: '' });
    expect(found.stdout).toContain('as expected');
    expect(found.stdout).toContain('no trusted timestamp');
    expect((await verify(bytes)).stdout).toContain('see --public-key');
    const other = key
      .replace('MCowBQYDK2VwAyEA', '')
      .replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
    expect(await verify(bytes, '--public-key', `MCowBQYDK2VwAyEA${other}`)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('another key'),
    });
    const at = bytes.indexOf('Ignore all previous');
    bytes.write('ignore', at);
    expect(await verify(bytes, '--json')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('was changed'),
    });
    expect((await verify(bytes, '--public-key', 'nonsense')).stderr).toContain('Ed25519');
    for (const [path, why] of [
      [join(folder, 'missing.tar'), 'cannot be read'],
      [folder, 'is a folder'],
    ] as const) {
      expect(await runCommand(['evidence', 'verify', path])).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(new RegExp(`^sluice: The package ${why}: [^\\n]*\\n$`)),
      });
    }
  });

  test('shows the content of audit entries to those who may read the audit log', async () => {
    const entriesFor = async (path: string, headers: Record<string, string>) =>
      linesOf(filesOf(await download(path, headers)), 'audit.jsonl');
    const page = `/app/findings/${ids.findingId}/evidence.tar`;
    const forOwner = await entriesFor(page, asPerson(owner));
    expect(forOwner.map(({ action }) => action)).toContain('finding.state');
    expect(forOwner.at(-1)).toMatchObject({
      action: 'evidence.downloaded',
      subject: ids.findingId,
      actor: owner.email,
    });
    const api = `/platform/v1/risk-findings/${ids.findingId}/evidence`;
    for (const [path, headers] of [
      [page, asPerson(member)],
      [api, withKey(keys.workspace)],
    ] as const) {
      const [last, ...others] = (await entriesFor(path, headers)).reverse();
      expect(last).toMatchObject({ action: 'evidence.downloaded' });
      expect(others.length).toBeGreaterThan(2);
      for (const entry of others) expect(Object.keys(entry)).toEqual(['seq', 'prev_hash', 'hash']);
    }
  });

  test('HEAD answers as GET does and leaves no entry in the audit log', async () => {
    const noted = async () => {
      const { rows } = await gateway.database.query<{ count: number }>(
        "SELECT count(*)::int AS count FROM audit_ledger WHERE action = 'evidence.downloaded'",
      );
      return rows[0]?.count;
    };
    const before = await noted();
    for (const [path, headers] of [
      [`/platform/v1/risk-findings/${ids.findingId}/evidence`, withKey(keys.workspace)],
      [`/platform/v1/incidents/${ids.runId}/evidence`, withKey(keys.workspace)],
      [`/app/findings/${ids.findingId}/evidence.tar`, asPerson(owner)],
      [`/app/incidents/${ids.runId}/evidence.tar`, asPerson(owner)],
    ] as const) {
      const head = await fetch(url(path), { method: 'HEAD', headers });
      expect([head.status, head.headers.get('content-type')]).toEqual([200, 'application/x-tar']);
      const none = path.replace(/[0-9a-f]{32}/, '0'.repeat(32));
      expect((await fetch(url(none), { method: 'HEAD', headers })).status).toBe(404);
    }
    expect(await noted()).toBe(before);
    await download(`/app/findings/${ids.findingId}/evidence.tar`, asPerson(owner));
    expect(await noted()).toBe((before ?? 0) + 1);
  });

  test('is not there for others', async () => {
    for (const path of ['/platform/v1/risk-findings/', '/platform/v1/incidents/']) {
      const answer = await request(url(`${path}${'0'.repeat(32)}/evidence`), {
        headers: withKey(keys.workspace),
      });
      expect(answer.status).toBe(404);
      const ofOther = await request(
        url(`${path}${path.includes('risk') ? ids.findingId : ids.runId}/evidence`),
        { headers: withKey(gateway.keys.workspace) },
      );
      expect(ofOther.status).toBe(404);
    }
  });
});

test('the package of an incident has the runs of its session that have findings', async () => {
  const other = await sendAttack(gateway, keys.agent, 'invoke_agent evidence');
  const bytes = await download(`/app/incidents/${ids.runId}/evidence.tar`, asPerson(owner));
  const files = filesOf(bytes);
  expect(manifestOf(files).runs).toEqual([ids.runId, other.runId]);
  for (const runId of [ids.runId, other.runId]) {
    expect(files.get(`runs/${runId}/traces-001.jsonl`)).toBe(await records(runId, 'traces'));
  }
  const found = linesOf(files, 'findings.jsonl').map(({ run_id: runId }) => runId);
  expect(new Set(found)).toEqual(new Set([ids.runId, other.runId]));
  expect((await verify(bytes)).code).toBe(0);
});

test('the command creates the same, signed with the key that it shows', async () => {
  const settings = { DATABASE_URL: gateway.databaseUrl };
  const output = join(folder, 'created.tar');
  const { code, stderr } = await runCommand(
    ['evidence', 'create', '--workspace', 'crew', '--finding', ids.findingId, '--output', output],
    settings,
  );
  expect([code, stderr]).toEqual([0, '']);
  const key = await runCommand(['evidence', 'key', '--workspace', 'crew'], settings);
  const bytes = await readFile(output);
  expect((await verify(bytes, '--public-key', key.stdout.trim())).code).toBe(0);
  const files = filesOf(bytes);
  expect(files.get(`runs/${ids.runId}/traces-001.jsonl`)).toBe(await records(ids.runId, 'traces'));
  expect(linesOf(files, 'audit.jsonl').at(-1)).toMatchObject({ actor: 'operator' });
  const again = await runCommand(
    ['evidence', 'create', '--workspace', 'crew', '--finding', ids.findingId, '--output', output],
    settings,
  );
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('exists already') });
  const none = await runCommand(['evidence', 'create', '--workspace', 'crew'], settings);
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('Name a finding') });
});

test.skipIf(chromiumPath === null)(
  'a person downloads it from the finding and the run',
  async () => {
    const { context, close } = await openBrowser();
    try {
      const { baseUrl } = gateway.server;
      await context.addCookies([{ name: 'sluice_session', value: owner.token, url: baseUrl }]);
      const page = await context.newPage();
      for (const path of [`/app/findings/${ids.findingId}`, `/app/runs/${ids.runId}`]) {
        await page.goto(`${baseUrl}${path}`);
        const waiting = page.waitForEvent('download');
        await page.getByRole('link', { name: 'Download evidence' }).click();
        const file = await waiting;
        expect(file.suggestedFilename()).toMatch(/^evidence-[0-9a-f]{8}\.tar$/);
        expect((await verify(await readFile(await file.path()))).code).toBe(0);
      }
      await page.goto(`${baseUrl}/app/settings`);
      const { public_key: key } = await read<{ public_key: string }>(
        url('/platform/v1/evidence-key'),
        keys.workspace,
      );
      expect(await page.getByText(key).count()).toBe(1);
    } finally {
      await close();
    }
  },
);

test('a workspace that redacts gives no records and no texts', async () => {
  await gateway.database.query("UPDATE workspaces SET redact_excerpts = true WHERE slug = 'crew'");
  const bytes = await download(`/app/incidents/${ids.runId}/evidence.tar`, asPerson(owner));
  const files = filesOf(bytes);
  expect([...files.keys()].filter((name) => name.startsWith('runs/'))).toEqual([]);
  expect(linesOf(files, 'findings.jsonl').map(({ excerpt }) => excerpt)).not.toContain(
    expect.any(String),
  );
  const texts = [...files].filter(([name]) => !name.startsWith('rules/')).join('\n');
  expect(texts).not.toContain(NOTE);
  expect(texts).not.toContain('Ignore all previous');
  expect(manifestOf(files)).toMatchObject({
    redacted: true,
    left_out: expect.arrayContaining([expect.stringContaining('redacts excerpts')]),
  });
  expect((await verify(bytes)).code).toBe(0);
  expect((await findWorkspace(gateway.database, 'crew')).redactExcerpts).toBe(true);
});
