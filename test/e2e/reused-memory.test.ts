/**
 * Memory of bodies, whose parts are the stored lines, is reused from request to request. Requests of every
 * size from three workspaces at once, compressed or not, some broken off, left, sent twice or cut short,
 * while PostgreSQL ends transactions: every stored row has its own sender's bytes and no others, and each
 * acknowledged row is there once.
 */
import { request as openRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { seeded } from '../../bench/bodies.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { storedLogs, storedPoints, storedSpans, textAttribute } from '../support/stored-blocks.ts';
import { type Gateway, openGateway, otlpHeaders, rawSpan } from './gateway.ts';

const SENDERS = 6;
const REQUESTS = 180;
const BYTES_MIN = 500;
const BYTES_MAX = 3_000_000;
const RECORDS_MAX = 300;
/** Transactions that PostgreSQL ends. */
const ENDED_TRANSACTIONS = 5;

type Signal = 'traces' | 'logs' | 'metrics';
/** How a request ends that is not simply answered. */
type Fate = 'whole' | 'twice' | 'broken off' | 'left' | 'cut short';

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

interface Way {
  readonly isZipped: boolean;
  readonly bytesSent: number;
  /** does not wait for the answer */
  readonly leaves: boolean;
}

/** Resolves with the status of the answer; with null when the connection ended without one. */
function send(
  signal: Signal,
  key: string,
  body: Buffer,
  { isZipped, bytesSent, leaves }: Way,
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
    if (leaves) request.end(body, () => request.destroy());
    else if (bytesSent === body.length) request.end(body);
    else request.write(body.subarray(0, bytesSent), () => request.destroy());
  });
}

/** As `send`, again while the database cannot store it, as exporters do. */
async function untilDecided(
  signal: Signal,
  key: string,
  body: Buffer,
  way: Way,
): Promise<number | null> {
  let status = await send(signal, key, body, way);
  while (status === 503) status = await send(signal, key, body, way);
  return status;
}

/** Ends so many transactions of this database that store blocks, one after the other, until `isOver`. */
async function endTransactions(isOver: () => boolean): Promise<void> {
  for (let ended = 0; ended < ENDED_TRANSACTIONS && !isOver(); ) {
    const { rowCount } = await gateway.database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'COPY%' AND state <> 'idle'
          AND pid <> pg_backend_pid() LIMIT 1`,
    );
    ended += rowCount ?? 0;
  }
}

async function sendOne(tag: string, key: string, random: () => number): Promise<Sent> {
  const signal = (['traces', 'logs', 'metrics'] as const)[Math.floor(random() * 3)] ?? 'traces';
  const fate =
    (['whole', 'whole', 'whole', 'twice', 'broken off', 'left', 'cut short'] as const)[
      Math.floor(random() * 7)
    ] ?? 'whole';
  const bytes = Math.round(BYTES_MIN * (BYTES_MAX / BYTES_MIN) ** random());
  const records = Math.max(1, Math.min(RECORDS_MAX, Math.floor((random() * bytes) / 200)));
  const text = bodyOf(signal, tag, records, bytes);
  const json = Buffer.from(fate === 'cut short' ? text.slice(0, -2) : text);
  const isZipped = random() < 0.4;
  const body = isZipped ? gzipSync(json, { level: 1 }) : json;
  const bytesSent = fate === 'broken off' ? Math.floor(random() * body.length) : body.length;
  const way = { isZipped, bytesSent, leaves: fate === 'left' };
  const times = fate === 'twice' ? 2 : 1;
  const answers = await Promise.all(
    Array.from({ length: times }, () => untilDecided(signal, key, body, way)),
  );
  return { tag, signal, records, fate, status: answers[0] ?? null };
}

interface Named {
  readonly signal: Signal;
  readonly workspaceId: number;
  readonly name: string;
  readonly text: string;
}

/** Every stored record: its workspace, its name and its text. */
async function storedNames(): Promise<Named[]> {
  const { database } = gateway;
  const named = (
    signal: Signal,
    workspaceId: number,
    name: string | undefined,
    record: JsonObject,
  ): Named => ({
    signal,
    workspaceId,
    name: name ?? '',
    text: textAttribute(record, 't') ?? '',
  });
  return [
    ...(await storedSpans(database)).map(({ workspaceId, record }) =>
      named('traces', workspaceId, record.name, record),
    ),
    ...(await storedLogs(database)).map(({ workspaceId, record }) =>
      named('logs', workspaceId, record.severityText, record),
    ),
    ...(await storedPoints(database)).map(({ workspaceId, point }) =>
      named('metrics', workspaceId, textAttribute(point, 'n'), point),
    ),
  ];
}

/** The stored records of a request. */
interface Stored {
  readonly signal: Signal;
  readonly workspaceId: number;
  rows: number;
  readonly names: Set<string>;
  /** each text is the name again and again */
  isWhole: boolean;
}

async function storedByTag(): Promise<Map<string, Stored>> {
  const byTag = new Map<string, Stored>();
  for (const { signal, workspaceId, name, text } of await storedNames()) {
    const tag = name.split('.')[0] ?? '';
    const one = byTag.get(tag) ?? { signal, workspaceId, rows: 0, names: new Set(), isWhole: true };
    one.rows += 1;
    one.names.add(name);
    one.isWhole &&= text !== '' && text.replaceAll(`${name} `, '') === '';
    one.isWhole &&= one.signal === signal && one.workspaceId === workspaceId;
    byTag.set(tag, one);
  }
  return byTag;
}

test("every row has its sender's bytes", async () => {
  const senders = [...keys].flatMap(([id, key]) =>
    Array.from({ length: SENDERS / keys.size }, () => ({ id, key })),
  );
  let isOver = false;
  const ending = endTransactions(() => isOver);
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
  isOver = true;
  await ending;

  const stored = await storedByTag();
  const wrong = sent.filter(({ tag, signal, records, fate, status }) => {
    const one = stored.get(tag);
    stored.delete(tag);
    if (fate === 'cut short') return status !== 400 || one !== undefined;
    if (fate === 'broken off') return one !== undefined;
    if (fate === 'left' && one === undefined) return false;
    const isRight = one?.isWhole && one.rows === records && one.names.size === records;
    return (
      (status !== 200 && fate !== 'left') ||
      !isRight ||
      one.signal !== signal ||
      !tag.startsWith(`w${one.workspaceId}s`)
    );
  });
  expect(wrong).toEqual([]);
  expect([...stored.values()]).toEqual([]);
});
