/**
 * Logs and counts the events of `sluice relay`: one call writes the log line and moves the counter. Never with
 * a key, a payload or a message of the server.
 */
import { pino } from 'pino';
import { Counter, Gauge, Registry } from 'prom-client';

import type { Signal } from '../model/telemetry.ts';
import { errorFacts } from './error-facts.ts';
import { type LogDestination, openLog, outageLog } from './events.ts';

/** The state of the queue and the server when `/metrics` is read. */
export interface RelayState {
  readonly queueBytes: number;
  readonly queueBytesMax: number;
  /** age of the oldest request in the queue; 0 when it is empty */
  readonly oldestSeconds: number;
  /** `up`, `unavailable`, or `denied` when the key or the URL is wrong */
  readonly server: 'up' | 'unavailable' | 'denied';
}

/** Why a request that was accepted is not sent any more. */
export type DropReason = 'refused' | 'expired' | 'damaged';

/** Events of the queue's files. */
export type QueueWork = 'write' | 'read' | 'remove';

const FAILS: Readonly<Record<QueueWork, string>> = {
  write: 'the queue cannot be written',
  read: 'the queue cannot be read',
  remove: 'what was sent cannot be removed from the queue',
};
const WORKS_AGAIN: Readonly<Record<QueueWork, string>> = {
  write: 'the queue can be written again',
  read: 'the queue can be read again',
  remove: 'what was sent can be removed from the queue again',
};

function declareMetrics(registry: Registry, state: () => RelayState) {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name: `sluice_relay_${name}`, help, labelNames, registers });
  const gauge = (name: string, help: string, read: (present: RelayState) => number) =>
    new Gauge({
      name: `sluice_relay_${name}`,
      help,
      registers,
      collect() {
        this.set(read(state()));
      },
    });
  gauge('queue_bytes', 'Bytes that wait to be sent.', ({ queueBytes }) => queueBytes);
  gauge('queue_bytes_max', 'Most bytes of the queue.', ({ queueBytesMax }) => queueBytesMax);
  gauge(
    'queue_oldest_seconds',
    'Age of the oldest request that waits to be sent.',
    ({ oldestSeconds }) => oldestSeconds,
  );
  gauge('server_up', '1 unless the server was unavailable or refused the key.', ({ server }) =>
    server === 'up' ? 1 : 0,
  );
  return {
    requests: counter('requests_total', 'Requests taken, by signal and answer.', [
      'signal',
      'status',
    ]),
    queued: counter('queued_total', 'Requests acknowledged by the queue.', ['signal']),
    sent: counter('sent_total', 'Requests that the server has accepted.', ['signal']),
    rejected: counter('rejected_records_total', 'Records that the server set aside.', ['signal']),
    refused: counter('refused_total', 'Requests that the server refused for good.', ['status']),
    retries: counter('retries_total', 'Attempts that failed and are repeated.', ['reason']),
    dropped: counter('dropped_total', 'Acknowledged requests that were dropped, by reason.', [
      'reason',
    ]),
    faults: counter('faults_total', 'Faults of this process or its disk, by place.', ['place']),
  };
}

/**
 * The log and the metrics of a relay.
 *
 * @param level pino's level names
 * @param state read for every `/metrics`
 */
export function createRelayObserver(
  level: string,
  state: () => RelayState,
  destination: LogDestination = openLog(),
) {
  const log = pino({ level, base: null }, destination);
  const registry = new Registry();
  const metrics = declareMetrics(registry, state);
  const outages = outageLog<QueueWork>(log, WORKS_AGAIN);
  const events = {
    requestAnswered(signal: Signal, status: number): void {
      metrics.requests.inc({ signal, status: String(status) });
    },
    requestQueued(signal: Signal): void {
      metrics.queued.inc({ signal });
    },
    requestSent(signal: Signal): void {
      metrics.sent.inc({ signal });
    },
    recordsRejected(signal: Signal, count: number): void {
      metrics.rejected.inc({ signal }, count);
      log.warn({ signal, records: count }, 'the server set records aside');
    },
    requestRefused(status: number): void {
      metrics.refused.inc({ status: String(status) });
      log.warn({ status }, 'the server refused a request');
    },
    /** @param reason a status, or the code of an error */
    sendFailed(reason: string, retryMs: number): void {
      metrics.retries.inc({ reason });
      log.warn(
        { reason, retryMs: Math.round(retryMs) },
        'the server did not take a request; it will be sent again',
      );
    },
    serverDenies(status: number): void {
      log.error(
        { status },
        'the server refuses this relay: check SLUICE_URL and the agent key; queued requests are kept',
      );
    },
    serverAnswers(): void {
      log.info('the server takes requests again');
    },
    requestDropped(reason: DropReason): void {
      metrics.dropped.inc({ reason });
      log.error({ reason }, 'a queued request was dropped');
    },
    queueDamaged(bytes: number): void {
      metrics.dropped.inc({ reason: 'damaged' });
      log.error({ bytes }, 'a part of the queue cannot be read and was left out');
    },
    incompleteRecordDropped(bytes: number): void {
      log.info({ bytes }, 'a request that was not acknowledged was removed from the queue');
    },
    /** Two lines in the log, when it begins to fail and when it works again; each failure is counted. */
    queueFailed(work: QueueWork, error: unknown): void {
      metrics.faults.inc({ place: 'queue' });
      outages.fails(work, 'error', errorFacts(error), FAILS[work]);
    },
    queueWorked(work: QueueWork): void {
      outages.works(work);
    },
    requestFailed(error: unknown): void {
      metrics.faults.inc({ place: 'request' });
      log.error(errorFacts(error), 'request failed');
    },
    exposed(host: string): void {
      log.warn({ host }, 'everyone who reaches this address can send with the key of this relay');
    },
    stopping(reason: string): void {
      log.info({ reason }, 'stopping');
    },
    stopped(queueBytes: number): void {
      log.info({ queueBytes }, 'stopped');
    },
  };
  return { events, registry };
}

export type RelayEvents = ReturnType<typeof createRelayObserver>['events'];
