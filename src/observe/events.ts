/**
 * Everything that an operator may want to know, named in the past tense: one call writes the log line
 * and increments the counter. Called once per request or batch, never per row; never with step text,
 * keys or payloads. What fails again and again is logged when that begins and when it ends
 * (outages.ts); every failure is counted.
 */
import { type DestinationStream, type Logger, pino } from 'pino';

import type { RefusedSender } from '../model/refused-requests.ts';
import type { Severity, Snapshot } from '../model/rules.ts';
import type { CheckedOutcome } from '../model/run-check.ts';
import type { Rejection, Signal } from '../model/telemetry.ts';
import { alertEvents } from './alert-events.ts';
import { auditEvents } from './audit-events.ts';
import { blockEvents } from './block-events.ts';
import { errorFacts, type FailedRequest, framesOf, isConnectionError } from './error-facts.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { Outages } from './outages.ts';
import { readableLine } from './readable-line.ts';
import { replicaEvents } from './replica-events.ts';
import { ruleEvents } from './rule-events.ts';
import { traceEvents } from './trace-events.ts';

/** Bounds the label values, whatever the reasons are. */
const REASON_LENGTH_MAX = 64;
const MS_PER_SECOND = 1000;

export interface BatchFacts {
  readonly requests: number;
  readonly rows: number;
  readonly bytes: number;
  readonly elapsedMs: number;
}

export interface PassFacts {
  readonly evaluated: number;
  readonly undecided: number;
  readonly findings: number;
  readonly elapsedMs: number;
}

/** Concerns that may fail again and again, with the log line for the time when they work again. */
const WORKS_AGAIN = {
  database: 'the database can be reached again',
  store: 'telemetry is stored again',
  pass: 'runs are evaluated again',
  previews: 'previews work again',
  maintenance: 'maintenance works again',
  clock: "this machine's clock agrees with PostgreSQL's again",
  clock_reading: "PostgreSQL's clock is read again",
  backlog_count: 'waiting runs are counted again',
  key_use: 'last use of keys is stored again',
  rule_costs: 'matcher times of rules are stored again',
  key_changes: 'key changes are received immediately again',
  refused_requests: 'counts of refused requests are stored again',
  session_marks: 'session changes are applied again',
  alerts: 'alerts are read from the database again',
  assignment_mails: 'e-mails about assignments are read from the database again',
  replica: 'the read replica is used again',
  ready: '/ready answers 200 again',
  audit_heads: 'the last entries of audit logs are kept again',
  audit_log: 'audit logs have the entries that were kept',
} as const;

type Concern = keyof typeof WORKS_AGAIN;

/** Logs outages: one line at the beginning, one at the end. */
export interface OutageLog<Concern extends string> {
  readonly fails: (
    concern: Concern,
    level: 'warn' | 'error',
    facts: object,
    message: string,
  ) => void;
  readonly works: (concern: Concern) => void;
}

export function outageLog<Concern extends string>(
  log: Logger,
  worksAgain: Readonly<Record<Concern, string>>,
): OutageLog<Concern> {
  const outages = new Outages<Concern>();
  return {
    fails: (concern, level, facts, message) => {
      log[outages.fails(concern) ? level : 'debug'](facts, message);
    },
    works: (concern) => {
      const ended = outages.works(concern);
      if (ended !== null) log.info(ended, worksAgain[concern]);
    },
  };
}

const DATABASE_AWAY = 'the database cannot be reached';

function ingestEvents(log: Logger, metrics: Metrics, outages: OutageLog<Concern>) {
  return {
    requestAnswered(signal: Signal, status: number): void {
      metrics.requests.inc({ signal, status: String(status) });
    },
    /** @param reason a code of the error table */
    requestRefused(reason: string): void {
      metrics.refused.inc({ reason });
    },
    /** Requests without a known key, which no workspace is shown. Once an hour per sender. */
    senderRefused(sender: RefusedSender & { readonly keyPrefix: string | null }): void {
      log.warn(sender, 'telemetry refused: missing or unknown key');
    },
    refusalsUnrecorded(error: unknown): void {
      metrics.faults.inc({ place: 'refused_requests' });
      const message = 'counts of refused requests could not be stored; it will be retried';
      outages.fails('refused_requests', 'warn', errorFacts(error), message);
    },
    refusalsRecorded(): void {
      outages.works('refused_requests');
    },
    recordsRejected(signal: Signal, rejections: readonly Rejection[]): void {
      for (const { reason, count } of rejections) {
        metrics.rejected.inc({ signal, reason: reason.slice(0, REASON_LENGTH_MAX) }, count);
      }
      log.debug({ signal, rejections: rejections.length }, 'records rejected');
    },
    /** Decoding in JavaScript gives the same result, and takes more CPU time. */
    scannerFailed(error: unknown): void {
      const message = 'the scanner in WebAssembly cannot be made; bodies are decoded in JavaScript';
      log.warn(errorFacts(error), message);
    },
    /** Requests that were stored before: answered as the first was, and not stored again. */
    requestsResent(count: number): void {
      metrics.resends.inc(count);
    },
    /**
     * A request ended with an exception that is not in the error table.
     *
     * @param request its method, and the path of its route; `id` is in the answer
     */
    requestFailed(place: string, error: unknown, request: FailedRequest = {}): void {
      metrics.faults.inc({ place });
      const facts = { place, ...request, ...errorFacts(error) };
      if (isConnectionError(error)) outages.fails('database', 'error', facts, DATABASE_AWAY);
      else log.error({ ...facts, frames: framesOf(error) }, 'request failed');
    },
    /**
     * A request was answered 503.
     *
     * @param reason a code of the error table, or what had no room (errors.ts)
     */
    requestUnavailable(place: string, reason: string): void {
      metrics.unavailable.inc({ place, reason });
    },
    /** `/ready` was answered 503. */
    notReady(failing: readonly string[]): void {
      for (const reason of failing) metrics.unavailable.inc({ place: 'ready', reason });
      outages.fails('ready', 'warn', { failing }, '/ready answers 503');
    },
    ready(): void {
      outages.works('ready');
    },
  };
}

function storeEvents(log: Logger, metrics: Metrics, outages: OutageLog<Concern>) {
  return {
    inflightChanged(bytes: number): void {
      metrics.inflight.set(bytes);
    },
    batchCommitted(facts: BatchFacts): void {
      metrics.batches.inc({ outcome: 'committed' });
      metrics.rows.inc(facts.rows);
      metrics.bytes.inc(facts.bytes);
      metrics.batchSeconds.observe(facts.elapsedMs / MS_PER_SECOND);
      outages.works('store');
      log.debug(facts, 'batch committed');
    },
    batchFailed(requests: number, error: unknown): void {
      metrics.batches.inc({ outcome: 'failed' });
      const facts = { requests, ...errorFacts(error) };
      outages.fails('store', 'warn', facts, 'telemetry cannot be stored; it is answered 503');
    },
    requestUnstorable(error: unknown): void {
      const facts = errorFacts(error);
      metrics.unstorable.inc({ code: facts.code ?? 'none' });
      log.warn(facts, 'telemetry rejected by PostgreSQL');
    },
    connectionLost(error: unknown): void {
      metrics.faults.inc({ place: 'database' });
      const facts = { place: 'connection', ...errorFacts(error) };
      outages.fails('database', 'error', facts, DATABASE_AWAY);
    },
    connectionOpened(): void {
      outages.works('database');
    },
    /** The process of the embedded PostgreSQL is gone, and nobody here stopped it. */
    embeddedDied(pid: number): void {
      metrics.faults.inc({ place: 'embedded' });
      log.error({ pid }, 'the embedded PostgreSQL has died; it is started again');
    },
    /** @param facts.starts how often it was tried; `elapsedMs` since its death was seen */
    embeddedRestarted(facts: { pid: number; starts: number; elapsedMs: number }): void {
      log.info(facts, 'the embedded PostgreSQL runs again');
    },
    embeddedRestartFailed(start: number, error: unknown): void {
      log.error({ start, ...errorFacts(error) }, 'the embedded PostgreSQL did not start');
    },
    embeddedGivenUp(starts: number): void {
      log.fatal({ starts }, 'the embedded PostgreSQL does not start any more; the server stops');
    },
    partitionsChanged(created: readonly string[], dropped: readonly string[]): void {
      log.debug({ created, dropped }, 'partitions changed');
    },
    /** @param table a table's name, never a sender's text */
    outdatedDeleted(table: string, rows: number): void {
      metrics.retentionRows.inc({ table }, rows);
      log.info({ table, rows }, 'rows past retention deleted');
    },
    maintenanceFailed(error: unknown): void {
      metrics.faults.inc({ place: 'maintenance' });
      const message = 'maintenance failed; it will be retried';
      outages.fails('maintenance', 'error', errorFacts(error), message);
    },
    maintenanceWorked(): void {
      outages.works('maintenance');
    },
    /**
     * @param differenceMs how far this process's clock is ahead of PostgreSQL's
     * @param differs too far: one of them is wrong
     */
    clockCompared(differenceMs: number, differs: boolean): void {
      outages.works('clock_reading');
      metrics.clockDifference.set(differenceMs / MS_PER_SECOND);
      if (!differs) {
        outages.works('clock');
        return;
      }
      metrics.faults.inc({ place: 'clock' });
      const message =
        "this machine's clock differs from PostgreSQL's; /ready answers 503, and nothing is dropped";
      outages.fails('clock', 'error', { differenceMs }, message);
    },
    backlogCounted(runs: number, oldestSeconds: number): void {
      outages.works('backlog_count');
      metrics.waitingRuns.set(runs);
      metrics.oldestWait.set(oldestSeconds);
    },
    backlogUncounted(error: unknown): void {
      metrics.faults.inc({ place: 'backlog_count' });
      const message = 'the runs that wait for evaluation could not be counted; metrics are old';
      outages.fails('backlog_count', 'warn', errorFacts(error), message);
    },
    clockUnread(error: unknown): void {
      metrics.faults.inc({ place: 'clock_reading' });
      const message = "PostgreSQL's clock could not be read; the last reading is used";
      outages.fails('clock_reading', 'warn', errorFacts(error), message);
    },
    keyUseUnrecorded(error: unknown): void {
      metrics.faults.inc({ place: 'key_use' });
      const message = 'last use of keys could not be stored; it will be retried';
      outages.fails('key_use', 'warn', errorFacts(error), message);
    },
    keyUseRecorded(): void {
      outages.works('key_use');
    },
  };
}

function passEvents(log: Logger, metrics: Metrics, outages: OutageLog<Concern>) {
  return {
    passFinished(facts: PassFacts): void {
      metrics.passes.inc({ outcome: 'finished' });
      metrics.runs.inc({ outcome: 'evaluated' }, facts.evaluated);
      metrics.runs.inc({ outcome: 'undecided' }, facts.undecided);
      if (facts.evaluated + facts.undecided > 0) log.info(facts, 'runs evaluated');
    },
    findingsStored(severity: Severity, count: number): void {
      metrics.findings.inc({ severity }, count);
    },
    passFailed(error: unknown): void {
      metrics.passes.inc({ outcome: 'failed' });
      const message = 'evaluation failed; it will be retried at the next interval';
      outages.fails('pass', 'error', errorFacts(error), message);
    },
    /** The database took part in the pass again. */
    passWorked(): void {
      outages.works('pass');
    },
    previewFinished(runs: number, isWhole: boolean): void {
      log.info({ runs, isWhole }, 'a preview of rules finished');
    },
    /** It continues when the database can be reached. */
    previewFailed(error: unknown): void {
      metrics.faults.inc({ place: 'preview' });
      outages.fails('previews', 'warn', errorFacts(error), 'a preview cannot continue yet');
    },
    previewsWorked(): void {
      outages.works('previews');
    },
    matchThreadFailed(error: unknown): void {
      metrics.faults.inc({ place: 'match_thread' });
      log.error(errorFacts(error), 'an idle match thread failed; another takes its place');
    },
    /** @param why a message of this program, never customers' text; `passFinished` counts the run */
    runUndecided(why: string): void {
      log.warn({ why }, 'a run could not be evaluated; it will be retried');
    },
    /** @param why a message of this program, never customers' text */
    runsTriedApart(count: number, why: string): void {
      log.warn(
        { runs: count, why },
        'evaluating several runs failed; each will be retried on its own',
      );
    },
    runLost(): void {
      metrics.runs.inc({ outcome: 'lost' });
      log.warn('another process claimed a run before it was evaluated');
    },
    runChecked({ checked, isOverBudget, unreadTexts, unknownRoles }: CheckedOutcome): void {
      metrics.runsChecked.inc({ checked });
      metrics.unreadTexts.inc(unreadTexts);
      if (unknownRoles > 0) metrics.unknownRoles.inc();
      if (checked === 'nothing' && !isOverBudget) metrics.runsWithoutText.inc();
    },
    sessionMarksFailed(error: unknown): void {
      metrics.faults.inc({ place: 'session_marks' });
      const message = 'session changes could not be applied; they will be retried';
      outages.fails('session_marks', 'warn', errorFacts(error), message);
    },
    sessionMarksApplied(): void {
      outages.works('session_marks');
    },
    /**
     * A run's CPU time was used up; its findings so far are stored, with the number of unread
     * steps.
     */
    runOverBudget(): void {
      metrics.runsOverBudget.inc();
      log.warn(
        'a run used up its CPU time (RUN_CPU_BUDGET_MS); the rest of its text was not checked',
      );
    },
    /** Processes that ended without stopping. */
    zstdRecorded(): void {
      log.info('new blocks of telemetry are compressed with zstd: every process reads it');
    },
    deadProcessesFound(processes: number, runs: number): void {
      const message = 'a process that evaluated runs is dead; its runs are evaluated by the others';
      log.warn({ processes, runs }, message);
    },
    runsGivenUp(count: number): void {
      metrics.runs.inc({ outcome: 'evaluation_failed' }, count);
      log.error(
        { runs: count },
        'runs could not be evaluated after the last attempt: marked evaluation_failed',
      );
    },
  };
}

/** How trying to sign in ended. */
export type SignInOutcome = 'succeeded' | 'failed' | 'limited';

/** The account and the client's address of an event (OWASP ASVS 4.0, 7.1 and 7.2). */
export interface AccountFacts {
  /** the account's id; null if unknown. Never an e-mail address */
  readonly user: number | null;
  /** the client's network address */
  readonly address: string;
}

function peopleEvents(log: Logger, metrics: Metrics) {
  return {
    /** @param way `password`, `invitation`, `device` or a provider's name in the settings */
    signInTried(way: string, outcome: SignInOutcome, facts: AccountFacts): void {
      metrics.signIns.inc({ way, outcome });
      if (outcome === 'succeeded') log.info({ way, ...facts }, 'signed in');
      else log.warn({ way, outcome, ...facts }, 'sign-in refused');
    },
    signedOut(facts: AccountFacts): void {
      log.info(facts, 'signed out');
    },
    sessionsRevoked(sessions: number, facts: AccountFacts): void {
      log.info({ sessions, ...facts }, 'sessions revoked');
    },
    /** The password change has ended every session of the account. */
    passwordChanged(facts: AccountFacts): void {
      log.info(facts, 'password changed');
    },
  };
}

function lifecycleEvents(log: Logger, metrics: Metrics, outages: OutageLog<Concern>) {
  return {
    started(facts: Record<string, unknown>): void {
      log.info(facts, 'started');
    },
    stopping(reason: string): void {
      log.info({ reason }, 'stopping');
    },
    stopped(): void {
      log.info('stopped');
    },
    corpusLoaded({ version, date, identity }: Snapshot): void {
      metrics.corpus.set({ version, date, identity }, 1);
      log.debug({ version, date, identity }, 'rule corpus loaded');
    },
    corpusDiffers(error: unknown): void {
      metrics.faults.inc({ place: 'corpus' });
      log.error(errorFacts(error), 'the rule corpus on disk no longer matches its checksums');
    },
    corpusUnchecked(error: unknown): void {
      metrics.faults.inc({ place: 'corpus_check' });
      log.error(
        errorFacts(error),
        'the rule corpus on disk could not be checked; it will be retried',
      );
    },
    stopFailed(step: string, error: unknown): void {
      metrics.faults.inc({ place: 'stop' });
      log.error({ step, ...errorFacts(error) }, 'a shutdown step failed');
    },
    noted(message: string): void {
      log.debug(message);
    },
    warned(message: string): void {
      log.warn(message);
    },
    limiterUnavailable(error: unknown): void {
      metrics.faults.inc({ place: 'limiter' });
      metrics.limitsShared.set(0);
      log.warn(errorFacts(error), 'Redis does not respond; rate limits are counted per process');
    },
    limiterAnswered(): void {
      metrics.limitsShared.set(1);
      log.info('Redis responds again; rate limits are shared by all processes');
    },
    /** One request, while Redis is configured and does not answer. */
    countedHere(): void {
      metrics.countedHere.inc();
    },
    keyChangesUnheard(error: unknown): void {
      metrics.faults.inc({ place: 'key_changes' });
      const message = 'key changes are not received immediately; they take effect within 5 s';
      outages.fails('key_changes', 'warn', errorFacts(error), message);
    },
    keyChangesHeard(): void {
      outages.works('key_changes');
    },
  };
}

function createEvents(log: Logger, metrics: Metrics) {
  const outages = outageLog(log, WORKS_AGAIN);
  return {
    ...ingestEvents(log, metrics, outages),
    ...storeEvents(log, metrics, outages),
    ...blockEvents(log, metrics),
    ...passEvents(log, metrics, outages),
    ...peopleEvents(log, metrics),
    ...alertEvents(log, metrics, outages),
    ...auditEvents(log, metrics, outages),
    ...replicaEvents(metrics, outages),
    ...ruleEvents(metrics, outages),
    ...traceEvents(log),
    ...lifecycleEvents(log, metrics, outages),
  };
}

export type Events = ReturnType<typeof createEvents>;

/** Where log lines go, each whole and with its line end. */
export type LogDestination = DestinationStream;

/**
 * Opens standard error, so that standard output stays a command's answer. When it cannot be written (a
 * closed terminal, a full disk), lines are lost and the process continues. Lines are JSON, and readable in a
 * terminal.
 */
export function openLog(): LogDestination {
  const log = pino.destination({ dest: 2, sync: false });
  log.on('error', () => {});
  if (process.stderr.isTTY !== true) return log;
  return { write: (line) => log.write(readableLine(line)) };
}

export interface Observer {
  readonly events: Events;
  readonly metrics: Metrics;
}

/**
 * The one observer of a process.
 *
 * @param level pino's level names
 * @param destination where lines go
 */
export function createObserver(level: string, destination: LogDestination = openLog()): Observer {
  const log = pino({ level, base: null }, destination);
  const metrics = createMetrics();
  return { events: createEvents(log, metrics), metrics };
}
