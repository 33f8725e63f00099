/** SQL that converts times: cursors have microseconds since 1970, which Date would round. */

export const toMicros = (time: string): string => `(extract(epoch FROM ${time}) * 1000000)::bigint`;

export const fromMicros = (micros: string): string =>
  `'epoch'::timestamptz + ${micros}::bigint * interval '1 microsecond'`;

/** The UTC day of a timestamptz, as `2026-11-20`. */
export const utcDayOf = (time: string): string =>
  `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;
