/**
 * Memory of bodies and rows is reused from request to request. Requests of every size from three
 * workspaces at once, compressed or not, some broken off, sent twice or cut short: every stored row
 * has its own sender's bytes and no others, and each acknowledged row is there once.
 */
import { request as openRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { seeded } from '../../bench/bodies.ts';
import { type StoredPoint, storedPoints } from '../support/stored-blocks.ts';
import { type Gateway, openGateway, otlpHeaders, rawSpan } from './gateway.ts';

const SENDERS = 6;
const REQUESTS = 180;
const BYTES_MIN = 500;
const BYTES_MAX = 3_000_000;
const RECORDS_MAX = 300;

type Signal = 'traces' | 'logs' | 'metrics';
/** How a request ends that is not simply answered. */
type Fate = 'whole' | 'twice' | 'broken off' | 'cut short';

interface Sent {
  /** begins every name and text of its rows */
  readonly tag: string;
  readonly signal: Signal;
  readonly records: number;
  readonly fate: Fate;
  readonly status: number | null;
}

let gateway: Gateway;
/** by the workspace's number */
let keys: Map<number, string>;

beforeAll(async () => {
  gateway = await openGateway();
  const others = [await gateway.addWorkspace('second'), await gateway.addWorkspace('third')];
  keys = new Map(others.map(({ id, agent }) => [id, agent]));
});
afterAll(() => gateway.close());

const attribute = (text: string) => [{ key: 't', value: { stringValue: text } }];

/** An export whose rows each hold their name, `tag.number`, again and again. */
function bodyOf(signal: Signal, tag: string, records: number, bytes: number): string {
  const names = Array.from({ length: records }, (_, at) => `${tag}.${at}`);
  const textOf = (name: string): string => `${name} `.repeat(bytes / records / (name.length + 1));
  if (signal === 'traces') {
    const spans = names.map((name) => ({
      ...rawSpan({ name }),
      attributes: attribute(textOf(name)),
    }));
    return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  }
  if (signal === 'logs') {
    const logRecords = names.map((name) => ({
      timeUnixNano: '1763640000000000001',
      severityText: name,
      attributes: attribute(textOf(name)),
    }));
    return JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  }
  const dataPoints = names.map((name, at) => ({
    timeUnixNano: '1763640000000000001',
    asInt: String(at),
    attributes: [...attribute(textOf(name)), { key: 'n', value: { stringValue: name } }],
  }));
  const metrics = [{ name: 'm', gauge: { dataPoints } }];
  return JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
}

/** Resolves with the status of the answer; with null when the connection ended without one. */
function send(
  signal: Signal,
  key: string,
  body: Buffer,
  { isZipped, bytesSent }: { readonly isZipped: boolean; readonly bytesSent: number },
): Promise<number | null> {
  return new Promise((resolve) => {
    const request = openRequest(`${gateway.server.observeUrl}/v1/${signal}`, {
      method: 'POST',
      agent: false,
      headers: {
        ...otlpHeaders(key),
        'content-length': body.length,
        ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
      },
    });
    request.on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? null));
    });
    request.on('error', () => resolve(null));
    if (bytesSent === body.length) request.end(body);
    else request.write(body.subarray(0, bytesSent), () => request.destroy());
  });
}

async function sendOne(tag: string, key: string, random: () => number): Promise<Sent> {
  const signal = (['traces', 'logs', 'metrics'] as const)[Math.floor(random() * 3)] ?? 'traces';
  const fate =
    (['whole', 'whole', 'whole', 'twice', 'broken off', 'cut short'] as const)[
      Math.floor(random() * 6)
    ] ?? 'whole';
  const bytes = Math.round(BYTES_MIN * (BYTES_MAX / BYTES_MIN) ** random());
  const records = Math.max(1, Math.min(RECORDS_MAX, Math.floor((random() * bytes) / 200)));
  const text = bodyOf(signal, tag, records, bytes);
  const json = Buffer.from(fate === 'cut short' ? text.slice(0, -2) : text);
  const isZipped = random() < 0.4;
  const body = isZipped ? gzipSync(json, { level: 1 }) : json;
  const bytesSent = fate === 'broken off' ? Math.floor(random() * body.length) : body.length;
  const times = fate === 'twice' ? 2 : 1;
  const answers = await Promise.all(
    Array.from({ length: times }, () => send(signal, key, body, { isZipped, bytesSent })),
  );
  return { tag, signal, records, fate, status: answers[0] ?? null };
}

/** Every stored row: its workspace, its name, and whether its text is its name again and again. */
const ROWS = `
  WITH rows AS (
    SELECT 'traces' AS signal, workspace_id, name, attributes->>'t' AS text FROM spans
    UNION ALL
    SELECT 'logs', workspace_id, severity_text, attributes->>'t' FROM log_records
    UNION ALL
    SELECT 'metrics', * FROM unnest($1::int[], $2::text[], $3::text[])
  )
  SELECT signal, workspace_id AS "workspaceId", split_part(name, '.', 1) AS tag,
         count(*)::int AS rows, count(DISTINCT name)::int AS names,
         bool_and(replace(text, name || ' ', '') = '' AND text <> '') AS "isWhole"
  FROM rows GROUP BY 1, 2, 3`;

interface Stored {
  readonly signal: Signal;
  readonly workspaceId: number;
  readonly tag: string;
  readonly rows: number;
  readonly names: number;
  readonly isWhole: boolean;
}

test('every row has the bytes of its own sender', async () => {
  const senders = [...keys].flatMap(([id, key]) =>
    Array.from({ length: SENDERS / keys.size }, () => ({ id, key })),
  );
  const sent = await Promise.all(
    senders.map(async ({ id, key }, sender) => {
      const random = seeded(sender + 1);
      const own: Sent[] = [];
      for (let at = 0; at < REQUESTS / SENDERS; at += 1) {
        own.push(await sendOne(`w${id}s${sender}r${at}`, key, random));
      }
      return own;
    }),
  ).then((all) => all.flat());

  const points = await storedPoints(gateway.database);
  const attribute = ({ point }: StoredPoint, name: string): string => {
    const attributes = point.attributes as { key: string; value: { stringValue: string } }[];
    return attributes.find(({ key }) => key === name)?.value.stringValue ?? '';
  };
  const { rows } = await gateway.database.query<Stored>(ROWS, [
    points.map(({ workspaceId }) => workspaceId),
    points.map((point) => attribute(point, 'n')),
    points.map((point) => attribute(point, 't')),
  ]);
  const stored = new Map(rows.map((one) => [one.tag, one]));
  const wrong = sent.filter(({ tag, signal, records, fate, status }) => {
    const one = stored.get(tag);
    stored.delete(tag);
    if (fate === 'cut short') return status !== 400 || one !== undefined;
    if (fate === 'broken off') return one !== undefined;
    const isRight = one?.isWhole && one.rows === records && one.names === records;
    return (
      status !== 200 || !isRight || one.signal !== signal || !tag.startsWith(`w${one.workspaceId}s`)
    );
  });
  expect(wrong).toEqual([]);
  expect([...stored.values()]).toEqual([]);
});
