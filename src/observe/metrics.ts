/** The counters and gauges that `/metrics` shows, in one registry. Labels are bounded by code. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

function declareMetrics(registry: Registry) {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name: `sluice_${name}`, help, labelNames, registers });
  return {
    requests: counter('ingest_requests_total', 'Ingest requests by signal and answer.', [
      'signal',
      'status',
    ]),
    refused: counter(
      'ingest_refused_requests_total',
      'Telemetry requests refused for a fault of their sender, by reason (docs/errors).',
      ['reason'],
    ),
    unavailable: counter(
      'unavailable_answers_total',
      'Requests answered 503, by place and reason; of /ready by the part that fails.',
      ['place', 'reason'],
    ),
    resends: counter(
      'ingest_resends_total',
      'Requests that were stored before: answered as the first, not stored again.',
      [],
    ),
    rejected: counter('ingest_rejected_records_total', 'Records set aside, by reason.', [
      'signal',
      'reason',
    ]),
    rows: counter('store_rows_total', 'Spans, log records and data points committed.', []),
    bytes: counter('store_bytes_total', 'Bytes committed, before compression.', []),
    batches: counter('store_batches_total', 'Batches by outcome.', ['outcome']),
    batchSeconds: new Histogram({
      name: 'sluice_store_batch_seconds',
      help: 'Time from BEGIN to COMMIT of one batch.',
      buckets: SECONDS,
      registers,
    }),
    inflight: new Gauge({
      name: 'sluice_store_inflight_bytes',
      help: 'Bytes accepted but not yet committed.',
      registers,
    }),
    retentionRows: counter(
      'retention_rows_total',
      'Rows past retention that were deleted, by table; partitions are dropped uncounted.',
      ['table'],
    ),
    packedRuns: counter('packed_runs_total', 'Runs whose records were packed.', []),
    packedBlocks: counter('packed_blocks_total', 'Packed blocks that were stored.', []),
    packedBytes: counter(
      'packed_bytes_total',
      'Bytes of packed blocks: text, and what is stored of it.',
      ['form'],
    ),
    hotDaysWaiting: new Gauge({
      name: 'sluice_hot_days_waiting',
      help: 'Hot days past HOT_DAYS that are not packed yet.',
      registers,
    }),
    oldestHotDay: new Gauge({
      name: 'sluice_oldest_hot_day_timestamp_seconds',
      help: 'Start of the oldest day whose spans and log records are not all packed, since 1970.',
      registers,
    }),
    clockDifference: new Gauge({
      name: 'sluice_clock_difference_seconds',
      help: "How far this machine's clock is ahead of PostgreSQL's.",
      registers,
    }),
    unstorable: counter('store_unstorable_requests_total', 'Requests PostgreSQL refused.', [
      'code',
    ]),
    runs: counter('pass_runs_total', 'Runs taken by the pass, by outcome.', ['outcome']),
    runsWithoutText: counter(
      'pass_runs_without_text_total',
      'Runs evaluated that held no text: their instrumentation sends none.',
      [],
    ),
    runsChecked: counter(
      'pass_runs_checked_total',
      'Runs evaluated, by what of them was checked: nothing, tool_names_only, partly or fully.',
      ['checked'],
    ),
    unknownRoles: counter(
      'pass_runs_with_unknown_roles_total',
      'Runs evaluated with messages of roles that are not known. The roles are in the runs.',
      [],
    ),
    unreadTexts: counter(
      'pass_unread_texts_total',
      'Attributes with text that no convention reads, of runs evaluated. Their keys are in the runs.',
      [],
    ),
    runsOverBudget: counter(
      'pass_runs_over_budget_total',
      'Runs evaluated whose CPU time was used up before all of their steps were read.',
      [],
    ),
    findings: counter('pass_findings_total', 'Findings stored, by severity.', ['severity']),
    passes: counter('pass_rounds_total', 'Rounds of the pass, by outcome.', ['outcome']),
    waitingRuns: new Gauge({
      name: 'sluice_pass_waiting_runs',
      help: 'Runs of all processes that are due for evaluation, at most 200,000. The same everywhere.',
      registers,
    }),
    oldestWait: new Gauge({
      name: 'sluice_pass_oldest_wait_seconds',
      help: 'How long the first of these runs has been due; 0 when none is.',
      registers,
    }),
    limitsShared: new Gauge({
      name: 'sluice_limits_shared',
      help: '1 while limits are counted in Redis, 0 while this process counts alone.',
      registers,
    }),
    countedHere: counter(
      'limits_counted_here_total',
      'Requests counted apart because the shared count did not answer in time.',
      [],
    ),
    replicaLag: new Gauge({
      name: 'sluice_replica_lag_seconds',
      help: "Most seconds by which the read replica's rows are behind the primary's.",
      registers,
    }),
    replicaUsed: new Gauge({
      name: 'sluice_replica_used',
      help: '1 while reads go to the read replica, 0 while they go to the primary.',
      registers,
    }),
    replicaFallbacks: counter(
      'replica_fallbacks_total',
      'Reads that went to the primary: replica behind or away, a recovery conflict, or a failure.',
      ['reason'],
    ),
    corpus: new Gauge({
      name: 'sluice_corpus_info',
      help: '1, with the version, date and identity of the pinned rule corpus.',
      labelNames: ['version', 'date', 'identity'],
      registers,
    }),
    signIns: counter('sign_ins_total', 'Attempts to sign in, by way and outcome.', [
      'way',
      'outcome',
    ]),
    alerts: counter(
      'alert_messages_total',
      'Attempts to send an alert, or an e-mail about an assignment, by format and outcome.',
      ['format', 'outcome', 'failure'],
    ),
    alertsPending: new Gauge({
      name: 'sluice_alert_pending_findings',
      help: 'Findings in the database that wait to be sent as alerts, to all destinations.',
      registers,
    }),
    alertsOldest: new Gauge({
      name: 'sluice_alert_oldest_pending_seconds',
      help: 'How long the oldest of them has waited.',
      registers,
    }),
    faults: counter('faults_total', 'Faults that were answered or retried, by place.', ['place']),
  };
}

export type Metrics = ReturnType<typeof declareMetrics> & { readonly registry: Registry };

/** A fresh registry with every metric declared. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  return { ...declareMetrics(registry), registry };
}

/** The answer of `/metrics`. */
export interface MetricsText {
  readonly contentType: string;
  readonly text: () => Promise<string>;
}
