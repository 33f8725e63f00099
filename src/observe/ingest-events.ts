/** Events of requests that bring telemetry, and of storing it. */
import type { Logger } from 'pino';
import { Histogram } from 'prom-client';

import type { RefusedSender } from '../model/refused-requests.ts';
import type { Rejection, Signal } from '../model/telemetry.ts';
import { errorFacts, type FailedRequest, framesOf, isConnectionError } from './error-facts.ts';
import { type EventKinds, Facts } from './event-kinds.ts';

/** Bounds the label values, whatever the reasons are. */
const REASON_LENGTH_MAX = 64;
const BATCH_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface BatchFacts {
  readonly requests: number;
  readonly rows: number;
  readonly bytes: number;
  readonly elapsedMs: number;
}

export function ingestEvents(log: Logger, kinds: EventKinds) {
  const { registry, counter, counted, summed, shown, said, fault, faults, outage } = kinds;
  const requestAnswered = counted<[signal: Signal, status: number]>(
    'ingest_requests_total',
    'Ingest requests by signal and answer.',
    'signal',
    'status',
  );
  /** @param reason a code of the error table */
  const requestRefused = counted<[reason: string]>(
    'ingest_refused_requests_total',
    'Telemetry requests refused for a fault of their sender, by reason (docs/errors).',
    'reason',
  );
  /** @param reason a code of the error table, or what had no room (errors.ts) */
  const requestUnavailable = counted<[place: string, reason: string]>(
    'unavailable_answers_total',
    'Requests answered 503, by place and reason; of /ready by the part that fails.',
    'place',
    'reason',
  );
  const requestsResent = summed(
    'ingest_resends_total',
    'Requests that were stored before: answered as the first, not stored again.',
  );
  const rejected = counter('ingest_rejected_records_total', 'Records set aside, by reason.', [
    'signal',
    'reason',
  ]);
  const redacted = counter(
    'redacted_texts_total',
    "Matches replaced before storage, by pattern of the library; `custom` for workspaces' patterns.",
    ['pattern'],
  );
  const rows = summed('store_rows_total', 'Spans, log records and data points committed.');
  const bytes = summed('store_bytes_total', 'Bytes committed, before compression.');
  const batches = counted<[outcome: string]>(
    'store_batches_total',
    'Batches by outcome.',
    'outcome',
  );
  const batchSeconds = new Histogram({
    name: 'sluice_store_batch_seconds',
    help: 'Time from BEGIN to COMMIT of one batch.',
    buckets: BATCH_SECONDS,
    registers: [registry],
  });
  const inflightChanged = shown('store_inflight_bytes', 'Bytes accepted but not yet committed.');
  const unstorable = counted<[code: string]>(
    'store_unstorable_requests_total',
    'Requests PostgreSQL refused.',
    'code',
  );
  const { databaseAway, connectionOpened } = outage('databaseAway', 'connectionOpened', {
    place: null,
    level: 'error',
    fails: 'the database cannot be reached',
    works: 'the database can be reached again',
  });
  const { storeFailed, storeWorked } = outage('storeFailed', 'storeWorked', {
    place: null,
    fails: 'telemetry cannot be stored; it is answered 503',
    works: 'telemetry is stored again',
  });
  const { readyFailed, ready } = outage('readyFailed', 'ready', {
    place: null,
    fails: '/ready answers 503',
    works: '/ready answers 200 again',
  });
  return {
    requestAnswered,
    requestRefused,
    requestUnavailable,
    requestsResent,
    inflightChanged,
    connectionOpened,
    ready,
    /** Requests without a known key, which no workspace is shown. Once an hour per sender. */
    senderRefused: said<RefusedSender & { readonly keyPrefix: string | null }>(
      'warn',
      'telemetry refused: missing or unknown key',
    ),
    ...outage('refusalsUnrecorded', 'refusalsRecorded', {
      place: 'refused_requests',
      fails: 'counts of refused requests could not be stored; it will be retried',
      works: 'counts of refused requests are stored again',
    }),
    recordsRejected(signal: Signal, rejections: readonly Rejection[]): void {
      for (const { reason, count } of rejections) {
        rejected.inc({ signal, reason: reason.slice(0, REASON_LENGTH_MAX) }, count);
      }
      log.debug({ signal, rejections: rejections.length }, 'records rejected');
    },
    textsRedacted(counts: ReadonlyMap<string, number>): void {
      for (const [pattern, count] of counts) redacted.inc({ pattern }, count);
    },
    /** Decoding in JavaScript gives the same result, and takes more CPU time. */
    scannerFailed: fault(
      null,
      'the scanner in WebAssembly cannot be made; bodies are decoded in JavaScript',
      'warn',
    ),
    /**
     * A request ended with an exception that is not in the error table.
     *
     * @param request its method, and the path of its route; `id` is in the answer
     */
    requestFailed(place: string, error: unknown, request: FailedRequest = {}): void {
      faults.inc({ place });
      const facts = { place, ...request, ...errorFacts(error) };
      if (isConnectionError(error)) databaseAway(new Facts(facts));
      else log.error({ ...facts, frames: framesOf(error) }, 'request failed');
    },
    connectionLost(error: unknown): void {
      faults.inc({ place: 'database' });
      databaseAway(new Facts({ place: 'connection', ...errorFacts(error) }));
    },
    notReady(failing: readonly string[]): void {
      for (const reason of failing) requestUnavailable('ready', reason);
      readyFailed(new Facts({ failing }));
    },
    batchCommitted(facts: BatchFacts): void {
      batches('committed');
      rows(facts.rows);
      bytes(facts.bytes);
      batchSeconds.observe(facts.elapsedMs / 1000);
      storeWorked();
      log.debug(facts, 'batch committed');
    },
    batchFailed(requests: number, error: unknown): void {
      batches('failed');
      storeFailed(new Facts({ requests, ...errorFacts(error) }));
    },
    requestUnstorable(error: unknown): void {
      const facts = errorFacts(error);
      unstorable(facts.code ?? 'none');
      log.warn(facts, 'telemetry rejected by PostgreSQL');
    },
  };
}
