/**
 * One request as the writer takes it: COPY bytes per table, lines that become blocks (`blocks.ts`), and
 * the resources, runs and session marks stored with them. A request is encoded as it arrives
 * (`src/ingest/`), so that a batch is a list of buffers of known size, and a batch that fails can be
 * halved without encoding it again.
 */
import { SluiceError } from '../../errors.ts';
import type { TelemetryTable } from '../../model/columns.ts';
import type { ResourceRow, Signal } from '../../model/telemetry.ts';
import type { SessionMark } from './log-runs.ts';
import type { RunDelta } from './run-delta.ts';

/** A line of OTLP/JSON (`src/otlp/lines/lines.ts`). */
interface Line {
  readonly bytes: Buffer;
  readonly records: number;
}

export interface EncodedRequest {
  readonly workspaceId: number;
  readonly signal: Signal;
  readonly arrivedAtMs: number;
  /** rows without header and trailer; tables without rows are absent */
  readonly chunks: ReadonlyMap<TelemetryTable, Buffer>;
  /** the records, as sent; those of the lines are numbered as those of the runs */
  readonly lines: readonly Line[];
  readonly resources: readonly ResourceRow[];
  readonly runs: readonly RunDelta[];
  readonly sessionMarks: readonly SessionMark[];
  readonly rows: number;
  /** what the request holds in memory while it waits */
  readonly bytes: number;
  /**
   * Releases the rows' memory for other requests. To be called once they are committed and no
   * longer read; where that is not certain, never: then it is garbage-collected.
   */
  readonly release: () => void;
}

/**
 * Maximum resources (each with one scope) of one request. A collector's batch holds thousands of rows,
 * and rows share them.
 */
export const CONTENTS_MAX = 20_000;

/** @throws {SluiceError} `body_too_large` when there are more than `CONTENTS_MAX` */
export function checkContents(contents: number): void {
  if (contents <= CONTENTS_MAX) return;
  throw new SluiceError(
    'body_too_large',
    `The body holds more than ${CONTENTS_MAX} resources and scopes; send smaller batches.`,
  );
}

/** Bookkeeping. */
const OVERHEAD_BYTES = 512;
/** A run's delta with its key. */
const RUN_BYTES = 256;
/** A bound of a run's records. */
const BOUND_BYTES = 8;
/** A mark of a session. */
const MARK_BYTES = 128;
const CONTENT_BYTES = 256;
/**
 * Maximum UTF-16 units of the resources and scopes of a request. One turn of the event loop can still
 * make a single row of this size into parameters (`row-groups.ts` splits several rows).
 */
const ORIGIN_UNITS_MAX = 4 * 1024 * 1024;
/** A string takes up to two bytes per character. */
const TEXT_BYTES_PER_UNIT = 2;

/**
 * The bytes that a request holds in memory while it waits: its rows, and what is stored with them.
 *
 * @throws {SluiceError} `body_too_large` when its resources and scopes hold more text than is taken
 */
export function heldBytes({
  chunks,
  lines,
  resources,
  runs,
  sessionMarks,
}: Pick<EncodedRequest, 'chunks' | 'lines' | 'resources' | 'runs' | 'sessionMarks'>): number {
  let bytes = OVERHEAD_BYTES + sessionMarks.length * MARK_BYTES;
  for (const { name, records } of runs) {
    bytes += RUN_BYTES + textBytes(name?.length ?? 0) + records.length * BOUND_BYTES;
  }
  for (const chunk of chunks.values()) bytes += chunk.length;
  for (const line of lines) bytes += line.bytes.length;
  let units = 0;
  for (const row of resources) units += unitsOfResource(row);
  if (units > ORIGIN_UNITS_MAX) {
    throw new SluiceError(
      'body_too_large',
      `The body's resources and scopes hold more than ${ORIGIN_UNITS_MAX} characters; ` +
        'send smaller batches.',
    );
  }
  return bytes + resources.length * CONTENT_BYTES + units * TEXT_BYTES_PER_UNIT;
}

/** UTF-16 units of a row that many others refer to. */
export function unitsOfResource(row: ResourceRow): number {
  const resource = row.attributes.length + row.schemaUrl.length;
  const scope = row.scopeAttributes.length + row.scopeSchemaUrl.length;
  return resource + scope + row.scopeName.length + row.scopeVersion.length;
}

const textBytes = (units: number): number => CONTENT_BYTES + units * TEXT_BYTES_PER_UNIT;
