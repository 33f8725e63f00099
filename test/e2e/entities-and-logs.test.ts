/**
 * Log records, metrics and entities over the API and in a browser: what was sent a moment ago is there, and names
 * lead from a run to who was in it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { openBrowser } from '../support/chromium.ts';
import { addPerson } from '../support/people.ts';
import { chromiumPath } from '../support/programs.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  type Gateway,
  openGateway,
  post,
  randomId,
  rawSpan,
  read,
  request,
  traceBody,
} from './gateway.ts';

const WITHIN_MS = 60_000;
let gateway: Gateway;
const runId = randomId(16);
const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
const resource = { attributes: [text('service.name', 'shop')] };
const nanos = (ms: number): string => String(BigInt(Math.floor(ms)) * 1_000_000n);

const url = (rest: string): string => `${gateway.server.baseUrl}/platform/v1/${rest}`;
const get = <Body>(rest: string): Promise<Body> => read<Body>(url(rest), gateway.keys.workspace);

interface Logs {
  readonly records: readonly { readonly text: string; readonly run_id: string | null }[];
  readonly next_cursor: string | null;
}

beforeAll(async () => {
  gateway = await openGateway();
  const { observeUrl } = gateway.server;
  const { agent } = gateway.keys;
  const now = Date.now();
  const spans = [
    rawSpan({
      traceId: runId,
      name: 'invoke_agent planner',
      startTimeUnixNano: nanos(now - 3000),
      endTimeUnixNano: nanos(now),
      attributes: [
        text('gen_ai.operation.name', 'invoke_agent'),
        text('gen_ai.agent.name', 'planner'),
        text('user.id', 'f'.repeat(64)),
        text('user.email', 'ada@people.test'),
        text('gen_ai.input.messages', 'Which flights are there?'),
      ],
    }),
    rawSpan({
      traceId: runId,
      parentSpanId: randomId(8),
      name: 'execute_tool mcp__travel__flights',
      startTimeUnixNano: nanos(now - 2000),
      endTimeUnixNano: nanos(now - 1000),
      attributes: [
        text('gen_ai.operation.name', 'execute_tool'),
        text('gen_ai.tool.name', 'mcp__travel__flights'),
        text('gen_ai.tool.call.arguments', '{"to":"Rome"}'),
      ],
    }),
  ];
  const logRecords = ['one', 'two', 'three'].map((word, index) => ({
    timeUnixNano: nanos(now - 1000 + index),
    severityNumber: 9 + 4 * index,
    body: { stringValue: `record ${word}` },
    ...(word === 'two' && { traceId: runId }),
  }));
  const dataPoints = [
    { timeUnixNano: nanos(now), asInt: '5', attributes: [text('model', 'm-1')] },
    { timeUnixNano: nanos(now), asInt: '7', attributes: [text('model', 'm-2')] },
  ];
  const sum = { aggregationTemporality: 1, isMonotonic: true, dataPoints };
  const metrics = [{ name: 'tokens', unit: '{token}', sum }];
  const sent = [
    post(`${observeUrl}/v1/traces`, agent, traceBody(spans)),
    post(`${observeUrl}/v1/logs`, agent, {
      resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }],
    }),
    post(`${observeUrl}/v1/metrics`, agent, {
      resourceMetrics: [{ resource, scopeMetrics: [{ metrics }] }],
    }),
  ];
  for (const answer of await Promise.all(sent)) expect(answer.status).toBe(200);
  await waitFor(
    async () => (await get<{ evaluation: string }>(`runs/${runId}`)).evaluation === 'evaluated',
    { withinMs: WITHIN_MS, what: 'the run is evaluated' },
  );
});
afterAll(() => gateway.close());

test('log records are listed, filtered and paged', async () => {
  const all = await get<Logs>('logs');
  expect(all.records.map((record) => record.text)).toEqual([
    'record three',
    'record two',
    'record one',
  ]);
  expect(all.records.map((record) => record.run_id)).toEqual([null, runId, null]);
  expect(all.next_cursor).toBeNull();
  const first = await get<Logs>('logs?limit=2');
  const second = await get<Logs>(`logs?limit=2&cursor=${first.next_cursor}`);
  expect([...first.records, ...second.records]).toEqual(all.records);
  const found = async (query: string) =>
    (await get<Logs>(`logs?${query}`)).records.map((one) => one.text);
  expect(await found('level=warn')).toEqual(['record three', 'record two']);
  expect(await found(`run_id=${runId}`)).toEqual(['record two']);
  expect(await found('text=d%20ONE')).toEqual(['record one']);
  expect(await found('service=other')).toEqual([]);
  const bad = await request(url('logs?cursor=x'), {
    headers: { authorization: `Bearer ${gateway.keys.workspace}` },
  });
  expect(bad.status).toBe(400);
});

test('metrics are listed, and one is shown by hour', async () => {
  const { metrics } = await get<{ metrics: object[] }>('metrics');
  expect(metrics).toMatchObject([
    {
      name: 'tokens',
      unit: '{token}',
      kind: 'sum',
      services: ['shop'],
      attributes: ['model'],
      points: 2,
    },
  ]);
  const chart = await get<{ series: { value: string; values: (number | null)[] }[] }>(
    'metrics/series?name=tokens&by=model&hours=2',
  );
  const values = chart.series.map(({ value, values: own }) => [
    value,
    own.filter((one) => one !== null),
  ]);
  expect(values).toEqual([
    ['m-2', [7]],
    ['m-1', [5]],
  ]);
});

test('an agent, a tool, a server and a user know each other', async () => {
  const facts = async (kind: string, name: string) =>
    await get<{ runs: number; names: Record<string, object[]> }>(
      `entities?kind=${kind}&name=${encodeURIComponent(name)}`,
    );
  const agent = await facts('agent', 'planner');
  expect(agent).toMatchObject({ runs: 1, errors: 0, duration_p50: 3000 });
  expect(agent.names).toMatchObject({
    user: [{ name: 'ada@people.test', runs: 1 }],
    tool: [{ name: 'mcp__travel__flights', runs: 1 }],
    mcp_server: [{ name: 'travel', runs: 1 }],
  });
  for (const [kind, name] of [
    ['tool', 'mcp__travel__flights'],
    ['mcp_server', 'travel'],
    ['user', 'ada@people.test'],
  ] as const) {
    expect((await facts(kind, name)).names).toMatchObject({ agent: [{ name: 'planner' }] });
  }
  expect((await facts('agent', 'nobody')).runs).toBe(0);
});

/** Sends a prompt of a session as a run; each call of the model sends the history again. */
async function sendTurn(session: string, number: number): Promise<void> {
  const said = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });
  const before = Array.from({ length: number - 1 }, (_, at) => [
    said('user', `question ${at + 1}`),
    said('assistant', `answer ${at + 1}`),
  ]);
  const now = Date.now();
  const span = rawSpan({
    traceId: randomId(16),
    name: 'chat',
    startTimeUnixNano: nanos(now - 10),
    endTimeUnixNano: nanos(now),
    attributes: [
      text('gen_ai.operation.name', 'chat'),
      text('gen_ai.conversation.id', session),
      text(
        'gen_ai.input.messages',
        JSON.stringify([...before.flat(), said('user', `question ${number}`)]),
      ),
      text('gen_ai.output.messages', JSON.stringify([said('assistant', `answer ${number}`)])),
    ],
  });
  const { observeUrl } = gateway.server;
  const answer = await post(`${observeUrl}/v1/traces`, gateway.keys.agent, traceBody([span]));
  expect(answer.status).toBe(200);
}

test('a session reads as one conversation, twenty turns a page', async () => {
  const session = randomId(8);
  for (let number = 1; number <= 21; number += 1) await sendTurn(session, number);
  const runs = async () =>
    (await get<{ runs: { evaluation: string }[] }>(`runs?session_id=${session}`)).runs;
  await waitFor(
    async () => (await runs()).filter((one) => one.evaluation === 'evaluated').length === 21,
    { withinMs: WITHIN_MS, what: 'the runs of the session are evaluated' },
  );
  const { id } = await findWorkspace(gateway.database, 'default');
  const { token } = await addPerson(gateway.database, id, 'member');
  const { baseUrl } = gateway.server;
  const read = async (path: string): Promise<string> => {
    const answer = await request(baseUrl + path, {
      headers: { cookie: `sluice_session=${token}` },
    });
    expect(answer.status).toBe(200);
    return answer.text;
  };
  const shown = (page: string) => page.match(/(?:question|answer) \d+(?=<)/g);
  const newest = await read(`/app/entities?kind=session&name=${session}`);
  const turns = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => [
      `question ${from + at}`,
      `answer ${from + at}`,
    ]).flat();
  expect(shown(newest)).toEqual(turns(2, 21));
  const [, path = ''] = /href="([^"]+)">Earlier turns/.exec(newest) ?? [];
  const earlier = await read(path.replaceAll('&amp;', '&'));
  expect(shown(earlier)).toEqual(turns(1, 1));
  expect(earlier).not.toContain('Earlier turns');
});

test.each([
  [16, 'Tools: execute_tool Bash × 16'],
  [17, 'Tools of the first and last steps: execute_tool Bash × 16'],
])('of a run of %i steps: %s', async (steps, tools) => {
  const session = randomId(8);
  const traceId = randomId(16);
  const spans = Array.from({ length: steps }, (_, at) =>
    rawSpan({
      traceId,
      name: 'execute_tool Bash',
      startTimeUnixNano: nanos(Date.now() - 1000 + at),
      endTimeUnixNano: nanos(Date.now()),
      attributes: [
        text('gen_ai.operation.name', 'execute_tool'),
        text('gen_ai.conversation.id', session),
      ],
    }),
  );
  const { baseUrl, observeUrl } = gateway.server;
  const sent = await post(`${observeUrl}/v1/traces`, gateway.keys.agent, traceBody(spans));
  expect(sent.status).toBe(200);
  await waitFor(
    async () => (await get<{ evaluation: string }>(`runs/${traceId}`)).evaluation === 'evaluated',
    { withinMs: WITHIN_MS, what: 'the run is evaluated' },
  );
  const { id } = await findWorkspace(gateway.database, 'default');
  const { token } = await addPerson(gateway.database, id, 'member');
  const page = await request(`${baseUrl}/app/entities?kind=session&name=${session}`, {
    headers: { cookie: `sluice_session=${token}` },
  });
  expect(page.text).toContain(tools);
});

describe.skipIf(chromiumPath === null)('in a browser', () => {
  test('from the log to the run, to its agent, to its tool; and to a metric by model', async () => {
    const { id } = await findWorkspace(gateway.database, 'default');
    const { token } = await addPerson(gateway.database, id, 'member');
    const browser = await openBrowser();
    const { baseUrl } = gateway.server;
    await browser.context.addCookies([{ name: 'sluice_session', value: token, url: baseUrl }]);
    const page = await browser.context.newPage();
    await page.goto(`${baseUrl}/app`);
    await page.getByRole('navigation').getByRole('link', { name: 'Logs', exact: true }).click();
    await page.getByRole('heading', { name: 'Logs', exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Text' }).fill('record two');
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    const rows = page.getByRole('table', { name: 'Log records' }).locator('tbody tr');
    expect(await rows.count()).toBe(1);
    await rows.getByRole('link', { name: runId.slice(0, 8) }).click();
    await page.getByRole('link', { name: 'About the agent planner' }).click();
    await page.getByRole('heading', { name: 'planner', exact: true }).waitFor();
    await page.getByRole('link', { name: 'mcp__travel__flights' }).click();
    await page.getByRole('heading', { name: 'mcp__travel__flights' }).waitFor();
    expect(await page.getByRole('link', { name: 'planner', exact: true }).count()).toBe(1);
    await page.getByRole('navigation').getByRole('link', { name: 'Logs', exact: true }).click();
    await page.getByRole('link', { name: 'Metrics' }).click();
    await page.getByRole('link', { name: 'tokens' }).click();
    await page.getByLabel('By').selectOption('model');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('heading', { name: 'model: m-2' }).waitFor();
    await browser.close();
  });
});
