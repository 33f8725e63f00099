/**
 * The OCSF export of a running server over a real database: thousands of findings, each once and in
 * order, however they are read, and whatever breaks in between; never a word of an excerpt.
 */
import { type IncomingMessage, request as open } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { CONVERSATIONS } from '../../demo/conversations.ts';
import { sendRun } from '../../demo/send-run.ts';
import { revokeKey } from '../../src/db/people/keys.ts';
import { addMember } from '../../src/db/people/memberships.ts';
import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { addPerson } from '../support/people.ts';
import { DIGESTED } from '../support/rows.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Gateway, type Keys, openGateway, read, request } from './gateway.ts';

interface Event {
  readonly class_uid: number;
  readonly severity_id: number;
  readonly time: number;
  readonly finding_info: { readonly uid: string; readonly analytic: { readonly name?: string } };
  readonly unmapped: { readonly rule_id: string; readonly run_id: string };
}

const PATH = '/platform/v1/risk-findings/ocsf';
const WITHIN_MS = 60_000;
/** Their lines are some 15 MB: more than the kernel's buffers of a connection hold. */
const FINDINGS = 6000;
/** Six pages of an export. */
const FEW = 1200;
const EXCERPT = 'words of a customer';

let gateway: Gateway;
/** ids of the findings of the first workspace, oldest first */
let ids: string[];
/** of a workspace with fewer findings, for what does not need many */
let few: Keys & { readonly id: number };

/** Three of each time, and of each twelve one critical. */
async function storeFindings(workspaceId: number, count: number): Promise<void> {
  await gateway.database.query(
    `INSERT INTO findings (workspace_id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, subcategory, corpus_version, description, condition_index,
       condition_description, field, surface, step_span_id, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns})
     SELECT $1, now() - interval '1 day' + (n / 3) * interval '1 millisecond', gen_random_uuid(),
            'ATR-2026-00001', '1.0', 'stable', CASE WHEN n % 12 = 0 THEN 'critical' ELSE 'high' END,
            'prompt-injection', 'sub', '4.0.0', 'ATR-2026-00001 matched', 2, repeat('asks ', 320),
            'content', 'tool_result', decode('00000000000000a1', 'hex'), 'execute_tool',
            $3 || n, '["alert"]', ${DIGESTED.values}
       FROM generate_series(1, $2) AS n`,
    [workspaceId, count, EXCERPT],
  );
}

async function storedIds(workspaceId: number): Promise<string[]> {
  const { rows } = await gateway.database.query<{ id: string }>(
    'SELECT id FROM findings WHERE workspace_id = $1 ORDER BY created_at, id',
    [workspaceId],
  );
  return rows.map(({ id }) => id);
}

function url(query = ''): string {
  return `${gateway.server.baseUrl}${PATH}?${query}`;
}

const authorized = (key = gateway.keys.workspace) => ({
  headers: { authorization: `Bearer ${key}` },
});

function eventsOf(text: string): Event[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Event);
}

const uidsOf = (text: string): string[] => eventsOf(text).map((event) => event.finding_info.uid);

async function exported(query = '', key?: string): Promise<string> {
  const answer = await request(url(query), authorized(key));
  if (answer.status !== 200) throw new Error(`${query}: ${answer.status} ${answer.text}`);
  return answer.text;
}

/** Begins an export and reads none of its body yet. */
function begin(
  address = url(),
  headers: Record<string, string> = authorized().headers,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    open(address, { headers, agent: false }).once('response', resolve).once('error', reject).end();
  });
}

/** Reads a body to whatever end it comes. */
async function readOn(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  await new Promise<void>((resolve) => {
    response.on('data', (part: Buffer) => void parts.push(part));
    // A transfer that breaks off is an error to Node, too.
    response.once('error', () => undefined).once('close', resolve);
  });
  return Buffer.concat(parts).toString();
}

beforeAll(async () => {
  gateway = await openGateway();
  const { rows } = await gateway.database.query<{ id: number }>('SELECT id FROM workspaces');
  const firstId = rows[0]?.id ?? 0;
  await storeFindings(firstId, FINDINGS);
  ids = await storedIds(firstId);
  expect(ids).toHaveLength(FINDINGS);
  few = await gateway.addWorkspace('few');
  await storeFindings(few.id, FEW);
});
afterAll(() => gateway.close());

describe('the export', () => {
  let fewIds: string[];
  beforeAll(async () => {
    fewIds = await storedIds(few.id);
    expect(fewIds).toHaveLength(FEW);
  });
  const exportedFew = (query = '') => exported(query, few.workspace);

  test('has every finding once, oldest first, and no word of an excerpt', async () => {
    const answer = await request(url(), authorized(few.workspace));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
    expect(uidsOf(answer.text)).toEqual(fewIds);
    expect(new Set(eventsOf(answer.text).map((event) => event.class_uid))).toEqual(new Set([2004]));
    expect(answer.text).not.toContain(EXCERPT);
    expect(answer.text).not.toContain('excerpt');
  });

  test('chooses by filters and times', async () => {
    expect(eventsOf(await exportedFew('severity=critical'))).toHaveLength(FEW / 12);
    expect(await exportedFew('category=atr_tool_poisoning')).toBe('');
    const all = eventsOf(await exportedFew());
    const [middle] = all.slice(FEW / 2);
    const since = new Date(middle?.time ?? 0).toISOString();
    const from = all.findIndex((event) => event.time === middle?.time);
    // Times of the database are finer than the milliseconds of an event.
    const later = uidsOf(await exportedFew(`since=${since}`));
    expect(later).toEqual(fewIds.slice(from));
    const earlier = uidsOf(await exportedFew(`until=${since}`));
    expect(earlier).toEqual(fewIds.slice(0, from));
  });

  test('continues after the last finding of a poll, with what was found since', async () => {
    const first = uidsOf(await exportedFew());
    const last = first.at(-1) ?? '';
    expect(await exportedFew(`after=${last}`)).toBe('');
    const { observeUrl } = gateway.server;
    const conversation = CONVERSATIONS.find(({ title }) => title === 'injection by the user');
    if (conversation === undefined) throw new Error('the demo has no such conversation');
    const runId = await sendRun(conversation, { observeUrl, agentKey: few.agent });
    const polled: Event[] = [];
    const poll = async (): Promise<boolean> => {
      const after = polled.at(-1)?.finding_info.uid ?? last;
      polled.push(...eventsOf(await exportedFew(`after=${after}`)));
      return polled.length >= 2;
    };
    await waitFor(poll, { withinMs: WITHIN_MS, what: 'the run’s findings are exported' });
    fewIds = await storedIds(few.id);
    expect(polled.map((event) => event.finding_info.uid)).toEqual(fewIds.slice(FEW));
    expect(polled.map((event) => event.unmapped.rule_id).sort()).toEqual([
      'ATR-2026-00001',
      'ATR-2026-00514',
    ]);
    expect(polled.map((event) => event.unmapped.run_id)).toEqual([runId, runId]);

    // Everything of the list is there, except the excerpt and the name of the rule.
    const list = await read<{ findings: { id: string; excerpt: string; metadata: object }[] }>(
      `${gateway.server.baseUrl}/platform/v1/risk-findings?run_id=${runId}`,
      few.workspace,
    );
    for (const { id, excerpt, metadata } of list.findings) {
      const event = polled.find((one) => one.finding_info.uid === id);
      expect(event?.unmapped).toMatchObject({
        ...metadata,
        category: expect.stringMatching(/^atr_/),
      });
      expect(event?.finding_info.analytic.name).toEqual(expect.any(String));
      expect(excerpt.length).toBeGreaterThan(20);
      expect(JSON.stringify(event)).not.toContain(excerpt.slice(5, 20));
    }
  });

  test('is a workspace’s own', async () => {
    const other = await gateway.addWorkspace('other');
    expect(await exported('', other.workspace)).toBe('');
    await storeFindings(other.id, 5);
    expect(uidsOf(await exported('', other.workspace))).toHaveLength(5);
    expect(uidsOf(await exportedFew())).toEqual(fewIds);
    const answer = await request(url(`after=${fewIds[0]}`), authorized(other.workspace));
    expect(answer.status).toBe(400);
  });
});

describe('who asks', () => {
  test('without a key gets 401, with an agent key 403', async () => {
    expect((await request(url())).status).toBe(401);
    const agent = await request(url(), authorized(gateway.keys.agent));
    expect(agent.status).toBe(403);
    expect(JSON.parse(agent.text)).toMatchObject({ reason: 'wrong_key_kind' });
  });

  test('with a bad query gets every fault in one 400', async () => {
    const answer = await request(url('severity=bad&since=now&after=x'), authorized());
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    const body = JSON.parse(answer.text) as { type: string; errors: { path: string }[] };
    expect(body.type).toBe('/docs/errors#bad_query');
    expect(body.errors.map(({ path }) => path).sort()).toEqual(['after', 'severity', 'since']);
  });

  test('only for the head gets only that', async () => {
    const answer = await request(url(), { ...authorized(), method: 'HEAD' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
    expect(answer.text).toBe('');
  });
});

describe('a reader', () => {
  test('that is slow gets everything', async () => {
    const response = await begin();
    const parts: Buffer[] = [];
    for await (const part of response) {
      parts.push(part as Buffer);
      await new Promise(setImmediate);
    }
    expect(response.complete).toBe(true);
    expect(uidsOf(Buffer.concat(parts).toString())).toEqual(ids);
  });

  test('that leaves midway, again and again, costs nobody anything', async () => {
    // More often than exports of one workspace may be under way.
    for (let time = 0; time < 12; time += 1) {
      const response = await begin();
      await new Promise((resolve) => response.once('data', resolve));
      response.destroy();
    }
    await waitFor(
      async () => (await request(url(`after=${ids.at(-1)}`), authorized())).status === 200,
      { withinMs: WITHIN_MS, what: 'the exports of readers that left are over' },
    );
    expect(uidsOf(await exported())).toEqual(ids);
    expect(gateway.server.stderr()).not.toContain('request failed');
  });
});

describe('a reader that loses the right to read', () => {
  /** Begins an export, takes the right away, and expects that what follows is not sent. */
  async function expectCut(
    response: IncomingMessage,
    takeAway: () => Promise<unknown>,
    isRefused: () => Promise<boolean>,
  ): Promise<void> {
    expect(response.statusCode).toBe(200);
    await takeAway();
    await waitFor(isRefused, { withinMs: WITHIN_MS, what: 'another request to be refused' });
    const text = await readOn(response);
    expect(response.complete).toBe(false);
    const uids = text.split('\n').slice(0, -1).length;
    expect(uids).toBeLessThan(FINDINGS);
  }

  test('by a revoked key is sent no further', async () => {
    const key = await gateway.addKey('workspace', 1000);
    const { headers } = authorized(key);
    const { rows } = await gateway.database.query<{ id: number }>(
      'SELECT max(id) AS id FROM api_keys',
    );
    await expectCut(
      await begin(url(), headers),
      () => revokeKey(gateway.database, rows[0]?.id ?? 0),
      async () => (await request(url('after=x'), { headers })).status === 401,
    );
  });

  test.each([
    ['whose session ended', 'UPDATE sessions SET revoked_at = now() WHERE user_id = $1'],
    ['who was removed', 'DELETE FROM memberships WHERE user_id = $1'],
  ])('%s is sent no further, from the dashboard', async (_who, sql) => {
    const { id } = await findWorkspace(gateway.database, 'default');
    const person = await addPerson(gateway.database, id, 'member');
    const headers = { cookie: `sluice_session=${person.token}` };
    const page = `${gateway.server.baseUrl}/app/members`;
    await expectCut(
      await begin(`${gateway.server.baseUrl}/app/findings.ocsf`, headers),
      () => gateway.database.query(sql, [person.id]),
      async () => (await request(page, { headers, redirect: 'manual' })).status !== 200,
    );
  });

  test('is no session that has turned to another workspace', async () => {
    const { id } = await findWorkspace(gateway.database, 'default');
    const person = await addPerson(gateway.database, id, 'member');
    const { id: second } = await gateway.addWorkspace('turned-to');
    await addMember(gateway.database, second, person.id, 'member');
    const headers = { cookie: `sluice_session=${person.token}` };
    const response = await begin(`${gateway.server.baseUrl}/app/findings.ocsf`, headers);
    await gateway.database.query('UPDATE sessions SET workspace_id = $2 WHERE user_id = $1', [
      person.id,
      second,
    ]);
    expect(uidsOf(await readOn(response))).toEqual(ids);
    expect(response.complete).toBe(true);
  });
});

describe('a database that fails', () => {
  const rename = (from: string, to: string) =>
    gateway.database.query(`ALTER TABLE ${from} RENAME TO ${to}`);

  test('midway breaks the transfer, and the next poll continues where it broke', async () => {
    const response = await begin();
    // The reader holds it up: it cannot have come to its end.
    await rename('findings', 'findings_away');
    const broken = await readOn(response);
    await rename('findings_away', 'findings');
    expect(response.statusCode).toBe(200);
    expect(response.complete).toBe(false);
    await waitFor(() => gateway.server.stderr().includes('request failed'), {
      withinMs: WITHIN_MS,
      what: 'the failure is logged',
    });

    const first = uidsOf(broken);
    expect(first.length).toBeGreaterThan(0);
    expect(first.length).toBeLessThan(ids.length);
    const rest = uidsOf(await exported(`after=${first.at(-1)}`));
    expect([...first, ...rest]).toEqual(ids);
  });

  test('before the first finding is an error answer like any other', async () => {
    await rename('findings', 'findings_away');
    const answer = await request(url(), authorized());
    await rename('findings_away', 'findings');
    expect(answer.status).toBe(500);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  });
});

test('a stop does not wait for a stuck reader, whose transfer breaks', async () => {
  const response = await begin();
  expect(await gateway.server.stop()).toEqual({ code: 0, signal: null });
  const text = await readOn(response);
  expect(response.complete).toBe(false);
  const uids = uidsOf(text);
  expect(uids).toEqual(ids.slice(0, uids.length));
});
