/**
 * The COPY statement of each telemetry table, in binary form, and what surrounds the rows
 * (`src/ingest/` encodes them).
 *
 *   header:  "PGCOPY\n" 0xff "\r\n" 0x00 | int32 flags = 0 | int32 extension length = 0
 *   row:     int16 fields | per field: int32 length (-1 = null), bytes
 *   trailer: int16 -1
 *
 * Source: PostgreSQL manual, COPY, "Binary Format".
 */
import { TABLE_COLUMNS, type TelemetryTable } from '../../model/columns.ts';

export const COPY_HEADER = Buffer.from('5047434f50590aff0d0a000000000000000000', 'hex');
export const COPY_TRAILER = Buffer.from('ffff', 'hex');

export const TELEMETRY_TABLES: readonly TelemetryTable[] = ['spans', 'log_records'];

/** The tables with a partition for each day of arrival. */
export const DAILY_TABLES = [...TELEMETRY_TABLES, 'blocks', 'places'] as const;

export function copyStatement(table: TelemetryTable): string {
  const columns = Object.keys(TABLE_COLUMNS[table]).join(', ');
  return `COPY ${table} (${columns}) FROM STDIN (FORMAT binary)`;
}
