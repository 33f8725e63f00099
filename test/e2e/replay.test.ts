/** `sluice replay`: a run that was downloaded, and a file of bodies, sent to a real server. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { runCommand, runProcess } from '../support/command.ts';
import { openRecordingProxy } from '../support/recording-proxy.ts';
import { storedSpans } from '../support/stored-blocks.ts';
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
