/**
 * Numbers that the record scanner and `src/ingest/ordinary-records.ts` share. Also plain TypeScript,
 * unlike the other files of this folder.
 */

export const RECORDS_MAX = 4096;

// Kinds of records.
export const SPANS = 0;
export const LOG_RECORDS = 1;
/** data points of a gauge or a sum */
export const NUMBER_POINTS = 2;
export const HISTOGRAM_POINTS = 3;

// Kinds of objects, each with a table of members. A record is the first.
export const RECORD = 0;
export const STATUS = 1;
export const EVENT = 2;
export const LINK = 3;
export const EXEMPLAR = 4;
/** of an attribute list */
export const ENTRY = 5;
/** an AnyValue */
export const VALUE = 6;
export const ARRAY_VALUE = 7;
export const KVLIST_VALUE = 8;
export const OBJECTS_MAX = 9;

// How a member is read.
export const READ_TIME = 0;
export const READ_UINT = 1;
export const READ_TEXT = 2;
export const READ_TRACE_ID = 3;
export const READ_SPAN_ID = 4;
/** any text without escapes; if it is not a trace id, the record has no trace */
export const READ_OPTIONAL_TRACE_ID = 5;
/** a span id, an empty text, or zeros */
export const READ_PARENT_ID = 6;
export const READ_ATTRIBUTES = 7;
/** a list of AnyValues */
export const READ_VALUES = 8;
/** an object of the kind that `MEMBER_DETAIL` has */
export const READ_OBJECT = 9;
/** a list of such objects */
export const READ_LIST = 10;
export const READ_INT64 = 11;
export const READ_DOUBLE = 12;
export const READ_COUNT = 13;
export const READ_BUCKET_COUNTS = 14;
export const READ_BOUNDS = 15;
export const READ_BOOL = 16;
export const READ_BASE64 = 17;
/** an integer of an AnyValue */
export const READ_INT_VALUE = 18;

// Facts of a record that are kept while it is scanned.
/** for a member that is only checked */
export const CELL_NONE = 0;
export const CELL_TRACE = 1;
/** start of a span, time of a log record or data point */
export const CELL_TIME = 2;
/** end of a span, time when a log record was observed */
export const CELL_END = 3;
export const CELL_PARENT = 4;
export const CELL_STATUS = 5;
/** where a text begins and ends in the window */
export const CELL_NAME = 6;
export const CELL_FLAGS = 7;
export const CELL_INT = 8;
export const CELL_DOUBLE = 9;
export const CELL_COUNT = 10;
export const CELLS_MAX = 11;

// Why a scan stopped.
export const AT_END = 0;
export const AT_UNUSUAL = 1;
export const AT_WINDOW_END = 2;
export const AT_RECORDS_END = 3;

// A run: its id; nanoseconds of its start and of its end; the number of its first record in the call and
// how many follow it without a gap; flags; where its root span's name begins in the window, and its length
// in bytes.
export const RUN_START = 16;
export const RUN_END = 24;
export const RUN_FIRST = 32;
export const RUN_RECORDS = 36;
export const RUN_FLAGS = 40;
export const RUN_NAME_AT = 44;
export const RUN_NAME_LENGTH = 48;
export const RUN_BYTES = 64;

/** it has a time */
export const RUN_IS_TIMED = 1;
/** its root span is among the records */
export const RUN_IS_FINISHED = 2;
/** and has the status of an error */
export const RUN_IS_FAILED = 4;

// Kinds of log records, as bits.
export const WITH_TRACE = 1;
export const WITHOUT_TRACE = 2;

// A member: its name with quotes in 32 bytes; 32 bytes that are 255 where the name has none; its
// length; how it is read; its cell; the kinds of records that have it, as bits; the largest value of a
// number, or the kind of an object.
export const MEMBER_MASK = 32;
export const MEMBER_LENGTH = 64;
export const MEMBER_READ = 65;
export const MEMBER_CELL = 66;
export const MEMBER_RECORDS = 67;
export const MEMBER_DETAIL = 68;
export const MEMBER_BYTES = 72;
export const MEMBERS_MAX = 16;
