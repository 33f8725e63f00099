/** API keys: what is shown once, what is kept, and who finds them. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  createKey,
  digestKey,
  findCredential,
  findKeyArrival,
  listKeys,
  type NewKey,
  recordKeyUse,
  revokeKey,
} from '../../../src/db/people/keys.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { OperatorError } from '../../../src/errors.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';

let scratch: MigratedDatabase;
let workspaceId: number;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  workspaceId = (await createWorkspace(scratch.database, 'one', 'One')).id;
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE api_keys RESTART IDENTITY');
});

function create(fields: Partial<NewKey> = {}): Promise<{ id: number; key: string }> {
  return createKey(scratch.database, {
    workspaceId,
    kind: 'agent',
    name: 'agent key',
    rateLimitPerMinute: 1000,
    brand: 'acme',
    ...fields,
  });
}

const find = (key: string) => findCredential(scratch.database, digestKey(key));

test('a key names its brand and kind, and is never made twice', async () => {
  const agent = await create();
  const reader = await create({ kind: 'workspace' });
  expect(agent.key).toMatch(/^acme_live_[A-Za-z0-9]{43}$/);
  expect(reader.key).toMatch(/^acme_key_[A-Za-z0-9]{43}$/);
  const keys = await Promise.all(Array.from({ length: 20 }, () => create()));
  expect(new Set(keys.map(({ key }) => key)).size).toBe(20);
});

test('only the digest is kept, and a prefix to tell keys apart', async () => {
  const { key } = await create();
  const [row] = await scratch.rows('SELECT prefix, secret_sha256 FROM api_keys');
  expect(row).toEqual({
    prefix: key.slice(0, 'acme_live_'.length + 6),
    secret_sha256: createHash('sha256').update(key).digest(),
  });
  const stored = JSON.stringify(await scratch.rows('SELECT to_jsonb(api_keys) FROM api_keys'));
  expect(stored).not.toContain(key.slice(-30));
});

test('a key is found by its digest, with what the request path needs', async () => {
  const { id, key } = await create({ rateLimitPerMinute: 7, kind: 'workspace' });
  expect(await find(key)).toEqual({
    keyId: id,
    workspaceId,
    kind: 'workspace',
    rateLimitPerMinute: 7,
    redaction: null,
  });
  expect(await find(`${key}x`)).toBeNull();
});

test('a revoked key is found no more, and stays revoked as it was', async () => {
  const { id, key } = await create();
  await revokeKey(scratch.database, id);
  expect(await find(key)).toBeNull();
  const [before] = await listKeys(scratch.database, null);
  await revokeKey(scratch.database, id);
  expect(await listKeys(scratch.database, null)).toEqual([before]);
  expect(before?.revokedAt).toBeInstanceOf(Date);
  await expect(revokeKey(scratch.database, 404)).rejects.toEqual(
    new OperatorError('There is no key with the id 404: see sluice key list'),
  );
});

test('keys are listed oldest first, of one workspace or of all', async () => {
  const { id: otherId } = await createWorkspace(scratch.database, 'two', 'Two');
  await create({ name: 'first' });
  await create({ name: 'second', workspaceId: otherId, kind: 'workspace', rateLimitPerMinute: 5 });
  await create({ name: 'third' });
  const names = async (id: number | null): Promise<string[]> =>
    (await listKeys(scratch.database, id)).map(({ name }) => name);
  expect(await names(null)).toEqual(['first', 'second', 'third']);
  expect(await names(workspaceId)).toEqual(['first', 'third']);
  expect(await listKeys(scratch.database, otherId)).toEqual([
    {
      id: 2,
      workspace: 'two',
      kind: 'workspace',
      name: 'second',
      prefix: expect.stringMatching(/^acme_key_.{6}$/),
      rateLimitPerMinute: 5,
      createdAt: expect.any(Date),
      lastUsedAt: null,
      revokedAt: null,
    },
  ]);
});

test('the use of keys is noted, of those that were used', async () => {
  const [first, second] = [await create(), await create()];
  await recordKeyUse(scratch.database, []);
  await recordKeyUse(scratch.database, [second.id, 404]);
  const used = (await listKeys(scratch.database, null)).map(({ id, lastUsedAt }) => [
    id,
    lastUsedAt instanceof Date,
  ]);
  expect(used).toEqual([
    [first.id, false],
    [second.id, true],
  ]);
});

test.each([1, 100_000])('a limit of %d is within range', async (rateLimitPerMinute) => {
  const { key } = await create({ rateLimitPerMinute });
  expect((await find(key))?.rateLimitPerMinute).toBe(rateLimitPerMinute);
});

test.each([0, -1, 1.5, 100_001, Number.NaN])('a limit of %d is refused', async (limit) => {
  await expect(create({ rateLimitPerMinute: limit })).rejects.toEqual(
    new OperatorError("A key's limit must be a whole number from 1 to 100000."),
  );
  expect(await listKeys(scratch.database, null)).toEqual([]);
});

test('the first run since a key was created is found, of its workspace only', async () => {
  const { database } = scratch;
  const other = (await createWorkspace(database, 'other', 'Other')).id;
  const { id } = await create({ name: 'new' });
  const addRun = (workspace: number, number: number, age: string) =>
    database.query(
      `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, first_arrival_at)
       SELECT $1, lpad($2::text, 32, '0')::uuid, 'completed', 1, 0, created_at + $3::interval
         FROM api_keys WHERE id = $4`,
      [workspace, number, age, id],
    );
  const arrival = () => findKeyArrival(database, workspaceId, id);
  await addRun(workspaceId, 1, '-1 us');
  await addRun(other, 2, '0');
  expect(await arrival()).toEqual({ name: 'new', lastUsedAt: null, run: null });
  await addRun(workspaceId, 3, '1 us');
  await addRun(workspaceId, 4, '0');
  await recordKeyUse(database, [id]);
  const run = { id: '4'.padStart(32, '0'), at: expect.any(Date) };
  expect(await arrival()).toEqual({ name: 'new', lastUsedAt: expect.any(Date), run });
  expect(await findKeyArrival(database, other, id)).toBeNull();
  expect(await findKeyArrival(database, workspaceId, id + 1)).toBeNull();
});
