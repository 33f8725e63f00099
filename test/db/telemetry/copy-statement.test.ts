/** Binary COPY, from the header to the trailer, through a real PostgreSQL. */
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { expect, test } from 'vitest';
import { COPY_HEADER, COPY_TRAILER } from '../../../src/db/telemetry/copy-statement.ts';
import { CopyBuffer } from '../../../src/ingest/copy-buffer.ts';
import { createTestDatabase } from '../../support/database.ts';

const UUID = '0123456789abcdeffedcba9876543210';
const SPAN_ID = '00ff10a5e0b1c2d3';
const INT64_MIN = '-9223372036854775808';
const INT64_MAX = '9223372036854775807';
const SURROGATES = 'a\u{1F600}é\u{10FFFF}漢';

test('every type comes back from PostgreSQL as it was written', async () => {
  const { url, drop } = await createTestDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`CREATE TABLE sample (small smallint, whole integer, large bigint,
      counted bigint, floating float8, id uuid, span bytea, words text, data json, day date)`);
    const out = new CopyBuffer();
    const longText = SURROGATES.repeat(50_000);
    out.row(10);
    out.int16(-32_768);
    out.int32(2_147_483_647);
    out.int64(INT64_MAX);
    out.counter(4_294_967_295);
    out.float64(-0.1);
    out.uuid(UUID);
    out.spanId(SPAN_ID);
    out.text(longText);
    out.text('{"a": [1,  "\\u00e9"]}');
    out.date(0);
    out.row(10);
    out.int16(0);
    out.int32(-1);
    out.int64(INT64_MIN);
    out.counter(0);
    out.float64(Number.NaN);
    for (let nulls = 0; nulls < 2; nulls += 1) out.null();
    out.text('');
    out.null();
    out.date(Date.UTC(2000, 0, 1, 23));
    await pipeline(
      [COPY_HEADER, out.take(), COPY_TRAILER],
      client.query(copyFrom('COPY sample FROM STDIN (FORMAT binary)')),
    );
    const { rows } = await client.query({
      text: `SELECT small, whole, large::text, counted::text, floating::text, id::text,
               encode(span, 'hex'), words, data::text, day::text FROM sample ORDER BY small`,
      rowMode: 'array',
    });
    expect(rows).toEqual([
      [
        -32_768,
        2_147_483_647,
        INT64_MAX,
        '4294967295',
        '-0.1',
        '01234567-89ab-cdef-fedc-ba9876543210',
        SPAN_ID,
        longText,
        '{"a": [1,  "\\u00e9"]}',
        '1970-01-01',
      ],
      [0, -1, INT64_MIN, null, 'NaN', null, null, '', null, '2000-01-01'],
    ]);
  } finally {
    await client.end();
    await drop();
  }
});
