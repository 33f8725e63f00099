/** Counted refusals: kept for the workspace of their key, revoked ones too, for an hour and bounded. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { createKey, digestKey, revokeKey } from '../../../src/db/people/keys.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import {
  COUNTED_ROWS_MAX,
  keepRejectedRequest,
  LISTED_MAX,
  listRefusedRequests,
  recordRefusedRequests,
} from '../../../src/db/telemetry/refused-requests.ts';
import type { RefusedGroup } from '../../../src/model/refused-requests.ts';
import { type ClockedDatabase, openClockedDatabase, START } from '../../support/database.ts';

let store: ClockedDatabase;
let one: { id: number; key: string };
let other: { id: number; key: string };

async function addKey(slug: string): Promise<{ id: number; key: string }> {
  const { id } = await createWorkspace(store.database, slug, slug);
  const { key } = await createKey(store.database, {
    workspaceId: id,
    kind: 'agent',
    name: `key of ${slug}`,
    rateLimitPerMinute: 10,
    brand: 'sluice',
  });
  return { id, key };
}

beforeAll(async () => {
  store = await openClockedDatabase();
  one = await addKey('one');
  other = await addKey('other');
});
beforeEach(async () => {
  await store.setClock('0');
  await store.rows('TRUNCATE rejected_requests');
});
afterAll(() => store.close());

const group = (key: string | null, members: Partial<RefusedGroup> = {}): RefusedGroup => ({
  reason: 'unsupported_type',
  digest: key === null ? null : digestKey(key),
  keyPrefix: null,
  address: '192.0.2.1',
  userAgent: 'exporter',
  path: '/v1/traces',
  requests: 2,
  ...members,
});
const record = (groups: readonly RefusedGroup[]) => recordRefusedRequests(store.database, groups);
const list = (workspaceId: number) => listRefusedRequests(store.database, workspaceId);

test('equal ones are added up, and each workspace sees its own', async () => {
  expect(await record([group(one.key), group(other.key, { requests: 5 })])).toEqual([]);
  expect(await record([group(one.key), group(one.key), group(one.key, { path: '/' })])).toEqual([]);
  const mine = await list(one.id);
  expect(mine.requests).toBe(8);
  expect(mine.groups).toMatchObject([
    { reason: 'unsupported_type', path: '/v1/traces', requests: 6, keyName: 'key of one' },
    { path: '/', requests: 2 },
  ]);
  expect(mine.groups[0]?.keyPrefix).toBe(one.key.slice(0, 18));
  expect(mine.groups[0]?.lastAt).toBeInstanceOf(Date);
  expect((await list(other.id)).requests).toBe(5);
});

test('what has no known key is given back, and not stored', async () => {
  const unknown = [group(null), group(`sluice_live_${'y'.repeat(43)}`)];
  expect(await record([...unknown, group(one.key)])).toEqual(unknown);
  expect(await store.rows('SELECT workspace_id FROM rejected_requests')).toEqual([
    { workspace_id: one.id },
  ]);
});

test('a revoked key still belongs to its workspace', async () => {
  const gone = await addKey('gone');
  const [row] = await store.rows('SELECT id FROM api_keys WHERE workspace_id = $1', [gone.id]);
  await revokeKey(store.database, Number(row?.id));
  expect(await record([group(gone.key, { reason: 'invalid_credential' })])).toEqual([]);
  expect((await list(gone.id)).groups).toMatchObject([{ reason: 'revoked_key' }]);
});

test('for less than an hour they are listed; later the next refusal removes them', async () => {
  await record([group(one.key), group(other.key)]);
  await store.setClock('1 hour -1 us');
  expect(await list(one.id)).toMatchObject({ requests: 2 });
  await store.setClock('1 hour');
  expect(await list(one.id)).toEqual({ groups: [], requests: 0 });
  const paths = async () => {
    await record([group(one.key, { path: '/new' })]);
    return await store.rows(
      'SELECT workspace_id, path FROM rejected_requests ORDER BY workspace_id, path',
    );
  };
  const [added, mine, theirs] = [
    { workspace_id: one.id, path: '/new' },
    { workspace_id: one.id, path: '/v1/traces' },
    { workspace_id: other.id, path: '/v1/traces' },
  ];
  expect(await paths()).toEqual([added, mine, theirs]);
  await store.setClock('1 hour 1 us');
  expect(await paths()).toEqual([added, theirs]);
});

test('equal ones of five minutes are one row, which is as old as the last of them', async () => {
  for (const moment of ['0', '5 minutes -1 us', '5 minutes']) {
    await store.setClock(moment);
    await record([group(one.key)]);
  }
  const rows = await store.rows(
    'SELECT since, rejected_at AS last, requests FROM rejected_requests ORDER BY since',
  );
  const start = Date.parse(START);
  expect(rows).toMatchObject([
    { since: new Date(start), last: new Date(start + 299_999), requests: 4 },
    { since: new Date(start + 300_000), last: new Date(start + 300_000), requests: 2 },
  ]);
});

test('rows and lists are bounded, and kept bodies are counted by neither', async () => {
  const refusal = Object.assign(new Error('invalid'), { code: '22P02' });
  const body = {
    workspaceId: one.id,
    signal: 'logs',
    body: Buffer.from('x'),
    bodyBytes: 1,
  } as const;
  await keepRejectedRequest(store.database, { ...body, error: refusal });
  for (let from = 0; from < COUNTED_ROWS_MAX + 10; from += 51) {
    await record(
      Array.from({ length: 51 }, (_, index) => group(one.key, { path: `/${from + index}` })),
    );
  }
  const { groups, requests } = await list(one.id);
  expect(groups).toHaveLength(LISTED_MAX);
  expect(requests).toBe(2 * COUNTED_ROWS_MAX);
  expect(
    await store.rows(
      'SELECT count(body)::int AS bodies, count(since)::int AS counted FROM rejected_requests',
    ),
  ).toEqual([{ bodies: 1, counted: COUNTED_ROWS_MAX }]);
});

test('processes that record at once do not lose counts', async () => {
  const groups = ['/a', '/b', '/c'].map((path) => group(one.key, { path }));
  await Promise.all(
    Array.from({ length: 8 }, (_, index) => record(index % 2 ? groups : groups.toReversed())),
  );
  expect((await list(one.id)).requests).toBe(8 * 3 * 2);
});
