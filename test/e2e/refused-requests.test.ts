/**
 * Refused telemetry against a real server: what each refusal shows to the workspace of its key, what
 * the operator's log and `/metrics` have, and what a flood leaves behind.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { revokeRecordedKey } from '../../src/db/people/workspace-writes.ts';
import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser } from './browser.ts';
import { type Gateway, openGateway, otlpHeaders, post, request, traceBody } from './gateway.ts';

const OPERATOR = { userId: null, name: 'operator', origin: 'test' };
const UNKNOWN = `sluice_live_${'u'.repeat(43)}`;
const RECORDED_WITHIN_MS = 30_000;

let gateway: Gateway;
let owner: Browser;
let url: string;
beforeAll(async () => {
  gateway = await openGateway({ MAX_BODY_BYTES: '2048', LOG_LEVEL: 'info' });
  url = `${gateway.server.observeUrl}/v1/traces`;
  owner = new Browser(gateway.server.baseUrl);
  await owner.signIn(gateway.owner.email, gateway.owner.password);
});
afterAll(() => gateway.close());

const overview = async (): Promise<string> =>
  (await owner.get('/app')).text.replaceAll(/\s+/g, ' ');

/** The overview, as soon as it has all of these texts. */
async function shows(...texts: readonly string[]): Promise<string> {
  let page = '';
  await waitFor(
    async () => {
      page = await overview();
      return texts.every((text) => page.includes(text));
    },
    { withinMs: RECORDED_WITHIN_MS, what: () => `${texts.join(', ')} in\n${page}` },
  );
  return page;
}

/** Sends with a User-Agent, and returns the status. */
async function send(
  agent: string,
  headers: Record<string, string>,
  body: string | Buffer = '{}',
  to = url,
): Promise<number> {
  const { status } = await request(to, {
    method: 'POST',
    headers: { 'user-agent': agent, ...headers },
    body,
  });
  return status;
}

test('the header that some clients send undecoded is the key', async () => {
  const headers = { ...otlpHeaders(''), authorization: `Bearer%20${gateway.keys.agent}` };
  const body = JSON.stringify(traceBody([]));
  expect((await request(url, { method: 'POST', headers, body })).status).toBe(200);
});

test('every refusal of a known key is shown with its sender and what to change', async () => {
  const { agent, workspace } = gateway.keys;
  const json = { 'content-type': 'application/json' };
  const own = otlpHeaders(agent);
  const protobuf = { ...own, 'content-type': 'application/x-protobuf' };
  const revoked = await gateway.addKey('agent', 100);
  const { rows } = await gateway.database.query<{ id: number }>(
    'SELECT max(id) AS id FROM api_keys',
  );
  const { id: workspaceId } = await findWorkspace(gateway.database, 'default');
  await revokeRecordedKey(gateway.database, workspaceId, rows[0]?.id ?? 0, OPERATOR);
  const limited = await gateway.addKey('agent', 1);

  expect(await send('agent-415', protobuf)).toBe(415);
  expect(await send('agent-415', protobuf)).toBe(415);
  expect(await send('agent-413', own, Buffer.alloc(3000, 32))).toBe(413);
  expect(await send('agent-400', own, '{')).toBe(400);
  expect(await send('agent-encoding', { ...own, 'content-encoding': 'br' })).toBe(415);
  expect(await send('agent-reader', otlpHeaders(workspace))).toBe(403);
  expect(await send('agent-revoked', otlpHeaders(revoked))).toBe(401);
  expect(await send('agent-limited', otlpHeaders(limited))).toBe(200);
  expect(await send('agent-limited', otlpHeaders(limited))).toBe(429);
  expect(await send('agent-path', own, '{}', `${url}/v1/traces`)).toBe(404);
  expect(await send('agent-gone', own, '{}', `${gateway.server.baseUrl}/v1/logs`)).toBe(410);
  const get = await request(url, { headers: { ...own, ...json, 'user-agent': 'agent-method' } });
  expect(get.status).toBe(405);

  const page = await shows(
    'agent-415',
    'Protobuf or another content type',
    'OTEL_EXPORTER_OTLP_PROTOCOL=http/json',
    'agent-413',
    'Body too large',
    'agent-400',
    'Invalid OTLP JSON',
    'agent-encoding',
    'Unsupported compression',
    'agent-reader',
    'Workspace key',
    'agent-revoked',
    'Revoked key',
    'agent-limited',
    'Rate limit exceeded',
    'agent-path',
    '/v1/traces/v1/traces',
    'Wrong path',
    'agent-gone',
    'Wrong host',
    'agent-method',
    'Wrong method',
    'Refused requests, last hour: 11',
  );
  expect(page).toContain('127.0.0.1');
  expect(page).toContain(`${agent.slice(0, 18)}…`);
  for (const key of [agent, workspace, revoked, limited]) expect(page).not.toContain(key);
});

test('an unknown key, or none, is in the log and the metric, and in no workspace', async () => {
  const { stderr, metricsUrl } = gateway.server;
  expect(await send('agent-unknown', otlpHeaders(UNKNOWN))).toBe(401);
  expect(await send('agent-nobody', { 'content-type': 'application/json' })).toBe(401);
  expect(await send('agent-foreign', otlpHeaders('sk-ant-of-another'))).toBe(401);
  await waitFor(
    () =>
      ['agent-unknown', 'agent-nobody', 'agent-foreign'].every((name) => stderr().includes(name)),
    { withinMs: RECORDED_WITHIN_MS, what: () => `the senders in the log\n${stderr()}` },
  );
  const lines = stderr()
    .split('\n')
    .filter((line) => line.includes('agent-unknown'));
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    reason: 'invalid_credential',
    keyPrefix: 'sluice_live_uuuuuu',
    address: '127.0.0.1',
    path: '/v1/traces',
    requests: 1,
  });
  expect(stderr()).not.toContain(UNKNOWN);
  expect(stderr()).not.toContain('sk-ant');
  expect(stderr()).not.toContain('agent-415');
  const metrics = (await request(metricsUrl)).text;
  expect(metrics).toContain('sluice_ingest_refused_requests_total{reason="missing_credential"} 1');
  expect(metrics).toContain('sluice_ingest_refused_requests_total{reason="unsupported_type"} 2');
  expect(metrics).not.toContain('agent-');
  const page = await overview();
  for (const name of ['agent-unknown', 'agent-nobody', 'agent-foreign']) {
    expect(page).not.toContain(name);
  }
});

test('a workspace sees nothing of another', async () => {
  const other = await gateway.addWorkspace('other');
  const headers = { ...otlpHeaders(other.agent), 'content-type': 'text/plain' };
  expect(await send('agent-of-other', headers)).toBe(415);
  await waitFor(
    async () => {
      const { rows } = await gateway.database.query(
        'SELECT FROM rejected_requests WHERE workspace_id = $1 AND since IS NOT NULL',
        [other.id],
      );
      return rows.length === 1;
    },
    { withinMs: RECORDED_WITHIN_MS, what: 'the refusal of the other workspace' },
  );
  expect(await overview()).not.toContain('agent-of-other');
});

test('a flood leaves few rows and few log lines', async () => {
  const before = gateway.server.stderr().split('\n').length;
  const own = { ...otlpHeaders(gateway.keys.agent), 'content-type': 'application/x-protobuf' };
  for (let batch = 0; batch < 20; batch += 1) {
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const number = batch * 20 + index;
        await send(`flood-${number}`, own);
        await send(
          `flood-${number}`,
          otlpHeaders(`sluice_live_${String(number).padStart(43, 'f')}`),
        );
      }),
    );
  }
  await shows('flood-');
  const { id } = await findWorkspace(gateway.database, 'default');
  const { rows } = await gateway.database.query<{ rows: number }>(
    `SELECT count(*)::int AS rows FROM rejected_requests
      WHERE workspace_id = $1 AND user_agent LIKE 'flood-%'`,
    [id],
  );
  expect(rows[0]?.rows).toBeLessThan(100);
  expect(gateway.server.stderr().split('\n').length - before).toBeLessThan(60);
  expect((await post(url, gateway.keys.agent, traceBody([]))).status).toBe(200);
});
