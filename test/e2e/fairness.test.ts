/**
 * Workspaces and kinds of work beside each other on a real server: no amount of requests from one
 * keeps the others from being answered.
 */
import { gzipSync } from 'node:zlib';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RUNS_MAX } from '../../src/db/telemetry/run-delta.ts';
import { READ_TURNS } from '../../src/main/connection-shares.ts';
import { hex16 } from '../support/rows.ts';
import { head, openSocket, type RawSocket, statuses } from '../support/sockets.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  type Gateway,
  type Keys,
  openGateway,
  otlpHeaders,
  post,
  rawSpan,
  request,
  traceBody,
} from './gateway.ts';

const MIB = 1024 * 1024;
const WITHIN_MS = 20_000;
const READS = 16;
const { workspaceMax } = READ_TURNS;

let gateway: Gateway;
let other: Keys;

beforeAll(async () => {
  gateway = await openGateway({
    MAX_BODY_BYTES: String(2 * MIB),
    MAX_DECODED_BODY_BYTES: String(6 * MIB),
    MAX_INFLIGHT_BYTES: String(9 * MIB),
  });
  other = await gateway.addWorkspace('other');
});
afterAll(() => gateway.close());

const send = (key: string): ReturnType<typeof post> =>
  post(`${gateway.server.observeUrl}/v1/traces`, key, traceBody([rawSpan()]));

test('a small request of a great many runs is refused as a whole', async () => {
  const spans = Array.from({ length: RUNS_MAX + 1 }, (_, at) => ({
    ...rawSpan(),
    traceId: hex16(at + 1),
  }));
  const body = gzipSync(JSON.stringify(traceBody(spans)));
  const answer = await request(`${gateway.server.observeUrl}/v1/traces`, {
    method: 'POST',
    headers: { ...otlpHeaders(gateway.keys.agent), 'content-encoding': 'gzip' },
    body,
  });
  expect(answer.status).toBe(413);
  expect(JSON.parse(answer.text)).toEqual({
    code: 3,
    message: `The body holds more than ${RUNS_MAX} traces or prompts; send smaller batches.`,
  });
  const { rows } = await gateway.database.query('SELECT count(*)::int AS n FROM runs');
  expect(rows).toEqual([{ n: 0 }]);
});

test('bodies that a workspace has announced leave room for others, and one more is refused unread', async () => {
  const port = Number(new URL(gateway.server.observeUrl).port);
  const sockets: RawSocket[] = [];
  const announce = async (): Promise<RawSocket> => {
    const socket = await openSocket(port);
    sockets.push(socket);
    const authorization = `Authorization: Bearer ${gateway.keys.agent}`;
    const type = 'Content-Type: application/json';
    await socket.send(head('POST', '/v1/traces', authorization, type, `Content-Length: ${MIB}`));
    return socket;
  };
  try {
    for (let count = 0; count < 12; count += 1) await announce();
    // None of them has sent any of its body, and those that are refused have their answer.
    await waitFor(() => sockets.filter((one) => one.received() !== '').length === 4, {
      withinMs: WITHIN_MS,
      what: 'the refusals of what does not fit into the share',
    });
    const refused = sockets.filter((one) => one.received() !== '');
    for (const socket of refused) {
      expect(statuses(socket.received())).toEqual([503]);
      expect(socket.received().toLowerCase()).toContain('retry-after: 1\r\n');
    }
    expect((await send(other.agent)).status).toBe(200);
    // A client that writes all of its body before it reads keeps its connection.
    const [patient] = refused;
    await patient?.send('x'.repeat(MIB));
    await patient?.send(head('GET', '/health'));
    await patient?.until('healthy');
  } finally {
    for (const socket of sockets) socket.abort();
  }
});

test('reads that wait for a lock do not keep other work from the database', async () => {
  const { server, keys, databaseUrl } = gateway;
  const holder = new pg.Client({ connectionString: databaseUrl });
  await holder.connect();
  try {
    await holder.query('BEGIN; LOCK TABLE findings');
    const read = () =>
      request(`${server.baseUrl}/platform/v1/risk-findings`, {
        headers: { authorization: `Bearer ${keys.workspace}` },
      });
    const reads = Array.from({ length: READS }, read);
    // As many as a workspace has connections wait for the table, the others for a connection, and
    // not for long.
    const answered = Promise.all(reads).then((answers) => answers.map(({ status }) => status));
    const refused = await Promise.any(
      reads.map(async (one) => {
        const answer = await one;
        if (answer.status === 503) return answer;
        throw new Error(`answered ${answer.status}`);
      }),
    );
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(JSON.parse(refused.text)).toMatchObject({ type: '/docs/errors#overloaded' });
    // A key that was never seen is looked up, rows are stored, probes answer.
    const fresh = await gateway.addWorkspace('fresh');
    for (const key of [keys.agent, other.agent, fresh.agent]) {
      expect((await send(key)).status).toBe(200);
    }
    expect((await request(`${server.baseUrl}/health`)).status).toBe(200);
    const ready = JSON.parse((await request(`${server.baseUrl}/ready`)).text) as { probes: object };
    expect(ready.probes).toMatchObject({ db: 'ok', migrations: 'ok' });
    await holder.query('COMMIT');
    const ends = await answered;
    expect(ends.filter((status) => status === 200)).toHaveLength(workspaceMax);
    expect(ends.filter((status) => status === 503)).toHaveLength(READS - workspaceMax);
    expect((await read()).status).toBe(200);
  } finally {
    await holder.end();
  }
});
