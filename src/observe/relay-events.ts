/** Events of `sluice relay`. Never with a key, a payload or a message of the server. */
import { pino } from 'pino';
import { Gauge } from 'prom-client';

import type { Signal } from '../model/telemetry.ts';
import { eventKinds } from './event-kinds.ts';
import { type LogDestination, openLog } from './events.ts';

export interface RelayState {
  readonly queueBytes: number;
  readonly queueBytesMax: number;
  /** age of the oldest request in the queue; 0 when it is empty */
  readonly oldestSeconds: number;
  /** `up`, `unavailable`, or `denied` when the key or the URL is wrong */
  readonly server: 'up' | 'unavailable' | 'denied';
}

/** @param state read for every `/metrics` */
export function createRelayObserver(
  level: string,
  state: () => RelayState,
  destination: LogDestination = openLog(),
) {
  const log = pino({ level, base: null }, destination);
  const { registry, counter, counted, fault, outage } = eventKinds(
    log,
    'sluice_relay',
    'Faults of this process or its disk, by place.',
  );
  const read = (name: string, help: string, of: (present: RelayState) => number) =>
    new Gauge({
      name: `sluice_relay_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(of(state()));
      },
    });
  read('queue_bytes', 'Bytes that wait to be sent.', ({ queueBytes }) => queueBytes);
  read('queue_bytes_max', 'Most bytes of the queue.', ({ queueBytesMax }) => queueBytesMax);
  read(
    'queue_oldest_seconds',
    'Age of the oldest request that waits to be sent.',
    ({ oldestSeconds }) => oldestSeconds,
  );
  read('server_up', '1 unless the server was unavailable or refused the key.', ({ server }) =>
    server === 'up' ? 1 : 0,
  );
  const rejected = counter('rejected_records_total', 'Records that the server set aside.', [
    'signal',
  ]);
  const refused = counted<[status: number]>(
    'refused_total',
    'Requests that the server refused for good.',
    'status',
  );
  const retries = counted<[reason: string]>(
    'retries_total',
    'Attempts that failed and are repeated.',
    'reason',
  );
  const dropped = counted<['refused' | 'expired' | 'damaged']>(
    'dropped_total',
    'Acknowledged requests that were dropped, by reason.',
    'reason',
  );
  const events = {
    requestAnswered: counted<[signal: Signal, status: number]>(
      'requests_total',
      'Requests taken, by signal and answer.',
      'signal',
      'status',
    ),
    requestQueued: counted<[signal: Signal]>(
      'queued_total',
      'Requests acknowledged by the queue.',
      'signal',
    ),
    requestSent: counted<[signal: Signal]>(
      'sent_total',
      'Requests that the server has accepted.',
      'signal',
    ),
    recordsRejected(signal: Signal, count: number): void {
      rejected.inc({ signal }, count);
      log.warn({ signal, records: count }, 'the server set records aside');
    },
    requestRefused(status: number): void {
      refused(status);
      log.warn({ status }, 'the server refused a request');
    },
    /** @param reason a status, or the code of an error */
    sendFailed(reason: string, retryMs: number): void {
      retries(reason);
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
    requestDropped(reason: 'refused' | 'expired'): void {
      dropped(reason);
      log.error({ reason }, 'a queued request was dropped');
    },
    queueDamaged(bytes: number): void {
      dropped('damaged');
      log.error({ bytes }, 'a part of the queue cannot be read and was left out');
    },
    incompleteRecordDropped(bytes: number): void {
      log.info({ bytes }, 'a request that was not acknowledged was removed from the queue');
    },
    ...outage('queueUnwritten', 'queueWritten', {
      place: 'queue',
      level: 'error',
      fails: 'the queue cannot be written',
      works: 'the queue can be written again',
    }),
    ...outage('queueUnread', 'queueRead', {
      place: 'queue',
      level: 'error',
      fails: 'the queue cannot be read',
      works: 'the queue can be read again',
    }),
    ...outage('sentUnremoved', 'sentRemoved', {
      place: 'queue',
      level: 'error',
      fails: 'what was sent cannot be removed from the queue',
      works: 'what was sent can be removed from the queue again',
    }),
    requestFailed: fault('request', 'request failed'),
    exposed(host: string): void {
      log.warn({ host }, 'everyone who reaches this address can send with the key of this relay');
    },
    stopping(reason: string): void {
      log.info({ reason }, 'stopping');
    },
    stopped: (queueBytes: number): void => log.info({ queueBytes }, 'stopped'),
  };
  return { events, registry };
}

export type RelayEvents = ReturnType<typeof createRelayObserver>['events'];
