/**
 * The frame of rows in binary COPY form.
 *
 *   header:  "PGCOPY\n" 0xff "\r\n" 0x00 | int32 flags = 0 | int32 extension length = 0
 *   row:     int16 fields | per field: int32 length (-1 = null), bytes
 *   trailer: int16 -1
 *
 * Source: PostgreSQL manual, COPY, "Binary Format".
 */
export const COPY_HEADER = Buffer.from('5047434f50590aff0d0a000000000000000000', 'hex');
export const COPY_TRAILER = Buffer.from('ffff', 'hex');
