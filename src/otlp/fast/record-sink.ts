/** Takes the records of a body from their bytes, and the origins that they have. */
import type { Origin } from '../../model/telemetry.ts';

export interface OrdinaryTaken {
  readonly records: number;
  /** where it stopped: after a record */
  readonly at: number;
  readonly structures: number;
  /** whether there are spans, or log records with a trace id */
  readonly hasTraced: boolean;
  /** whether there are log records without one */
  readonly hasUntraced: boolean;
}

/** Its records must be dropped if the scan of the body returns false. */
export interface RecordSink {
  /**
   * Takes ordinary records of the current list.
   *
   * @param body valid UTF-8
   * @param at where a record is expected
   * @param until no record is taken after one that ends there or later
   * @param end no byte after it may be read
   * @param isHistogram of data points: whether they are those of a histogram
   * @returns null when it takes none; reused after the next call
   */
  takeOrdinary(
    body: Buffer,
    at: number,
    until: number,
    end: number,
    isHistogram: boolean,
  ): OrdinaryTaken | null;
  /** Drops what it took of the body. */
  restart(): void;
  /** Ends the scope of the records since the last call. @returns its number */
  closeScope(): number;
  /** Sets the origin of a scope's records, which may come after them in the body. */
  setOrigin(scope: number, origin: Origin): void;
}
