/**
 * A running server with a database of its own, for one test file: addresses, keys, a connection to
 * look at what was stored, and the few requests every file makes.
 *
 * Requests go over real sockets; nothing here reaches into the server's process.
 */
import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inject } from 'vitest';

import { createDatabase, type Database } from '../../src/db/database.ts';
import { createKey } from '../../src/db/people/keys.ts';
import { createWorkspace, findWorkspace } from '../../src/db/people/workspaces.ts';
import { type KeyKind, RATE_LIMIT_DEFAULT } from '../../src/model/people.ts';
import { createTestDatabase } from '../support/database.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { spansWithIds } from '../support/stored-blocks.ts';

const CONNECTIONS = 2;

export interface Keys {
  readonly agent: string;
  readonly workspace: string;
}

export interface Gateway {
  readonly server: TestServer;
  readonly database: Database;
  readonly databaseUrl: string;
  /** of the first workspace, as the server printed them */
  readonly keys: Keys;
  /** of the first workspace, as the server printed it */
  readonly owner: { readonly email: string; readonly password: string };
  /** Makes a workspace with a key of each kind. */
  readonly addWorkspace: (slug: string) => Promise<Keys & { readonly id: number }>;
  readonly addKey: (kind: KeyKind, rateLimitPerMinute: number) => Promise<string>;
  readonly close: () => Promise<void>;
}

/** A pool of connections for looking; losing an idle one is what some tests are about. */
export function openEyes(url: string): Database {
  return createDatabase(url, CONNECTIONS, { connectionLost: () => {} });
}

/** Makes a key of a workspace. */
export async function addKey(
  database: Database,
  workspaceId: number,
  kind: KeyKind,
  rateLimitPerMinute = RATE_LIMIT_DEFAULT,
): Promise<string> {
  const name = `e2e ${kind}`;
  const settings = { workspaceId, kind, name, rateLimitPerMinute, brand: 'sluice' };
  return (await createKey(database, settings)).key;
}

/** Makes a workspace with a key of each kind. */
export async function addWorkspace(
  database: Database,
  slug: string,
): Promise<Keys & { readonly id: number }> {
  const { id } = await createWorkspace(database, slug, slug);
  const agent = await addKey(database, id, 'agent');
  return { id, agent, workspace: await addKey(database, id, 'workspace') };
}

/** Starts a server over a new database. */
export async function openGateway(settings: Record<string, string> = {}): Promise<Gateway> {
  const home = await createTestDatabase({ template: inject('migratedTemplate') });
  const server = await startServer({ DATABASE_URL: home.url, ...settings });
  const database = openEyes(home.url);
  if (server.firstKeys === null) throw new Error('a new database, and no keys were printed');
  return {
    server,
    database,
    databaseUrl: home.url,
    keys: server.firstKeys,
    owner: server.firstKeys.owner,
    addWorkspace: (slug) => addWorkspace(database, slug),
    addKey: async (kind, rateLimitPerMinute) => {
      const { id } = await findWorkspace(database, 'default');
      return await addKey(database, id, kind, rateLimitPerMinute);
    },
    close: async () => {
      try {
        await server.stop();
      } finally {
        await database.end();
        await home.drop();
      }
    },
  };
}

/** Headers of an authorised OTLP/HTTP JSON request. */
export function otlpHeaders(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Sends a request and reads the answer.
 *
 * `fetch` reuses connections. The server closes an idle one after 10 s, and `fetch` sees that only in
 * a turn of the event loop: a test that computed for longer would send on a closed connection.
 */
export async function request(url: string, init: RequestInit = {}): Promise<Answer> {
  await nextTurn();
  await nextTurn();
  const response = await fetch(url, { redirect: 'error', ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Posts an OTLP body. */
export function post(url: string, key: string, body: unknown): Promise<Answer> {
  return request(url, {
    method: 'POST',
    headers: otlpHeaders(key),
    body: JSON.stringify(body),
  });
}

/** Reads JSON with a key; anything but 200 fails the test. */
export async function read<Body>(url: string, key: string): Promise<Body> {
  const answer = await request(url, { headers: { authorization: `Bearer ${key}` } });
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${answer.text}`);
  return JSON.parse(answer.text) as Body;
}

/** A random id of `bytes` bytes in hexadecimal digits. */
export function randomId(bytes: 8 | 16): string {
  return randomBytes(bytes).toString('hex');
}

export interface RawSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly [member: string]: unknown;
}

/** A span as OTLP/JSON writes it: by default a root of a new trace. */
export function rawSpan(members: Record<string, unknown> = {}): RawSpan {
  return {
    traceId: randomId(16),
    spanId: randomId(8),
    name: 'invoke_agent e2e',
    kind: 1,
    startTimeUnixNano: '1763640000000000001',
    endTimeUnixNano: '1763640001000000002',
    ...members,
  };
}

/** Spans in an export request of one resource and one scope. */
export function traceBody(spans: readonly unknown[]): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'e2e' } }] },
        scopeSpans: [{ scope: { name: 'e2e', version: '1' }, spans }],
      },
    ],
  };
}

/** Which of these spans are stored. */
export async function storedSpanIds(
  database: Database,
  spanIds: readonly string[],
): Promise<Set<string>> {
  const spans = await spansWithIds(database, spanIds);
  return new Set(spans.map(({ record }) => String(record.spanId)));
}
