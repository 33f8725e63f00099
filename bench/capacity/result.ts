/** What `npm run bench -- capacity` finds out. */
import type { MachineFacts } from '../machine.ts';

/** What one row of telemetry costs: medians over the rounds. Bytes and CPU microseconds a row. */
export interface RowCost {
  /** `span`, "span of `conv10`", `log record`, `data point` */
  readonly name: string;
  readonly rows: number;
  readonly serverUs: number;
  readonly postgresUs: number;
  /** PostgreSQL's CPU time for the same rows by raw COPY, in the same round */
  readonly rawCopyUs: number;
  /** server and PostgreSQL together, to PostgreSQL with raw COPY: the median of the rounds' ratios */
  readonly toRawCopy: number;
  readonly rawToRawCopy: readonly number[];
  /** of the request, as it is and compressed; and of the rows on their way to PostgreSQL */
  readonly bodyBytes: number;
  readonly gzipBytes: number;
  readonly copyBytes: number;
  readonly tableBytes: number;
  readonly indexBytes: number;
  /** of the rows of runs that belong to it, with their indexes */
  readonly runBytes: number;
  /** dropped after hours */
  readonly receiptBytes: number;
  /** into empty tables */
  readonly walBytes: number;
}

/** WAL of spans that follow a checkpoint, beside those that the day has already. */
export interface LaterWal {
  readonly rowsBefore: number;
  readonly rows: number;
  readonly walBytes: number;
}

export interface RunCost {
  readonly runs: number;
  readonly spansPerRun: number;
  readonly textBytes: number;
  readonly findings: number;
  readonly serverUs: number;
  readonly postgresUs: number;
  readonly walBytes: number;
  /** what the server reads from PostgreSQL, and sends to it */
  readonly fromPostgresBytes: number;
  readonly toPostgresBytes: number;
  /** by which the tables of runs and findings grow, indexes included */
  readonly grownBytes: number;
  /** by which the tables of packed blocks grow, indexes included */
  readonly packedBytes: number;
}

/** What deleting a run past retention costs, with the VACUUM after it. */
export interface DeletionCost {
  readonly runs: number;
  readonly serverUs: number;
  readonly postgresUs: number;
  readonly walBytes: number;
  /** of one process, which pauses for half of the time */
  readonly runsPerSecond: number;
}

export interface CapacityOptions {
  readonly rounds: number;
  /** requests of 100 rows of each measurement */
  readonly bodies: number;
  readonly runs: number;
}

/** What spans of one kind cost, from their arrival to their evaluation. */
export interface SpanCosts {
  readonly span: RowCost;
  readonly later: LaterWal;
  readonly run: RunCost;
}

export interface CapacityResult extends CapacityOptions {
  readonly name: 'capacity';
  readonly machine: MachineFacts;
  /** the benchmark's own spans, then those of `conv10` */
  readonly spans: readonly SpanCosts[];
  /** log records and data points */
  readonly others: readonly RowCost[];
  readonly deletion: DeletionCost;
}
