/** What is kept of requests that PostgreSQL refused. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  KEPT_REQUESTS_MAX,
  keepRejectedRequest,
} from '../../../src/db/telemetry/refused-requests.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';

let store: MigratedDatabase;
beforeAll(async () => {
  store = await openMigratedDatabase();
});
afterAll(async () => {
  await store.close();
});

const refusal = Object.assign(new Error('invalid\0value'), { code: '22P02' });

test('the request is kept with what PostgreSQL said, byte for byte', async () => {
  const body = Buffer.from([0, 255, 1, 2]);
  await keepRejectedRequest(store.database, {
    workspaceId: 7,
    signal: 'traces',
    body,
    bodyBytes: 4711,
    error: refusal,
  });
  const rows = await store.rows(
    'SELECT signal, error_code, error, body_bytes, body FROM rejected_requests',
  );
  expect(rows).toEqual([
    { signal: 'traces', error_code: '22P02', error: 'invalid\ufffdvalue', body_bytes: 4711, body },
  ]);
});

test('past the limit the oldest of the workspace go, and of no other', async () => {
  for (let index = 0; index < KEPT_REQUESTS_MAX + 5; index += 1) {
    await keepRejectedRequest(store.database, {
      workspaceId: 8,
      signal: 'logs',
      body: Buffer.from(String(index)),
      bodyBytes: index,
      error: refusal,
    });
  }
  const rows = await store.rows(
    'SELECT workspace_id, count(*)::int, min(body_bytes) FROM rejected_requests GROUP BY 1 ORDER BY 1',
  );
  expect(rows).toEqual([
    { workspace_id: 7, count: 1, min: 4711 },
    { workspace_id: 8, count: KEPT_REQUESTS_MAX, min: 5 },
  ]);
});
