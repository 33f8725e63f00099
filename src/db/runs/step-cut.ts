/**
 * The SQL that cuts a step too large to be shown whole. It is cut inside PostgreSQL, so
 * that neither `pg`, which parses JSON as it arrives, nor this process reads more than the shares
 * below. The column `cut_bytes` is the limit of the step.
 *
 *   attributes  half of it: short values first, then the beginnings of strings
 *   events      a quarter: the first ones that fit, whole
 *   body        a quarter: as attributes, or the beginning of a string
 */

/** Characters kept of a string; a page shows fewer. */
const CHARS_MAX = 8192;
/** Largest value, in bytes, that is kept as it is. */
const SHORT_BYTES_MAX = 1024;
const NAME_CHARS_MAX = 256;
/** Most members or elements that are read. */
const MEMBERS_MAX = 1000;

const OF_ATTRIBUTES = 'cut_bytes / 2';
const OF_EVENTS = 'cut_bytes / 4';
const OF_BODY = 'cut_bytes / 4';

/** A short value as it is, the beginning of a long string; NULL for other long values. */
const beginning = (value: string): string =>
  `CASE WHEN octet_length(${value}::text) <= ${SHORT_BYTES_MAX} THEN ${value}
        WHEN json_typeof(${value}) = 'string'
        THEN to_json(left(${value} #>> '{}', ${CHARS_MAX})) END`;

const cutObject = (column: string, bytesMax: string): string =>
  `(SELECT coalesce(json_object_agg(key, value ORDER BY at), '{}') FROM (
      SELECT *, sum(octet_length(key) + octet_length(value::text)) OVER (
               ORDER BY octet_length(value::text) > ${SHORT_BYTES_MAX}, at) AS so_far
        FROM (SELECT key, at, ${beginning('value')} AS value
                FROM json_each(${column}) WITH ORDINALITY AS member (key, value, at)
               WHERE length(key) <= ${NAME_CHARS_MAX} LIMIT ${MEMBERS_MAX}) AS shown
       WHERE value IS NOT NULL) AS summed
     WHERE so_far <= ${bytesMax})`;

const cutList = (column: string, bytesMax: string): string =>
  `(SELECT json_agg(value ORDER BY at) FROM (
      SELECT *, sum(octet_length(value::text)) OVER (ORDER BY at) AS so_far
        FROM (SELECT value, at
                FROM json_array_elements(${column}) WITH ORDINALITY AS element (value, at)
               LIMIT ${MEMBERS_MAX}) AS shown) AS summed
     WHERE so_far <= ${bytesMax})`;

/** The text columns, cut if `is_cut`. */
export const TEXTS_CUT = `
           CASE WHEN is_cut THEN left(name, ${NAME_CHARS_MAX}) ELSE name END AS name,
           status_code AS "statusCode",
           CASE WHEN is_cut THEN left(status_message, ${SHORT_BYTES_MAX}) ELSE status_message END
             AS "statusMessage"`;

/** The JSON columns, cut if `is_cut`. */
export const DOCUMENTS_CUT = `
           CASE WHEN is_cut THEN ${cutObject('attributes', OF_ATTRIBUTES)}
                ELSE attributes END AS attributes,
           CASE WHEN is_cut THEN ${cutList('events', OF_EVENTS)} ELSE events END AS events,
           CASE WHEN NOT is_cut THEN body
                WHEN json_typeof(body) = 'object' THEN ${cutObject('body', OF_BODY)}
                ELSE ${beginning('body')} END AS body`;
