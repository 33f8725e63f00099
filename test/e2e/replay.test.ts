/** `sluice replay`: a run that was downloaded, and a file of bodies, sent to a real server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { runCommand, runProcess } from '../support/command.ts';
import { recordsIn } from '../support/exact-records.ts';
import { openRecordingProxy } from '../support/recording-proxy.ts';
import { storedSpans } from '../support/stored-blocks.ts';
import { waitFor } from '../support/wait-for.ts';
import { post, randomId, rawSpan, request, storedSpanIds, traceBody } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

let gateway: SharedGateway;
const folder = mkdtempSync(join(tmpdir(), 'sluice-replay-e2e-'));
beforeAll(async () => {
  gateway = await openSharedGateway();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await gateway.close();
});

function fileOf(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const environment = (url = gateway.server.observeUrl, key = gateway.keys.agent) => ({
  SLUICE_URL: url,
  SLUICE_API_KEY: key,
});

interface Row {
  readonly trace: string;
  readonly name: string;
  readonly at: string;
}

async function spansOf(workspaceId: number, names: readonly string[]): Promise<Row[]> {
  const spans = (await storedSpans(gateway.database)).map(({ workspaceId: workspace, record }) => ({
    workspace,
    trace: record.traceId ?? '',
    name: record.name ?? '',
    at: record.startTimeUnixNano ?? '',
  }));
  return spans
    .filter(({ workspace, name }) => workspace === workspaceId && names.includes(name))
    .map(({ trace, name, at }) => ({ trace, name, at }))
    .sort((a, b) => `${a.trace} ${a.name}`.localeCompare(`${b.trace} ${b.name}`));
}

test('a downloaded run: the same rows elsewhere, another run with new ids and times', async () => {
  const { server, keys, workspace } = gateway;
  const names = ['agent', 'tool'].map((name) => `${name} ${randomId(8)}`);
  const traceId = randomId(16);
  const root = rawSpan({ traceId, name: names[0] });
  const child = rawSpan({ traceId, name: names[1], parentSpanId: root.spanId });
  const stored = await post(`${server.observeUrl}/v1/traces`, keys.agent, traceBody([root, child]));
  expect(stored.status).toBe(200);
  const download = await request(`${server.baseUrl}/platform/v1/runs/${traceId}/otlp`, {
    headers: { authorization: `Bearer ${keys.workspace}` },
  });
  const file = fileOf('run.json', download.text);
  const before = await spansOf(workspace.id, names);
  expect(before).toHaveLength(2);

  const other = await gateway.addWorkspace(`replay-${randomId(8)}`);
  const same = await runCommand(['replay', file], environment(undefined, other.agent));
  expect(same).toMatchObject({ code: 0, stdout: expect.stringMatching(/^1 body stored/) });
  expect(await spansOf(other.id, names)).toEqual(before);

  const startedMs = Date.now();
  const args = ['replay', file, '--new-ids', '--shift-to-now', '--json'];
  const again = await runCommand(args, environment(undefined, other.agent));
  expect(JSON.parse(again.stdout)).toMatchObject({ accepted: 1, refused: 0, stopped: null });
  const all = await spansOf(other.id, names);
  expect(all).toHaveLength(4);
  const made = all.filter(({ trace }) => trace !== traceId);
  expect(new Set(made.map(({ trace }) => trace)).size).toBe(1);
  for (const { at } of made)
    expect(Number(BigInt(at) / 1_000_000n)).toBeGreaterThan(startedMs - 60_000);
});

test('bodies of a compressed file; one that is refused does not keep the others back', async () => {
  const spans = Array.from({ length: 6 }, () => rawSpan());
  const lines = spans.map((span) => JSON.stringify(traceBody([span])));
  lines.splice(3, 0, '{"resourceSpans":"none"}');
  const file = fileOf('bodies.jsonl.gz', gzipSync(lines.join('\n')));
  const result = await runCommand(['replay', file, '--concurrency', '2'], environment());
  expect(result.code).toBe(1);
  expect(result.stdout).toMatch(/^6 bodies stored .* 1 refused/);
  expect(result.stdout).toMatch(/bodies\.jsonl\.gz:4: 400 \S/);
  const ids = spans.map(({ spanId }) => spanId);
  expect((await storedSpanIds(gateway.database, ids)).size).toBe(6);
});

test('answers that ask for patience are waited for; an answer that is lost stores once', async () => {
  const proxy = await openRecordingProxy(gateway.server.observeUrl);
  try {
    const spans = [rawSpan(), rawSpan()];
    const lines = spans.map((span) => JSON.stringify(traceBody([span])));
    proxy.refuse({ status: 429, headers: { 'retry-after': '1' } }, { status: 503 });
    const args = ['replay', '-', '--concurrency', '1', '--json'];
    const input = lines.join('\n');
    const result = await runProcess(args, environment(proxy.url), { input });
    expect(JSON.parse(result.stdout)).toMatchObject({ accepted: 2, retries: 2, stopped: null });
    expect(proxy.recorded.map(({ status }) => status)).toEqual([429, 503, 200, 200]);
    proxy.loseAnswer();
    const lost = JSON.stringify(traceBody([rawSpan({ name: 'lost answer' })]));
    const file = fileOf('lost.json', lost);
    const second = await runCommand(['replay', file, '--json'], environment(proxy.url));
    expect(JSON.parse(second.stdout)).toMatchObject({
      accepted: 1,
      retries: 1,
      retry_reason: expect.any(String),
    });
    expect(await spansOf(gateway.workspace.id, ['lost answer'])).toHaveLength(1);
  } finally {
    await proxy.close();
  }
});

test('a wrong key, a wrong file and a missing setting end with one message', async () => {
  const file = fileOf('one.json', JSON.stringify(traceBody([rawSpan()])));
  const key = `sluice_live_${'x'.repeat(43)}`;
  const denied = await runCommand(['replay', file], environment(undefined, key));
  expect(denied).toMatchObject({ code: 1, stdout: expect.stringContaining('refuses the key') });
  expect(denied.stdout + denied.stderr).not.toContain(key);
  const text = await runCommand(['replay', fileOf('text', 'hello')], environment());
  expect(text).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('text is no OTLP/JSON'),
  });
  const none = await runCommand(['replay', file], {});
  expect(none).toMatchObject({ code: 1, stderr: expect.stringMatching(/SLUICE_URL[\s\S]*KEY/) });
  const rate = await runCommand(['replay', file, '--rate', '0'], environment());
  expect(rate).toMatchObject({ code: 1, stderr: expect.stringContaining('from 1 to 10000') });
});

/** The span records of an export of a workspace, sorted. */
async function exportOf(slug: string, name: string): Promise<{ path: string; records: string[] }> {
  const path = join(folder, name);
  const words = ['export', '--workspace', slug, '--out', `${path}/`];
  const done = await runCommand(words, { DATABASE_URL: gateway.databaseUrl });
  expect(done).toMatchObject({ code: 0 });
  const files = readdirSync(join(path, 'traces')).map((file) => join(path, 'traces', file));
  const lines = files.flatMap((file) =>
    gunzipSync(readFileSync(file)).toString().split('\n').slice(0, -1),
  );
  return { path, records: lines.flatMap((line) => recordsIn('traces', line)).sort() };
}

test('an export that is replayed elsewhere is the same there', async () => {
  const [one, other] = [`from-${randomId(8)}`, `to-${randomId(8)}`];
  const [from, to] = [await gateway.addWorkspace(one), await gateway.addWorkspace(other)];
  for (let at = 0; at < 5; at += 1) {
    const startTimeUnixNano = `${1_795_000_000 + at * 3600}000000123`;
    const body = traceBody([rawSpan({ startTimeUnixNano }), rawSpan({ name: `ä "${at}"` })]);
    const answer = await post(`${gateway.server.observeUrl}/v1/traces`, from.agent, body);
    expect(answer.status).toBe(200);
  }
  const before = await exportOf(one, 'before');
  expect(before.records).toHaveLength(10);
  const done = await runCommand(['replay', before.path], environment(undefined, to.agent));
  expect(done).toMatchObject({ code: 0 });
  expect((await exportOf(other, 'after')).records).toEqual(before.records);
});

test('a replay with a state continues where it stopped', async () => {
  const proxy = await openRecordingProxy(gateway.server.observeUrl);
  try {
    const spans = Array.from({ length: 5 }, () => rawSpan());
    const lines = spans.map((span) => JSON.stringify(traceBody([span])));
    const file = fileOf('continued.jsonl', lines.join('\n'));
    const state = join(folder, 'continued.json');
    const words = ['replay', file, '--concurrency', '1', '--state', state];
    const passes = { status: 200 };
    proxy.refuse(passes, passes, { status: 401 }, passes, { status: 404 });
    const first = await runCommand(words, environment(proxy.url));
    expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining('to continue') });
    expect((await runCommand(words, environment(proxy.url))).code).toBe(1);
    expect((await runCommand([...words, '--new-ids'], environment(proxy.url))).stderr).toContain(
      'of a replay of other files',
    );
    const last = await runCommand(words, environment(proxy.url));
    expect(last).toMatchObject({ code: 0, stdout: expect.stringMatching(/^2 bodies stored/) });
    const sent = proxy.recorded.filter(({ status }) => status === 200);
    expect(sent.map(({ body }) => gunzipSync(body).toString())).toEqual(lines);
    expect(existsSync(state)).toBe(false);
  } finally {
    await proxy.close();
  }
});

test('one that was killed stores each body once, with the ids that it had made', async () => {
  const proxy = await openRecordingProxy(gateway.server.observeUrl);
  try {
    const name = `killed ${randomId(8)}`;
    const lines = Array.from({ length: 40 }, () => JSON.stringify(traceBody([rawSpan({ name })])));
    const file = fileOf('killed.jsonl', lines.join('\n'));
    const words = ['replay', file, '--new-ids', '--state', join(folder, 'killed.json')];
    const { PATH, HOME } = process.env;
    const child = spawn(process.execPath, ['bin/sluice.js', ...words, '--rate', '20'], {
      env: { PATH, HOME, ...environment(proxy.url) },
      stdio: 'ignore',
    });
    await waitFor(() => proxy.recorded.length >= 5, { withinMs: 60_000, what: 'five bodies' });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await runCommand(words, environment(proxy.url))).toMatchObject({ code: 0 });
    expect(await spansOf(gateway.workspace.id, [name])).toHaveLength(lines.length);
  } finally {
    await proxy.close();
  }
});

test('other servers get the key in their header, or none', async () => {
  const proxy = await openRecordingProxy(gateway.server.observeUrl);
  try {
    const file = fileOf('elsewhere.json', JSON.stringify(traceBody([rawSpan()])));
    proxy.refuse({ status: 200 }, { status: 200 });
    const words = ['replay', file];
    await runCommand([...words, '--key-header', 'api-key'], environment(proxy.url, 'secret'));
    const none = await runCommand([...words, '--no-key'], { SLUICE_URL: proxy.url });
    expect(none).toMatchObject({ code: 0 });
    const [first, second] = proxy.recorded.map(({ headers }) => headers);
    expect(first).toMatchObject({ 'api-key': 'secret' });
    expect(first).not.toHaveProperty('authorization');
    expect(second).not.toHaveProperty('authorization');
    expect(second).not.toHaveProperty('api-key');
    const bad = await runCommand([...words, '--key-header', 'a b'], environment(proxy.url));
    expect(bad).toMatchObject({ code: 1, stderr: expect.stringContaining('name of a header') });
  } finally {
    await proxy.close();
  }
});
