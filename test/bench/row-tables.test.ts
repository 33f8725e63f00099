/** Rows that blocks are measured against: what they hold, and their bytes in COPY form. */
import { expect, test } from 'vitest';

import { bodyOf } from '../../bench/ingest/requests.ts';
import { recordsIn } from '../../bench/request-records.ts';
import {
  COPY_HEADER,
  COPY_TRAILER,
  encodeRow,
  fieldOf,
  rowsIn,
} from '../../bench/row-tables/copy-bytes.ts';
import { rowsOf } from '../../bench/row-tables/rows.ts';
import { ROW_TABLES } from '../../bench/row-tables/tables.ts';
import { contentsOf } from '../../bench/stored-records.ts';
import type { Signal } from '../../src/model/telemetry.ts';

const SIGNALS: readonly Signal[] = ['traces', 'logs', 'metrics'];
const parsed = (signal: Signal) =>
  JSON.parse(bodyOf({ signal, rows: 12, gzip: false }, 3).toString());

test.each(SIGNALS)('a row of %s has a value for each column', (signal) => {
  const { columns } = ROW_TABLES[signal];
  const rows = [...rowsOf(signal, parsed(signal), '2026-11-20')];
  expect(rows.map(({ length }) => length)).toEqual(Array(12).fill(Object.keys(columns).length));
});

test('a row in COPY form has its values, null ones too', () => {
  const columns = {
    id: 'uuid',
    at: 'bigint',
    day: 'date',
    nothing: 'json',
    share: 'double precision',
    name: 'text',
  } as const;
  const id = '00112233445566778899aabbccddeeff';
  const row = encodeRow({ columns }, [id, '-2', '2000-01-03', null, 0.5, 'é']);
  const bytes = Buffer.concat([COPY_HEADER, row, row, COPY_TRAILER]);
  const found = [...rowsIn(bytes)];
  expect(found).toEqual([row, row]);
  const fields = Object.keys(columns).map((_, place) => fieldOf(row, place).toString('hex'));
  expect(fields).toEqual([id, 'fffffffffffffffe', '00000002', '', '3fe0000000000000', 'c3a9']);
  fieldOf(found[1] as Buffer, 0).writeUInt32BE(7);
  expect(fieldOf(bytes.subarray(COPY_HEADER.length + row.length), 0).readUInt32BE()).toBe(7);
});

test('contents of requests are the same however their records are cut into requests', () => {
  for (const signal of SIGNALS) {
    const whole = parsed(signal);
    const list = { traces: 'resourceSpans', logs: 'resourceLogs', metrics: 'resourceMetrics' };
    const [first] = whole[list[signal]];
    const twice = { [list[signal]]: [first, first] };
    const text = (value: unknown) => Buffer.from(JSON.stringify(value));
    const cut = contentsOf(signal, [text(whole), text(whole)]);
    expect(contentsOf(signal, [text(twice)])).toEqual(cut);
    expect(cut.rows).toBe(24);
    const [changed] = recordsIn(signal, whole);
    if (changed !== undefined) changed.record.attributes = [];
    expect(contentsOf(signal, [text(whole), text(whole)]).sum).not.toBe(cut.sum);
  }
});
