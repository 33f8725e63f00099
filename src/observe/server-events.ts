/** Events of the server's start and stop, of people who sign in, and of alerts. */
import type { Logger } from 'pino';

import type {
  AlertFormat,
  DeliveryFailure,
  DeliveryKind,
  DeliveryOutcome,
} from '../model/alerts.ts';
import type { Snapshot } from '../model/rules.ts';
import { errorFacts } from './error-facts.ts';
import type { EventKinds } from './event-kinds.ts';

export type SignInOutcome = 'succeeded' | 'failed' | 'limited';

/** The account and the client's address of an event (OWASP ASVS 4.0, 7.1 and 7.2). */
interface AccountFacts {
  /** the account's id; null if unknown. Never an e-mail address */
  readonly user: number | null;
  readonly address: string;
}

interface Attempt {
  readonly outcome: DeliveryOutcome;
  readonly failure: DeliveryFailure | null;
  readonly status: number | null;
}

/** An alert names its destination by id: a URL may be a password. */
interface SentAlert extends Attempt {
  readonly destination: number;
  readonly format: AlertFormat;
  readonly kind: DeliveryKind;
}

export function serverEvents(log: Logger, kinds: EventKinds) {
  const { gauge, counted, summed, shown, said, fault, faults, outage } = kinds;
  const corpus = gauge(
    'corpus_info',
    '1, with the version, date and identity of the pinned rule corpus.',
    ['version', 'date', 'identity'],
  );
  const limitsShared = shown(
    'limits_shared',
    '1 while limits are counted in Redis, 0 while this process counts alone.',
  );
  const countedHere = summed(
    'limits_counted_here_total',
    'Requests counted apart because the shared count did not answer in time.',
  );
  const signIns = counted<[way: string, outcome: SignInOutcome]>(
    'sign_ins_total',
    'Attempts to sign in, by way and outcome.',
    'way',
    'outcome',
  );
  const alerts = counted<[format: string, outcome: DeliveryOutcome, failure: string]>(
    'alert_messages_total',
    'Attempts to send an alert, or an e-mail about an assignment, by format and outcome.',
    'format',
    'outcome',
    'failure',
  );
  const alertsPending = shown(
    'alert_pending_findings',
    'Findings in the database that wait to be sent as alerts, to all destinations.',
  );
  const alertsOldest = shown(
    'alert_oldest_pending_seconds',
    'How long the oldest of them has waited.',
  );
  const attempted = (format: string, what: string, sent: Attempt): void => {
    alerts(format, sent.outcome, sent.failure ?? 'none');
    if (sent.outcome === 'delivered') log.debug(sent, `${what} was delivered`);
    else if (sent.outcome === 'failed')
      log.warn(sent, `${what} was not delivered; it will be retried`);
    else log.error(sent, `${what} was not delivered and is not tried again`);
  };
  const limiterFailed = fault(
    'limiter',
    'Redis does not respond; rate limits are counted per process',
    'warn',
  );
  return {
    started: said<Record<string, unknown>>('info', 'started'),
    stopping(reason: string): void {
      log.info({ reason }, 'stopping');
    },
    stopped(): void {
      log.info('stopped');
    },
    stopFailed(step: string, error: unknown): void {
      faults.inc({ place: 'stop' });
      log.error({ step, ...errorFacts(error) }, 'a shutdown step failed');
    },
    noted(message: string): void {
      log.debug(message);
    },
    warned(message: string): void {
      log.warn(message);
    },
    corpusLoaded({ version, date, identity }: Snapshot): void {
      corpus.set({ version, date, identity }, 1);
      log.debug({ version, date, identity }, 'rule corpus loaded');
    },
    corpusDiffers: fault('corpus', 'the rule corpus on disk no longer matches its checksums'),
    corpusUnchecked: fault(
      'corpus_check',
      'the rule corpus on disk could not be checked; it will be retried',
    ),
    limiterUnavailable(error: unknown): void {
      limitsShared(0);
      limiterFailed(error);
    },
    limiterAnswered(): void {
      limitsShared(1);
      log.info('Redis responds again; rate limits are shared by all processes');
    },
    /** One request, while Redis is configured and does not answer. */
    countedHere: (): void => countedHere(1),
    /** @param way `password`, `invitation`, `device` or a provider's name in the settings */
    signInTried(way: string, outcome: SignInOutcome, facts: AccountFacts): void {
      signIns(way, outcome);
      if (outcome === 'succeeded') log.info({ way, ...facts }, 'signed in');
      else log.warn({ way, outcome, ...facts }, 'sign-in refused');
    },
    signedOut: said<AccountFacts>('info', 'signed out'),
    sessionsRevoked(sessions: number, facts: AccountFacts): void {
      log.info({ sessions, ...facts }, 'sessions revoked');
    },
    /** The password change has ended every session of the account. */
    passwordChanged: said<AccountFacts>('info', 'password changed'),
    alertSent(sent: SentAlert): void {
      attempted(sent.format, 'an alert', sent);
    },
    assignmentMailSent(sent: Attempt & { readonly workspace: number }): void {
      attempted('assignment', 'an e-mail about an assignment', sent);
    },
    /** Queued e-mails about assignments cannot be read or written. */
    ...outage('assignmentMailsFailed', 'assignmentMailsWork', {
      place: 'alerts',
      fails: 'e-mails about assignments cannot be read from the database; it will be retried',
      works: 'e-mails about assignments are read from the database again',
    }),
    /** A message could not be made from its findings: a defect of this program. */
    alertNotMade: fault('alerts', 'an alert could not be made'),
    alertsCounted({ pending, oldestSeconds }: { pending: number; oldestSeconds: number }): void {
      alertsPending(pending);
      alertsOldest(oldestSeconds);
    },
    /** The outbox cannot be read or written. */
    ...outage('alertsFailed', 'alertsWork', {
      place: 'alerts',
      fails: 'alerts cannot be read from the database; it will be retried',
      works: 'alerts are read from the database again',
    }),
  };
}
