/**
 * Requests to an ordinary service, without an agent: what its HTTP server, its database client and its HTTP
 * client export, with the attributes of OpenTelemetry's stable conventions.
 */
import { hex } from '../bodies.ts';
import { between, pick, type Random } from './conversation.ts';
import { clockFrom, type Draft, type Span, startOf, toSpan } from './spans.ts';

const TABLES = ['customers', 'orders', 'order_items', 'parcels', 'invoices', 'payments'];
const PEERS = ['payments.internal', 'stock.internal', 'mail.internal'];
const AGENTS = [
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
  'okhttp/4.12.0',
  'python-requests/2.32.5',
];

function serverDraft(random: Random): Draft {
  const route = `/api/${pick(random, TABLES)}/{id}`;
  const method = pick(random, ['GET', 'GET', 'GET', 'POST', 'PATCH']);
  return {
    name: `${method} ${route}`,
    kind: 'server',
    attributes: {
      'http.request.method': method,
      'url.scheme': 'https',
      'url.path': route.replace('{id}', String(between(random, 1000, 9_999_999))),
      'http.route': route,
      'http.response.status_code': pick(random, [200, 200, 200, 200, 201, 404]),
      'server.address': 'shop.example.com',
      'server.port': 443,
      'client.address': `10.12.${between(random, 0, 255)}.${between(random, 1, 254)}`,
      'user_agent.original': pick(random, AGENTS),
      'network.protocol.version': '1.1',
    },
  };
}

function databaseDraft(random: Random): Draft {
  const table = pick(random, TABLES);
  const operation = pick(random, ['SELECT', 'SELECT', 'SELECT', 'UPDATE']);
  const statement =
    operation === 'SELECT'
      ? `SELECT id, customer_id, status, total, created_at FROM ${table} WHERE id = $1`
      : `UPDATE ${table} SET status = $2, changed_at = now() WHERE id = $1`;
  return {
    name: `${operation} ${table}`,
    kind: 'client',
    attributes: {
      'db.system.name': 'postgresql',
      'db.namespace': 'shop|public',
      'db.collection.name': table,
      'db.operation.name': operation,
      'db.query.text': statement,
      'server.address': 'db-1.internal',
      'server.port': 5432,
      'network.peer.address': '10.12.0.5',
      'network.peer.port': 5432,
    },
  };
}

function clientDraft(random: Random): Draft {
  const [peer, method] = [pick(random, PEERS), pick(random, ['GET', 'POST'])];
  return {
    name: method,
    kind: 'client',
    attributes: {
      'http.request.method': method,
      'url.full': `https://${peer}/v2/${pick(random, TABLES)}/${between(random, 1000, 9_999_999)}`,
      'http.response.status_code': 200,
      'server.address': peer,
      'server.port': 443,
      'network.peer.address': `10.12.1.${between(random, 1, 254)}`,
      'network.peer.port': 443,
      'network.protocol.version': '1.1',
    },
  };
}

const CALLS = [databaseDraft, databaseDraft, clientDraft, databaseDraft];
export const SPANS_PER_REQUEST = CALLS.length + 1;

export function serviceSpans(random: Random, request: number): Span[] {
  const traceId = hex(random, 32);
  const rootId = hex(random, 16);
  const start = startOf(random, request);
  const next = clockFrom(random, start);
  const calls = CALLS.map((draft) =>
    toSpan(random, draft(random), { traceId, parentSpanId: rootId }, next(1, 30)),
  );
  const { end } = next(0, 2);
  const ids = { traceId, parentSpanId: null };
  return [...calls, toSpan(random, serverDraft(random), ids, { start, end }, rootId)];
}
