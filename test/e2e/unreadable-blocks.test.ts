/** A run whose stored block was damaged: its page, the API and the command line say so, and show the rest. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { runCommand } from '../support/command.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser } from './browser.ts';
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

const EVALUATED_WITHIN_MS = 60_000;
const SENTENCE = '1 block could not be read, with 2 steps';

interface Outline {
  readonly evaluation: string;
  readonly steps: readonly { readonly name: string }[];
}

const traceId = randomId(16);
const whole = randomId(16);
const attributes = [
  { key: 'gen_ai.operation.name', value: { stringValue: 'invoke_agent' } },
  { key: 'gen_ai.input.messages', value: { stringValue: 'How is the weather?' } },
];
const root = rawSpan({ traceId, name: 'invoke_agent root', attributes });
const child = (name: string, startTimeUnixNano: string) =>
  rawSpan({ traceId, name, parentSpanId: root.spanId, startTimeUnixNano, attributes });

let gateway: Gateway;
let browser: Browser;
const show = (id: string): Promise<Outline & Record<string, unknown>> =>
  read(`${gateway.server.baseUrl}/platform/v1/runs/${id}`, gateway.keys.workspace);

beforeAll(async () => {
  gateway = await openGateway();
  browser = new Browser(gateway.server.baseUrl);
  await browser.signIn(gateway.owner.email, gateway.owner.password);
  const { observeUrl } = gateway.server;
  const send = async (...spans: readonly object[]): Promise<void> => {
    const answer = await post(`${observeUrl}/v1/traces`, gateway.keys.agent, traceBody(spans));
    expect(answer.status).toBe(200);
  };
  await send(root, child('read', '1763640000000000003'));
  await send(child('damaged', '1763640000000000004'), child('lost', '1763640000000000005'));
  await send({ ...root, traceId: whole });
  for (const id of [traceId, whole]) {
    await waitFor(async () => (await show(id)).evaluation === 'evaluated', {
      withinMs: EVALUATED_WITHIN_MS,
      what: `run ${id} is evaluated`,
    });
  }
});
beforeAll(async () => {
  // As if they could not be packed: a packed run is in one block.
  await gateway.database.query('DELETE FROM places');
});
afterAll(() => gateway.close());

const page = async (id: string, query = ''): Promise<string> => {
  const answer = await browser.get(`/app/runs/${id}${query}`);
  expect(answer.status).toBe(200);
  return answer.text;
};
const command = async (id: string): Promise<string> => {
  const shown = await runCommand(['runs', 'show', id], { DATABASE_URL: gateway.databaseUrl });
  expect(shown).toMatchObject({ code: 0 });
  return shown.stdout;
};

test('a run whose blocks can be read says nothing of blocks', async () => {
  expect(await show(traceId)).toMatchObject({
    checked: 'fully',
    check_limits: [],
    steps: [{}, {}, {}, {}],
    unreadable_blocks: 0,
    unreadable_steps: 0,
  });
  expect(await page(traceId)).not.toContain('could not be read');
  expect(await command(traceId)).not.toContain('could not be read');
});

describe.each([
  [
    'changed',
    'UPDATE hot_blocks SET data = overlay(data PLACING $2 FROM 9 FOR 4) WHERE block_id = $1',
  ],
  ['cut', 'UPDATE hot_blocks SET data = substr(data, 1, length($2)) WHERE block_id = $1'],
  ['missing', 'DELETE FROM hot_blocks WHERE block_id = $1 AND length($2) = 4'],
])('a run with a block that is %s', (_, statement) => {
  beforeAll(async () => {
    const { rows } = await gateway.database.query<{ id: string }>(
      `SELECT block_id AS id FROM hot_places WHERE run_id = $1 ORDER BY block_id DESC LIMIT 1`,
      [traceId],
    );
    const damaged = Buffer.from([1, 2, 3, 4]);
    await gateway.database.query(statement, [rows[0]?.id, damaged]);
  });

  test('shows its other steps over the API, and is not fully checked', async () => {
    const run = await show(traceId);
    expect(run).toMatchObject({
      checked: 'partly',
      check_limits: ['unreadable_blocks'],
      unreadable_blocks: 1,
      unreadable_steps: 2,
      steps_left_out: 2,
    });
    expect(run.steps.map(({ name }) => name)).toEqual(['invoke_agent root', 'read']);
  });

  test('says so on its page', async () => {
    const text = await page(traceId);
    expect(text).toContain(`<p class="notice error">${SENTENCE}.</p>`);
    expect(text).not.toContain('No rule matched. ');
    expect(text).not.toContain('more steps are not shown');
  });

  test('says so when it is searched', async () => {
    const text = await page(traceId, '?q=weather');
    expect(text).toMatch(new RegExp(`text matches\\s+in steps 1 to the last\\.\\s+${SENTENCE}\\.`));
  });

  test('says so on the command line', async () => {
    const text = await command(traceId);
    expect(text).toContain(`Error     ${SENTENCE}`);
    expect(text).toContain('2 further steps are not listed.');
  });

  test('is not exported', async () => {
    const { status } = await request(`${gateway.server.baseUrl}/platform/v1/runs/${traceId}/otlp`, {
      headers: { authorization: `Bearer ${gateway.keys.workspace}` },
    });
    expect(status).toBe(500);
  });

  test('does not concern another run', async () => {
    expect(await show(whole)).toMatchObject({ checked: 'fully', unreadable_blocks: 0 });
  });
});

test('the log has one line for the block, with its id', async () => {
  const { stdout, stderr } = gateway.server;
  const lines = `${stdout()}${stderr()}`.split('\n').filter((line) => line.includes('"blockId"'));
  expect(lines).toHaveLength(1);
  const { rows } = await gateway.database.query<{ id: string }>(
    `SELECT replace(block_id::text, '-', '') AS id FROM hot_places WHERE run_id = $1
      ORDER BY block_id DESC LIMIT 1`,
    [traceId],
  );
  expect(lines[0]).toContain(`"blockId":"${rows[0]?.id}"`);
  expect(lines[0]).toContain('a stored block cannot be read');
});
