/** Events of alerts. They name destinations by their id: a URL may be a password. */
import type { Logger } from 'pino';

import type {
  AlertFormat,
  DeliveryFailure,
  DeliveryKind,
  DeliveryOutcome,
} from '../model/alerts.ts';
import { errorFacts } from './error-facts.ts';
import type { Metrics } from './metrics.ts';

export interface SentAlert {
  /** its id */
  readonly destination: number;
  readonly format: AlertFormat;
  readonly kind: DeliveryKind;
  readonly outcome: DeliveryOutcome;
  readonly failure: DeliveryFailure | null;
  /** of the answer */
  readonly status: number | null;
}

/** One attempt to send an e-mail about an assignment. */
export interface SentAssignmentMail extends Pick<SentAlert, 'outcome' | 'failure' | 'status'> {
  /** its id */
  readonly workspace: number;
}

type AlertConcern = 'alerts' | 'assignment_mails';

/** Logs the beginning and the end of an outage (events.ts). */
interface AlertOutages {
  readonly fails: (concern: AlertConcern, level: 'warn', facts: object, message: string) => void;
  readonly works: (concern: AlertConcern) => void;
}

export function alertEvents(log: Logger, metrics: Metrics, outages: AlertOutages) {
  return {
    /** One attempt to send a message. */
    alertSent(sent: SentAlert): void {
      const { format, outcome, failure } = sent;
      metrics.alerts.inc({ format, outcome, failure: failure ?? 'none' });
      if (outcome === 'delivered') log.debug(sent, 'alert delivered');
      else if (outcome === 'failed')
        log.warn(sent, 'an alert was not delivered; it will be retried');
      else log.error(sent, 'an alert was not delivered and is not tried again');
    },
    assignmentMailSent(sent: SentAssignmentMail): void {
      const { outcome, failure } = sent;
      metrics.alerts.inc({ format: 'assignment', outcome, failure: failure ?? 'none' });
      if (outcome === 'delivered') log.debug(sent, 'e-mail about an assignment delivered');
      else if (outcome === 'failed')
        log.warn(sent, 'an e-mail about an assignment was not delivered; it will be retried');
      else
        log.error(sent, 'an e-mail about an assignment was not delivered and is not tried again');
    },
    /** Queued e-mails about assignments cannot be read or written. */
    assignmentMailsFailed(error: unknown): void {
      metrics.faults.inc({ place: 'alerts' });
      const message =
        'e-mails about assignments cannot be read from the database; it will be retried';
      outages.fails('assignment_mails', 'warn', errorFacts(error), message);
    },
    assignmentMailsWork(): void {
      outages.works('assignment_mails');
    },
    /** A message could not be made from its findings: a defect of this program. */
    alertNotMade(error: unknown): void {
      metrics.faults.inc({ place: 'alerts' });
      log.error(errorFacts(error), 'an alert could not be made');
    },
    alertsCounted({ pending, oldestSeconds }: { pending: number; oldestSeconds: number }): void {
      metrics.alertsPending.set(pending);
      metrics.alertsOldest.set(oldestSeconds);
    },
    /** The outbox cannot be read or written. */
    alertsFailed(error: unknown): void {
      metrics.faults.inc({ place: 'alerts' });
      const message = 'alerts cannot be read from the database; it will be retried';
      outages.fails('alerts', 'warn', errorFacts(error), message);
    },
    alertsWork(): void {
      outages.works('alerts');
    },
  };
}
