/**
 * The primary is killed and its standby promoted, while telemetry arrives: a server that knows both
 * hosts finds the new primary by itself, and nothing that it acknowledged is lost.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { type Cluster, openCluster } from '../chaos/cluster.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { post, rawSpan, request, traceBody } from './gateway.ts';

const SENDERS = 4;
const HAPPENS_WITHIN_MS = 120_000;

let cluster: Cluster;
let server: TestServer;
beforeAll(async () => {
  cluster = await openCluster();
  const [one = 0, two = 0] = cluster.ports;
  const both = cluster.url(one).replace(`:${one}/`, `:${one},127.0.0.1:${two}/`);
  server = await startServer({ DATABASE_URL: `${both}?target_session_attrs=read-write` });
});
afterAll(async () => {
  await server?.stop();
  await cluster?.close();
});

const acknowledged: string[] = [];
const statuses = new Set<number>();

async function send(): Promise<number> {
  const span = rawSpan();
  const key = server.firstKeys?.agent ?? '';
  const { status } = await post(`${server.observeUrl}/v1/traces`, key, traceBody([span]));
  statuses.add(status);
  if (status === 200) acknowledged.push(span.spanId);
  return status;
}

const isReady = async (): Promise<boolean> =>
  (await request(`${server.baseUrl}/ready`)).status === 200;

test('after a promotion ingest continues, without a row lost and without a resource missing', async () => {
  let isSending = true;
  const sending = Array.from({ length: SENDERS }, async () => {
    while (isSending) await send();
  });
  await waitFor(() => acknowledged.length > 50, {
    withinMs: HAPPENS_WITHIN_MS,
    what: 'telemetry arrives',
  });
  const unready = waitFor(async () => !(await isReady()), {
    withinMs: HAPPENS_WITHIN_MS,
    what: '/ready says 503',
  });
  await cluster.promote(() => {});
  await unready;
  const before = acknowledged.length;
  await waitFor(isReady, { withinMs: HAPPENS_WITHIN_MS, what: '/ready says 200' });
  await waitFor(() => acknowledged.length > before + 50, {
    withinMs: HAPPENS_WITHIN_MS,
    what: 'telemetry arrives at the new primary',
  });
  isSending = false;
  await Promise.all(sending);

  expect([...statuses].sort()).toEqual([200, 503]);
  const [stored] = await cluster.ask(
    `SELECT count(DISTINCT span_id)::int AS spans,
            count(*) FILTER (WHERE r.id IS NULL)::int AS without_resource
       FROM spans s LEFT JOIN resources r ON r.workspace_id = s.workspace_id AND r.id = s.resource_id
      WHERE encode(span_id, 'hex') = ANY ($1)`,
    [acknowledged],
  );
  expect(stored).toEqual({ spans: acknowledged.length, without_resource: 0 });
});
