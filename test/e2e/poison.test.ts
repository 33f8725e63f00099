/**
 * A request that PostgreSQL refuses although it passed every check of ours. A constraint on the live
 * table plays the fault of ours that nobody has found yet: the refusal is PostgreSQL's own.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { waitFor } from '../support/wait-for.ts';
import {
  type Gateway,
  openGateway,
  post,
  randomId,
  rawSpan,
  request,
  storedSpanIds,
  traceBody,
} from './gateway.ts';

/** Enough that both lanes are busy and the rest shares batches. */
const NEIGHBOURS = 24;
const SETTLES_WITHIN_MS = 30_000;
/** The run that PostgreSQL refuses. */
const POISON = 'bad'.padEnd(32, '0');

let gateway: Gateway;
beforeAll(async () => {
  gateway = await openGateway();
  await gateway.database.query(
    `ALTER TABLE hot_places ADD CONSTRAINT no_poison CHECK (run_id <> '${POISON}')`,
  );
});
afterAll(async () => {
  await gateway.close();
});

const send = (spans: readonly unknown[]) =>
  post(`${gateway.server.observeUrl}/v1/traces`, gateway.keys.agent, traceBody(spans));

async function metric(name: string): Promise<string[]> {
  const { text } = await request(gateway.server.metricsUrl);
  return text.split('\n').filter((line) => line.startsWith(name));
}

/** Sends while nothing can be stored, so that the requests meet in batches. */
async function sendTogether(bodies: readonly (readonly unknown[])[]) {
  const connection = await gateway.database.connect();
  try {
    await connection.query('BEGIN');
    await connection.query('LOCK TABLE hot_blocks IN EXCLUSIVE MODE');
    const answers = bodies.map(send);
    await waitFor(
      async () => {
        const { rows } = await gateway.database.query(
          'SELECT FROM pg_locks WHERE NOT granted AND relation IN (SELECT relid FROM pg_partition_tree($1))',
          ['hot_blocks'],
        );
        return rows.length > 0;
      },
      { withinMs: SETTLES_WITHIN_MS, what: 'a batch waits for the table' },
    );
    await connection.query('COMMIT');
    return await Promise.all(answers);
  } finally {
    connection.release();
  }
}

test('only the poisoned request is refused, whatever shares its batch', async () => {
  const poison = [rawSpan(), rawSpan({ traceId: POISON })];
  const neighbours = Array.from({ length: NEIGHBOURS }, () => [rawSpan()]);
  const middle = NEIGHBOURS / 2;
  const bodies = [...neighbours.slice(0, middle), poison, ...neighbours.slice(middle)];

  const answers = await sendTogether(bodies);

  const refused = answers.splice(middle, 1)[0];
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(refused?.status).toBe(400);
  expect(refused?.headers.get('retry-after')).toBeNull();
  expect(JSON.parse(refused?.text ?? '')).toEqual({
    code: 3,
    message: 'PostgreSQL rejected this data.',
  });
  const neighbourIds = neighbours.flat().map(({ spanId }) => spanId);
  const poisonIds = poison.map(({ spanId }) => spanId);
  expect(await storedSpanIds(gateway.database, [...neighbourIds, ...poisonIds])).toEqual(
    new Set(neighbourIds),
  );

  // A row without a body counts refusals, this one too, and is written some seconds later.
  const { rows } = await gateway.database.query(
    `SELECT workspace_id, signal, error_code, error, body_bytes, body FROM rejected_requests
      WHERE body IS NOT NULL`,
  );
  const body = Buffer.from(JSON.stringify(traceBody(poison)));
  expect(rows).toEqual([
    {
      workspace_id: 1,
      signal: 'traces',
      error_code: '23514',
      error: expect.stringMatching(
        /^new row for relation "hot_places_\w+" violates .+ "no_poison"$/,
      ),
      body_bytes: body.length,
      body,
    },
  ]);
  expect(await metric('sluice_store_unstorable_requests_total')).toEqual([
    'sluice_store_unstorable_requests_total{code="23514"} 1',
  ]);
});

test('of a large body the beginning is kept; none of it reaches the log', async () => {
  await gateway.database.query('TRUNCATE rejected_requests');
  const secret = `customer-${randomId(16)}`;
  const prompt = `${secret} ${'x'.repeat(600_000)}`;
  const span = rawSpan({
    traceId: POISON,
    attributes: [{ key: 'prompt', value: { stringValue: prompt } }],
  });

  const { status } = await send([span]);

  expect(status).toBe(400);
  const { rows } = await gateway.database.query(
    `SELECT body_bytes, octet_length(body) AS kept, body FROM rejected_requests
      WHERE body IS NOT NULL`,
  );
  const body = Buffer.from(JSON.stringify(traceBody([span])));
  expect(rows).toMatchObject([{ body_bytes: body.length, kept: 256 * 1024 }]);
  expect(body.subarray(0, 256 * 1024).equals((rows[0] as { body: Buffer }).body)).toBe(true);
  const log = gateway.server.stdout() + gateway.server.stderr();
  expect(log).toContain('23514');
  expect(log).not.toContain(secret);
});

describe('an exception that nobody expected', () => {
  // A column of another name plays the fault of ours: every statement that names it fails.
  beforeAll(async () => {
    await gateway.database.query('ALTER TABLE runs RENAME state TO state_of');
  });
  afterAll(async () => {
    await gateway.database.query('ALTER TABLE runs RENAME state_of TO state');
  });

  /** The line of the log with this id. */
  async function logged(id: string): Promise<Record<string, unknown>> {
    const line = await waitFor(
      () =>
        (gateway.server.stdout() + gateway.server.stderr())
          .split('\n')
          .find((one) => one.includes(id)),
      { withinMs: SETTLES_WITHIN_MS, what: `a line of the log with ${id}` },
    );
    return JSON.parse(line) as Record<string, unknown>;
  }

  test('of a read: 500 with an id, and the log has route, code and stack frames', async () => {
    const answer = await request(`${gateway.server.baseUrl}/platform/v1/runs/${randomId(16)}`, {
      headers: { authorization: `Bearer ${gateway.keys.workspace}` },
    });
    expect(answer.status).toBe(500);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.headers.get('retry-after')).toBeNull();
    const body = JSON.parse(answer.text);
    expect(body).toMatchObject({ type: '/docs/errors#internal_error', status: 500 });
    expect(await logged(body.id)).toMatchObject({
      method: 'GET',
      route: '/platform/v1/runs/{runId}',
      place: 'read',
      code: '42703',
      frames: expect.arrayContaining([expect.stringMatching(/:\d+:\d+\)?$/)]),
    });
  });

  test('of ingest: 503, so that exporters send it again', async () => {
    await gateway.database.query('ALTER TABLE api_keys RENAME kind TO kind_of');
    try {
      const key = `sluice_live_${'A'.repeat(43)}`;
      const answer = await post(
        `${gateway.server.observeUrl}/v1/traces`,
        key,
        traceBody([rawSpan()]),
      );
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
      const [, id = ''] = /the id ([0-9a-f]{16})/.exec(JSON.parse(answer.text).message) ?? [];
      expect(await logged(id)).toMatchObject({ route: '/v1/traces', place: 'ingest' });
    } finally {
      await gateway.database.query('ALTER TABLE api_keys RENAME kind_of TO kind');
    }
  });
});
