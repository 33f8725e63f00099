/**
 * A request that is sent again is answered as before and stored once: by the same process or by
 * another one on the same database, one after the other or at the same time, compressed or not.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Signal } from '../../src/model/telemetry.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { storedLogs, storedPoints, storedSpans } from '../support/stored-blocks.ts';
import {
  type Answer,
  type Gateway,
  openGateway,
  otlpHeaders,
  rawSpan,
  request,
  traceBody,
} from './gateway.ts';

let gateway: Gateway;
let other: TestServer;
let without: TestServer;

beforeAll(async () => {
  gateway = await openGateway();
  other = await startServer({ DATABASE_URL: gateway.databaseUrl });
  without = await startServer({
    DATABASE_URL: gateway.databaseUrl,
    INGEST_DEDUPLICATE: 'off',
  });
});
afterAll(async () => {
  await Promise.all([other.stop(), without.stop()]);
  await gateway.close();
});

interface Sent {
  readonly server?: TestServer;
  readonly gzip?: boolean;
  /** of `Sluice-Deduplicate` */
  readonly deduplicate?: string;
}

function send(
  signal: Signal,
  body: unknown,
  { server, gzip, deduplicate }: Sent = {},
): Promise<Answer> {
  const text = JSON.stringify(body);
  const encoding = gzip === true ? { 'content-encoding': 'gzip' } : {};
  const mode = deduplicate === undefined ? {} : { 'sluice-deduplicate': deduplicate };
  return request(`${(server ?? gateway.server).observeUrl}/v1/${signal}`, {
    method: 'POST',
    headers: { ...otlpHeaders(gateway.keys.agent), ...encoding, ...mode },
    body: gzip === true ? gzipSync(text) : text,
  });
}

const resource = (name: string) => ({
  attributes: [{ key: 'service.name', value: { stringValue: name } }],
});

const STORED = { traces: storedSpans, logs: storedLogs, metrics: storedPoints };

/** A body of each signal whose service has this name. */
const SIGNALS: Readonly<Record<Signal, { readonly body: (name: string) => unknown }>> = {
  traces: {
    body: (name) => ({
      resourceSpans: [{ resource: resource(name), scopeSpans: [{ spans: [rawSpan()] }] }],
    }),
  },
  logs: {
    body: (name) => ({
      resourceLogs: [
        {
          resource: resource(name),
          scopeLogs: [{ logRecords: [{ timeUnixNano: '5', body: { stringValue: 'x' } }] }],
        },
      ],
    }),
  },
  metrics: {
    body: (name) => ({
      resourceMetrics: [
        {
          resource: resource(name),
          scopeMetrics: [
            {
              metrics: [{ name: 'm', gauge: { dataPoints: [{ timeUnixNano: '5', asInt: '1' }] } }],
            },
          ],
        },
      ],
    }),
  },
};

async function countOf(signal: Signal, name: string): Promise<number> {
  const records = await STORED[signal](gateway.database);
  return records.filter(({ service }) => service === name).length;
}

describe.each(['traces', 'logs', 'metrics'] as const)('%s', (signal) => {
  test('by the same process, and compressed', async () => {
    const body = SIGNALS[signal].body(`${signal} same`);
    expect(await send(signal, body)).toMatchObject({ status: 200, text: '{}' });
    expect(await send(signal, body)).toMatchObject({ status: 200, text: '{}' });
    expect(await send(signal, body, { gzip: true })).toMatchObject({ status: 200, text: '{}' });
    expect(await countOf(signal, `${signal} same`)).toBe(1);
  });

  test('by another process', async () => {
    const body = SIGNALS[signal].body(`${signal} other`);
    expect(await send(signal, body, { gzip: true })).toMatchObject({ status: 200, text: '{}' });
    expect(await send(signal, body, { server: other })).toMatchObject({ status: 200, text: '{}' });
    expect(await countOf(signal, `${signal} other`)).toBe(1);
  });

  test('to both at the same time', async () => {
    const body = SIGNALS[signal].body(`${signal} together`);
    const servers = [gateway.server, other, gateway.server, other];
    const answers = await Promise.all(servers.map((server) => send(signal, body, { server })));
    expect(answers.map(({ status, text }) => [status, text])).toEqual(
      servers.map(() => [200, '{}']),
    );
    expect(await countOf(signal, `${signal} together`)).toBe(1);
  });

  test('INGEST_DEDUPLICATE=off stores it again', async () => {
    const body = SIGNALS[signal].body(`${signal} off`);
    await send(signal, body, { server: without });
    await send(signal, body, { server: without });
    expect(await countOf(signal, `${signal} off`)).toBe(2);
  });

  test('Sluice-Deduplicate: off stores that request again, and leaves no receipt', async () => {
    const body = SIGNALS[signal].body(`${signal} header`);
    for (const deduplicate of ['off', 'Off', 'on', 'on', 'off']) {
      expect(await send(signal, body, { deduplicate })).toMatchObject({ status: 200, text: '{}' });
    }
    expect(await countOf(signal, `${signal} header`)).toBe(4);
  });
});

test('another value of Sluice-Deduplicate is refused, and nothing is stored', async () => {
  const body = SIGNALS.traces.body('bad header');
  const answer = await send('traces', body, { deduplicate: 'no' });
  expect(answer.status).toBe(400);
  expect(JSON.parse(answer.text)).toEqual({
    code: 3,
    message: 'Sluice-Deduplicate must be on or off.',
  });
  expect(await countOf('traces', 'bad header')).toBe(0);
});

test('a partial success is answered by the same counts and reasons', async () => {
  const body = traceBody([rawSpan(), rawSpan({ kind: 'x' })]);
  const first = await send('traces', body);
  expect(JSON.parse(first.text)).toMatchObject({ partialSuccess: { rejectedSpans: '1' } });
  expect(await send('traces', body, { server: other })).toMatchObject({
    status: 200,
    text: first.text,
  });
});

test('a resend is counted, as a request and as a resend', async () => {
  const metric = async (name: string): Promise<number> => {
    const { text } = await request(other.metricsUrl);
    return Number(new RegExp(`^${name}\\S* (\\d+)`, 'm').exec(text)?.[1] ?? 0);
  };
  const body = traceBody([rawSpan()]);
  await send('traces', body, { server: other });
  const [requests, resends] = [
    await metric('sluice_ingest_requests_total{signal="traces",status="200"'),
    await metric('sluice_ingest_resends_total'),
  ];
  await send('traces', body, { server: other });
  expect(await metric('sluice_ingest_requests_total{signal="traces",status="200"')).toBe(
    requests + 1,
  );
  expect(await metric('sluice_ingest_resends_total')).toBe(resends + 1);
});
