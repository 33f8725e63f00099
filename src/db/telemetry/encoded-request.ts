/**
 * One request as the writer takes it: lines that become blocks (`blocks.ts`), and the runs and session
 * marks stored with them. A request is encoded as it arrives (`src/ingest/`), so that a batch is a list of
 * buffers of known size, and a batch that fails can be halved without encoding it again.
 */
import type { Signal } from '../../model/telemetry.ts';
import type { SessionMark } from './log-runs.ts';
import type { RunDelta } from './run-delta.ts';

/** A line of OTLP/JSON (`src/otlp/lines/lines.ts`). */
interface Line {
  readonly parts: readonly Buffer[];
  /** of all parts together */
  readonly bytes: number;
  readonly records: number;
}

export interface EncodedRequest {
  readonly workspaceId: number;
  readonly signal: Signal;
  readonly arrivedAtMs: number;
  /**
   * the records, as sent; those of the lines are numbered as those of the runs. They may share memory with
   * the body, which must not change until the request is stored or refused.
   */
  readonly lines: readonly Line[];
  readonly runs: readonly RunDelta[];
  readonly sessionMarks: readonly SessionMark[];
  readonly records: number;
  /** bytes of memory that the request holds while it waits */
  readonly bytes: number;
}

const OVERHEAD_BYTES = 512;
const RUN_BYTES = 512;
/** A bound of a run's records. */
const BOUND_BYTES = 8;
const MARK_BYTES = 128;
/** A string takes up to two bytes per character. */
const TEXT_BYTES_PER_UNIT = 2;

/** The bytes that a request holds in memory while it waits: its lines, and what is stored with them. */
export function heldBytes({
  lines,
  runs,
  sessionMarks,
}: Pick<EncodedRequest, 'lines' | 'runs' | 'sessionMarks'>): number {
  let bytes = OVERHEAD_BYTES + sessionMarks.length * MARK_BYTES;
  for (const { name, records } of runs) {
    const units = name?.length ?? 0;
    bytes += RUN_BYTES + units * TEXT_BYTES_PER_UNIT + records.length * BOUND_BYTES;
  }
  for (const line of lines) bytes += line.bytes;
  return bytes;
}
