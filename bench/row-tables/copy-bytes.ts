/**
 * Rows in PostgreSQL's binary COPY form, and the ids in them, which are overwritten so that the same bytes
 * can be stored again as other runs. How fast rows are encoded is not measured. Pure.
 *
 *   header:  "PGCOPY\n" 0xff "\r\n" 0x00 | int32 flags = 0 | int32 extension length = 0
 *   row:     int16 fields | per field: int32 length (-1 = null), bytes
 *   trailer: int16 -1
 */
import type { Row, Value } from './rows.ts';
import type { ColumnType, RowTable } from './tables.ts';

export const COPY_HEADER = Buffer.from('5047434f50590aff0d0a000000000000000000', 'hex');
export const COPY_TRAILER = Buffer.from('ffff', 'hex');

const DAY_MS = 86_400_000;
const FIRST_DAY_MS = Date.UTC(2000, 0, 1);

function bytes(length: number, write: (buffer: Buffer) => void): Buffer {
  const buffer = Buffer.alloc(length);
  write(buffer);
  return buffer;
}

type Encoder = (value: string | number) => Buffer;

const ENCODERS: Readonly<Record<ColumnType, Encoder>> = {
  bigint: (value) => bytes(8, (buffer) => buffer.writeBigInt64BE(BigInt(value))),
  integer: (value) => bytes(4, (buffer) => buffer.writeInt32BE(Number(value))),
  smallint: (value) => bytes(2, (buffer) => buffer.writeInt16BE(Number(value))),
  'double precision': (value) => bytes(8, (buffer) => buffer.writeDoubleBE(Number(value))),
  date: (value) =>
    bytes(4, (buffer) => buffer.writeInt32BE((Date.parse(String(value)) - FIRST_DAY_MS) / DAY_MS)),
  uuid: (value) => Buffer.from(String(value), 'hex'),
  bytea: (value) => Buffer.from(String(value), 'hex'),
  text: (value) => Buffer.from(String(value)),
  json: (value) => Buffer.from(String(value)),
};

function field(value: Value, encode: Encoder): Buffer[] {
  const content = value === null ? null : encode(value);
  const head = bytes(4, (buffer) => buffer.writeInt32BE(content?.length ?? -1));
  return content === null ? [head] : [head, content];
}

export function encodeRow({ columns }: Pick<RowTable, 'columns'>, row: Row): Buffer {
  const encoders = Object.values(columns).map((type) => ENCODERS[type]);
  const count = bytes(2, (buffer) => buffer.writeInt16BE(encoders.length));
  const fields = encoders.flatMap((encode, place) => field(row[place] ?? null, encode));
  return Buffer.concat([count, ...fields]);
}

export function* rowsIn(copied: Buffer): Generator<Buffer> {
  for (let at = COPY_HEADER.length, end = at; copied.readInt16BE(at) !== -1; at = end) {
    end = at + 2;
    for (let left = copied.readInt16BE(at); left > 0; left -= 1) {
      end += 4 + Math.max(0, copied.readInt32BE(end));
    }
    yield copied.subarray(at, end);
  }
}

export function fieldOf(row: Buffer, place: number): Buffer {
  let at = 2;
  for (let before = 0; before < place; before += 1) at += 4 + Math.max(0, row.readInt32BE(at));
  return row.subarray(at + 4, at + 4 + Math.max(0, row.readInt32BE(at)));
}
