/**
 * The telemetry tables through a real PostgreSQL: every field of every kind of row comes back
 * exactly as it was sent.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { TELEMETRY_TABLES } from '../../../src/db/telemetry/copy-statement.ts';
import { storeBatch } from '../../../src/db/telemetry/copy-transaction.ts';
import { ensureDay } from '../../../src/db/telemetry/partitions.ts';
import { KnownContents } from '../../../src/db/telemetry/shared-contents.ts';
import { TABLE_COLUMNS } from '../../../src/model/columns.ts';
import type { DecodedRequest } from '../../../src/model/telemetry.ts';
import { encodeRequest } from '../../support/decoding.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/migrated-database.ts';
import {
  decodedRequest,
  hex8,
  hex16,
  logRow,
  NOON_MS,
  RESOURCE_ID,
  spanRow,
  TRACE_ID,
} from '../../support/rows.ts';

const WORKSPACE = 1;

let scratch: MigratedDatabase;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await ensureDay(scratch.database, NOON_MS);
});
afterAll(() => scratch.close());

async function store(fields: Partial<DecodedRequest>): Promise<void> {
  const connection = await scratch.database.connect();
  try {
    const request = encodeRequest(decodedRequest(fields), WORKSPACE, NOON_MS);
    await storeBatch(connection, [request], new KnownContents());
  } finally {
    connection.release();
  }
}

test.each(TELEMETRY_TABLES)(
  'the columns of %s are those of PostgreSQL, with their types',
  async (table) => {
    const rows = await scratch.rows(
      `SELECT column_name, data_type FROM information_schema.columns
      WHERE table_schema = current_schema AND table_name = $1`,
      [table],
    );
    const stored = rows.map(({ column_name, data_type }) => [column_name, data_type]);
    const listed = Object.entries(TABLE_COLUMNS[table]).map(([name, [type]]) => [name, type]);
    // PostgreSQL fills it: no COPY names it.
    const filled = ['arrived_at', 'timestamp with time zone'];
    expect([...listed, filled].toSorted()).toEqual(stored.toSorted());
  },
);

test('a row has as many fields as its COPY has columns', () => {
  const request = decodedRequest({ spans: [spanRow()], logs: [logRow()] });
  const { chunks } = encodeRequest(request, WORKSPACE, NOON_MS);
  const counts = TELEMETRY_TABLES.map((table) => chunks.get(table)?.readInt16BE(0));
  expect(counts).toEqual(TELEMETRY_TABLES.map((table) => Object.keys(TABLE_COLUMNS[table]).length));
});

test('spans come back exactly as sent', async () => {
  const full = spanRow({
    traceId: hex16(2 ** 40),
    spanId: 'ffeeddccbbaa9988',
    parentSpanId: '8899aabbccddeeff',
    traceState: 'a=b,c=d',
    flags: 4_294_967_295,
    name: 'chat "gpt" \u{1F600}\n',
    kind: 5,
    startUnixNano: '9223372036854775807',
    endUnixNano: '0',
    statusCode: 2,
    statusMessage: 'it broke',
    attributes: '{"b": 1,  "a": "\\u00e9é"}',
    events: '[{"name":"e"}]',
    links: '[{"traceId":"00"}]',
    droppedAttributes: 1,
    droppedEvents: 2,
    droppedLinks: 4_294_967_295,
  });
  await store({ spans: [full, spanRow({ name: '' })] });
  const rows = await scratch.rows(
    `SELECT *, attributes::text, events::text, links::text, arrived_on::text
       FROM spans ORDER BY name DESC`,
  );
  const where = {
    workspace_id: WORKSPACE,
    arrived_on: '2026-11-20',
    arrived_at: expect.any(Date),
    resource_id: RESOURCE_ID,
  };
  expect(rows).toEqual([
    {
      ...where,
      trace_id: hex16(2 ** 40),
      run_id: null,
      span_id: Buffer.from('ffeeddccbbaa9988', 'hex'),
      parent_span_id: Buffer.from('8899aabbccddeeff', 'hex'),
      trace_state: 'a=b,c=d',
      flags: '4294967295',
      name: 'chat "gpt" \u{1F600}\n',
      kind: 5,
      start_unix_nano: '9223372036854775807',
      end_unix_nano: '0',
      status_code: 2,
      status_message: 'it broke',
      attributes: '{"b": 1,  "a": "\\u00e9é"}',
      events: '[{"name":"e"}]',
      links: '[{"traceId":"00"}]',
      dropped_attributes: '1',
      dropped_events: '2',
      dropped_links: '4294967295',
    },
    {
      ...where,
      trace_id: TRACE_ID,
      run_id: null,
      span_id: Buffer.from(hex8(1), 'hex'),
      parent_span_id: null,
      trace_state: null,
      flags: null,
      name: '',
      kind: 1,
      start_unix_nano: '1763640000000000001',
      end_unix_nano: '1763640001000000002',
      status_code: 0,
      status_message: null,
      attributes: '{}',
      events: null,
      links: null,
      dropped_attributes: null,
      dropped_events: null,
      dropped_links: null,
    },
  ]);
});

test('log records come back exactly as sent', async () => {
  const full = logRow({
    traceId: TRACE_ID,
    spanId: hex8(9),
    severityNumber: 24,
    severityText: 'FATAL4',
    eventName: 'gen_ai.choice',
    body: '{"a":[1,null]}',
    attributes: '{"k":"v"}',
    flags: 1,
    droppedAttributes: 3,
  });
  const bare = logRow({ timeUnixNano: '0', severityNumber: 0, severityText: '', body: null });
  await store({ logs: [full, bare] });
  const rows = await scratch.rows(
    `SELECT *, attributes::text, body::text, arrived_on::text
       FROM log_records ORDER BY severity_number DESC`,
  );
  const where = {
    workspace_id: WORKSPACE,
    arrived_on: '2026-11-20',
    arrived_at: expect.any(Date),
    resource_id: RESOURCE_ID,
  };
  expect(rows).toEqual([
    {
      ...where,
      time_unix_nano: '1763640000000000003',
      observed_unix_nano: '1763640000000000004',
      trace_id: TRACE_ID,
      run_id: null,
      span_id: Buffer.from(hex8(9), 'hex'),
      severity_number: 24,
      severity_text: 'FATAL4',
      event_name: 'gen_ai.choice',
      body: '{"a":[1,null]}',
      attributes: '{"k":"v"}',
      flags: '1',
      dropped_attributes: '3',
    },
    {
      ...where,
      time_unix_nano: '0',
      observed_unix_nano: '1763640000000000004',
      trace_id: null,
      run_id: null,
      span_id: null,
      severity_number: 0,
      severity_text: null,
      event_name: null,
      body: null,
      attributes: '{}',
      flags: null,
      dropped_attributes: null,
    },
  ]);
});

test('a text of several megabytes comes back from among small ones', async () => {
  const traceId = hex16(0xdd);
  const long = JSON.stringify({ text: 'é\u{1F600}"'.repeat(500_000) });
  const spans = ['a', 'b', 'c'].map((name) =>
    spanRow({ traceId, name, attributes: name === 'b' ? long : '{}' }),
  );
  await store({ spans });
  const rows = await scratch.rows(
    `SELECT attributes::text FROM spans WHERE trace_id = $1 ORDER BY name`,
    [traceId],
  );
  expect(rows.map(({ attributes }) => attributes === long)).toEqual([false, true, false]);
});
