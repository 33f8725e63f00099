/**
 * Secrets in requests of all signals to a running server whose workspace redacts before it stores: looked
 * for in every column of every table, and in every block. Everything else is stored as it was sent.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { COMMAND_LINE } from '../../src/db/people/audit.ts';
import { setStoredRedaction } from '../../src/db/people/redaction-writes.ts';
import { KEY_TTL_MS } from '../../src/http/limits/authentication.ts';
import { LIBRARY } from '../../src/model/redaction/redaction.ts';
import { addPerson } from '../support/people.ts';
import { eachBlock, linesOf } from '../support/stored-blocks.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser } from './browser.ts';
import { post, randomId, rawSpan, traceBody } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

const SECRET = `zed-${randomId(8)}@secret.example`;
const MARK = /\[redacted:email:[0-9a-f]{16}\]/g;
const LIBRARY_NAMES = LIBRARY.map(({ name }) => name);

let gateway: SharedGateway;

beforeAll(async () => {
  gateway = await openSharedGateway();
  await redactAll();
});
afterAll(() => gateway.close());

async function redactAll(): Promise<void> {
  const settings = { library: LIBRARY_NAMES, patterns: [] };
  await setStoredRedaction(gateway.database, gateway.workspace.id, settings, COMMAND_LINE);
}

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const NANOS = String(BigInt(Date.now()) * 1_000_000n);

/** A secret in every place that has a text. */
function bodies(secret: string) {
  const attributes = [
    text('gen_ai.input.messages', JSON.stringify([{ role: 'user', content: `I am\n${secret}` }])),
    text('session.id', secret),
    text('user.id', secret),
    text('gen_ai.request.model', secret),
    text('gen_ai.agent.name', `agent of ${secret}`),
    { key: 'list', value: { arrayValue: { values: [{ stringValue: secret }] } } },
    { key: 'map', value: { kvlistValue: { values: [text('inner', secret)] } } },
    { key: 'bytes', value: { bytesValue: Buffer.from(secret).toString('base64') } },
    { key: 'number', value: { intValue: '4111111111111111' } },
  ];
  const resource = { attributes: [text('service.name', secret), text('host.name', secret)] };
  const scope = { name: `scope ${secret}`, version: secret, attributes: [text('s', secret)] };
  const ids = { traceId: randomId(16), spanId: randomId(8) };
  const span = {
    ...ids,
    name: `chat ${secret}`,
    kind: 1,
    traceState: `a=${secret}`,
    startTimeUnixNano: NANOS,
    endTimeUnixNano: NANOS,
    attributes,
    events: [{ timeUnixNano: NANOS, name: secret, attributes }],
    links: [{ ...ids, attributes }],
    status: { code: 2, message: `failed for ${secret}` },
    unknownMember: secret,
  };
  const log = {
    ...ids,
    timeUnixNano: NANOS,
    severityText: secret,
    eventName: secret,
    body: { stringValue: `hello ${secret}` },
    attributes,
  };
  const exemplars = [{ timeUnixNano: NANOS, asDouble: 1, filteredAttributes: attributes }];
  const point = { timeUnixNano: NANOS, asInt: '1', attributes, exemplars };
  const metric = {
    name: `metric ${secret}`,
    description: secret,
    unit: secret,
    gauge: { dataPoints: [point] },
  };
  return {
    traces: { resourceSpans: [{ resource, scopeSpans: [{ scope, spans: [span] }] }] },
    logs: { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: [log] }] }] },
    metrics: { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics: [metric] }] }] },
  } as const;
}

/** The rows of all tables that hold a text, as text or as bytes. */
async function rowsWith(sought: string): Promise<string[]> {
  const { rows: tables } = await gateway.database.query<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('information_schema')`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await gateway.database.query<{ held: boolean }>(
      `SELECT EXISTS (SELECT FROM ${name} AS t WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0) AS held`,
      [sought, Buffer.from(sought).toString('hex')],
    );
    if (rows[0]?.held === true) found.push(name);
  }
  return found;
}

/** The lines of the workspace's blocks, as they arrived and as they are packed. */
async function storedLines(): Promise<string> {
  let lines = '';
  for (const signal of ['traces', 'logs', 'metrics'] as const) {
    for (const table of ['hot_blocks', 'blocks'] as const) {
      for await (const block of eachBlock(gateway.database, signal, table)) {
        if (block.workspaceId !== gateway.workspace.id) continue;
        for (const line of await linesOf(block)) lines += line.text;
      }
    }
  }
  return lines;
}

test('no byte of a secret is stored in any column of any table, or in a block', async () => {
  for (const [signal, body] of Object.entries(bodies(SECRET))) {
    const { status, text: answer } = await post(
      `${gateway.server.observeUrl}/v1/${signal}`,
      gateway.keys.agent,
      body,
    );
    expect([signal, status, answer]).toEqual([signal, 200, '{}']);
  }
  await waitFor(
    async () => {
      const { rows } = await gateway.database.query<{ evaluation: string }>(
        'SELECT evaluation FROM runs WHERE workspace_id = $1',
        [gateway.workspace.id],
      );
      return rows.length > 0 && rows.every(({ evaluation }) => evaluation === 'evaluated');
    },
    { withinMs: 60_000, what: 'the run is evaluated' },
  );
  const lines = await storedLines();
  expect(lines).not.toContain(SECRET);
  expect(new Set(lines.match(MARK)).size).toBe(1);
  const [mark = ''] = lines.match(MARK) ?? [];
  expect(lines.split(mark).length).toBeGreaterThan(50);
  expect(lines).toContain('4111111111111111');
  expect(await rowsWith(SECRET)).toEqual([]);
  // The search finds what is there.
  expect(await rowsWith(mark)).toContain('public.runs');
});

test('a text that cannot be redacted is left out, and its record is rejected', async () => {
  await redactAll();
  let deep = SECRET;
  for (let depth = 0; depth < 10; depth += 1) deep = JSON.stringify([deep]);
  const bad = rawSpan({ attributes: [text('deep', deep)] });
  const good = rawSpan({ attributes: [text('flat', SECRET)] });
  const { status, text: answer } = await post(
    `${gateway.server.observeUrl}/v1/traces`,
    gateway.keys.agent,
    traceBody([bad, good]),
  );
  const { partialSuccess } = JSON.parse(answer);
  expect([status, partialSuccess.rejectedSpans]).toEqual([200, '1']);
  expect(partialSuccess.errorMessage).toMatch(
    /^not_redacted \(1\): [^;]+; bad_any_value \(1, first at /,
  );
  const lines = await storedLines();
  expect(lines).toContain(good.spanId);
  expect(lines).not.toContain(bad.spanId);
  expect(await rowsWith(SECRET)).toEqual([]);
});

test('a setting changes with the next look-up of a key, and the ledger has it', async () => {
  const name = SECRET.replace('zed', 'open');
  const sent = rawSpan({ name });
  await setStoredRedaction(gateway.database, gateway.workspace.id, null, COMMAND_LINE);
  await waitFor(
    async () => {
      await post(`${gateway.server.observeUrl}/v1/traces`, gateway.keys.agent, traceBody([sent]));
      return (await storedLines()).includes(name);
    },
    { withinMs: KEY_TTL_MS + 5000, what: 'telemetry is stored as it was sent' },
  );
  const { rows } = await gateway.database.query<{ action: string; after: unknown }>(
    `SELECT action, after FROM audit_ledger WHERE workspace_id = $1 AND action = 'workspace.redaction'
      ORDER BY seq`,
    [gateway.workspace.id],
  );
  expect(rows.map(({ after }) => after)).toEqual([
    { redaction: { library: LIBRARY_NAMES, patterns: [] } },
    { redaction: null },
  ]);
});

test('admins choose patterns on the page of the settings; faults are named', async () => {
  const { token } = await addPerson(gateway.database, gateway.workspace.id, 'owner');
  const owner = new Browser(gateway.server.baseUrl, token);
  const change = (fields: Readonly<Record<string, string>>) =>
    owner.submit('/app/settings', { redact_before_storage: 'true', ...fields });
  const refused = await change({ own_patterns: 'mine a(?=b)' });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('look-ahead')]);
  const done = await change({ library_email: 'on', own_patterns: 'mine C-\\d{8}\r\n' });
  expect(done.status).toBe(303);
  const page = (await owner.get('/app/settings')).text;
  expect(page).toContain('rules match the redacted text: email, mine.');
  expect(page).toContain('mine C-\\d{8}</textarea>');
  expect((await owner.submit('/app/settings', { redact_before_storage: 'false' })).status).toBe(
    303,
  );
  expect((await owner.get('/app/settings')).text).toContain('Telemetry is stored as it was sent.');
});
