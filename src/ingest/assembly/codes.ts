/**
 * Numbers that the record scanner and `src/ingest/ordinary-rows.ts` share. Also plain TypeScript,
 * unlike the other files of this folder.
 */

/** Most records of one call. */
export const RECORDS_MAX = 4096;

// How a member is read.
export const READ_TIME = 0;
export const READ_UINT = 1;
export const READ_TEXT = 2;
export const READ_TRACE_ID = 3;
export const READ_SPAN_ID = 4;
/** as the two before, or an empty string */
export const READ_OPTIONAL_TRACE_ID = 5;
export const READ_OPTIONAL_SPAN_ID = 6;
export const READ_ATTRIBUTES = 7;
export const READ_VALUE = 8;
export const READ_STATUS = 9;
export const READ_EVENTS = 10;
/** a list that is not ordinary unless it is empty */
export const READ_EMPTY_LIST = 11;
export const READ_INT64 = 12;
export const READ_DOUBLE = 13;
/** 0 for null */
export const READ_COUNT = 14;
// Ways to read members of data points.
export const READ_BUCKET_COUNTS = 15;
export const READ_BOUNDS = 16;
export const READ_EXEMPLARS = 17;

// How a column is written.
export const WRITE_INT64 = 0;
export const WRITE_INT16 = 1;
/** null for 0 */
export const WRITE_COUNTER = 2;
/** null for none */
export const WRITE_TRACE_ID = 3;
export const WRITE_SPAN_ID = 4;
export const WRITE_TEXT = 5;
/** null when empty */
export const WRITE_OPTIONAL_TEXT = 6;
/** an object without members when empty */
export const WRITE_ATTRIBUTES = 7;
export const WRITE_WORKSPACE = 8;
export const WRITE_DAY = 9;
export const WRITE_NULL = 10;
/** the run that a distributed table's row belongs to */
export const WRITE_RUN = 11;
/** zeros; the id is written when it is known */
export const WRITE_RESOURCE = 12;

// What the records of a scan are.
/** spans, or log records */
export const OF_RUNS = 0;
/** data points of a gauge or a sum */
export const OF_NUMBERS = 1;
export const OF_HISTOGRAMS = 2;

// Why a scan stopped.
export const AT_END = 0;
export const AT_UNUSUAL = 1;
export const AT_WINDOW_END = 2;
export const AT_ROWS_END = 3;

// A run: its id, and as doubles the seconds and nanoseconds of its start and of its end; how many
// records, flags, and where its root span's name is, counted from the rows, and its length.
export const RUN_BYTES = 64;
export const RUN_START = 16;
export const RUN_END = 32;
export const RUN_RECORDS = 48;
export const RUN_FLAGS = 52;
export const RUN_NAME_AT = 56;
export const RUN_NAME_LENGTH = 60;

/** it has a time */
export const RUN_IS_TIMED = 1;
/** its root span is among the records */
export const RUN_IS_FINISHED = 2;
/** and has the status of an error */
export const RUN_IS_FAILED = 4;
/** records without a trace id; only their number is set */
export const RUN_IS_NONE = 8;

// Kinds of records, as bits.
export const WITH_TRACE = 1;
export const WITHOUT_TRACE = 2;

// A member: its name with quotes in 32 bytes; 32 bytes that are 255 where the name has none; its
// length, how it is read, its column, the largest value.
export const MEMBER_BYTES = 72;
export const MEMBER_MASK = 32;
export const MEMBER_LENGTH = 64;
export const MEMBER_READ = 65;
export const MEMBER_COLUMN = 66;
export const MEMBER_LARGEST = 68;
