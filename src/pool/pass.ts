/**
 * The pass: lanes that have due runs evaluated on worker threads, many at a time.
 *
 *   turn (every interval) ──► idle lanes open ──► next task ──► evaluate ──► settle ─┐
 *                                  │                 ▲───────────────────────────────┘
 *                                  └ nothing due: the lane closes
 *
 * Lanes share the runs claimed (claims.ts) and take them task by task (lane.ts): each thread has one lane
 * for quick tasks and one for long runs, and the spare thread has one for runs that go alone. So no run
 * waits behind a long one. What was claimed is always evaluated, released, requeued, or left to its
 * lease when the database is away. Any number of processes may do this over one database.
 */
import type { Database } from '../db/database.ts';
import { type ClaimedRun, renewLeases } from '../db/runs/evaluation-queue.ts';
import type { RunTimes } from '../db/runs/run-times.ts';
import { type Rule, SEVERITIES, type Snapshot } from '../model/rules.ts';
import type { Events } from '../observe/events.ts';
import type { PassFacts } from '../observe/pass-events.ts';
import { Claims } from './claims.ts';
import { Heartbeat, type HeartbeatTiming } from './heartbeat.ts';
import { Lane, type LaneTiming, type Settled } from './lane.ts';
import type { MeteredRule } from './rule-meter.ts';
import type { TaskPace } from './tasks.ts';
import type { Workers } from './workers.ts';

const TIMING: PassTiming = {
  renewMs: 60_000,
  stalledMaxMs: 2 * 60_000,
  watchMs: 5000,
  stopWithinMs: 10_000,
  beatMs: 3000,
  judgesAfterMs: 6000,
};

export interface PassTiming extends LaneTiming, HeartbeatTiming {
  /** how often leases are renewed; a fifth of their duration (`evaluation-queue.ts`) */
  readonly renewMs: number;
  /** how long a stopping process waits for the runs under way before it gives them back */
  readonly stopWithinMs: number;
}

export interface PassSettings extends RunTimes {
  readonly intervalMs: number;
}

export interface PassDependencies {
  readonly database: Database;
  readonly workers: Pick<Workers, 'threads' | 'spare'>;
  readonly snapshot: Snapshot;
  readonly rules: readonly Rule[];
  /** receives what matching took, rule by rule */
  readonly onCosts?: (costs: readonly MeteredRule[]) => void;
  /** receives the codec of new blocks, every few seconds */
  readonly onCodec?: (codec: number) => void;
  readonly events: Pick<
    Events,
    | 'passFinished'
    | 'passFailed'
    | 'passWorked'
    | 'runUndecided'
    | 'runReached'
    | 'runLost'
    | 'runChecked'
    | 'runOverBudget'
    | 'runsGivenUp'
    | 'deadProcessesFound'
    | 'zstdRecorded'
    | 'runsTriedApart'
    | 'blockUnreadable'
    | 'runsPacked'
    | 'runsNotPacked'
    | 'toolsRefused'
    | 'sessionMarksFailed'
    | 'sessionMarksApplied'
    | 'findingsStored'
  >;
}

const freshTally = () => ({ evaluated: 0, findings: 0, since: performance.now() });

export class Pass {
  readonly #deps: PassDependencies;
  readonly #settings: PassSettings;
  readonly #timing: PassTiming;
  readonly #claims: Claims;
  readonly #heartbeat: Heartbeat;
  readonly #lanes: readonly Lane[];
  readonly #working = new Map<Lane, Promise<void>>();
  #turns: NodeJS.Timeout | null = null;
  #renewals: NodeJS.Timeout | null = null;
  #stopping = false;
  #tally = freshTally();

  /** @param timing other than the service's, for tests */
  constructor(deps: PassDependencies, settings: PassSettings, timing: PassTiming = TIMING) {
    const { events } = deps;
    const { threads, spare } = deps.workers;
    this.#deps = deps;
    this.#settings = settings;
    this.#timing = timing;
    const heartbeat = new Heartbeat(deps.database, events, timing, deps.onCodec);
    this.#heartbeat = heartbeat;
    const claims = new Claims(
      {
        ...deps,
        heartbeat,
        threads: threads.length,
        underWay: () => this.#runsUnderWay,
        onWaiting: (pace) => this.#openLanes(pace),
      },
      settings,
    );
    this.#claims = claims;
    const onOutcome = this.#count.bind(this);
    const { onCosts = () => {} } = deps;
    const shared = { claims, timing, events, onOutcome, onCosts };
    this.#lanes = [
      ...threads.flatMap((thread) => [
        new Lane({ ...shared, thread, pace: 'quick' }),
        new Lane({ ...shared, thread, pace: 'long' }),
      ]),
      new Lane({ ...shared, thread: spare, pace: 'apart' }),
    ];
  }

  /**
   * Registers this process, before `start`: others then know that it lives, and what it reads.
   *
   * @throws {OperatorError} when it cannot read the blocks of this database
   */
  async register(): Promise<void> {
    await this.#heartbeat.isHeard();
    this.#heartbeat.start();
  }

  /** Begins: now, and at every interval for the lanes that are idle then. */
  start(): void {
    const turn = (): void => {
      this.#claims.open();
      this.#openLanes();
      this.#report();
    };
    turn();
    this.#turns = setInterval(turn, this.#settings.intervalMs);
  }

  /**
   * Claims nothing new and waits for the runs under way, not longer than `stopWithinMs`: then their
   * workers are ended. Undecided runs are requeued without having lost an attempt.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#turns !== null) clearInterval(this.#turns);
    this.#claims.close();
    const deadline = setTimeout(() => {
      const busy = this.#lanes.filter(({ runs }) => runs.length > 0);
      for (const lane of busy) lane.expectStop();
      for (const thread of new Set(busy.map((lane) => lane.thread))) thread.end();
    }, this.#timing.stopWithinMs);
    await this.#drain();
    clearTimeout(deadline);
  }

  /**
   * The `pass` probe: rejects while the database refuses the pass, to claim or to store. Long runs
   * do not fail it; a worker that dies is replaced, logged and counted, and costs its run an attempt.
   */
  async check(): Promise<void> {
    if (this.#claims.failure !== null) throw this.#claims.failure;
  }

  /**
   * Evaluates until nothing is due; not beside `start`.
   *
   * @throws the database's error when it became unreachable meanwhile
   */
  async runOnce(): Promise<PassFacts> {
    this.#tally = freshTally();
    this.#claims.takeReleased();
    this.#claims.open();
    this.#openLanes();
    await this.#drain();
    if (this.#claims.failure !== null) throw this.#claims.failure;
    // A run may have failed for the last time after the last claim had looked.
    await this.#claims.giveUp();
    return this.#report();
  }

  #report(): PassFacts {
    const { since, evaluated, findings } = this.#tally;
    this.#tally = freshTally();
    const undecided = this.#claims.takeReleased();
    const elapsedMs = Math.round(performance.now() - since);
    const facts = { evaluated, undecided, findings, elapsedMs };
    this.#deps.events.passFinished(facts);
    return facts;
  }

  /** @param pace takes only tasks of this pace; every pace by default */
  #openLanes(pace?: TaskPace): void {
    if (this.#stopping || !this.#claims.isOpen) return;
    this.#heartbeat.start();
    this.#renewals ??= setInterval(() => void this.#renew(), this.#timing.renewMs);
    for (const lane of this.#lanes) {
      if (pace !== undefined && lane.pace !== pace) continue;
      lane.wake();
      if (!this.#working.has(lane)) this.#working.set(lane, this.#work(lane));
    }
  }

  async #work(lane: Lane): Promise<void> {
    await lane.work();
    this.#working.delete(lane);
    // The lane was already closing when it was woken.
    if (lane.isWoken) this.#openLanes(lane.pace);
  }

  /** Waits for every lane to close, then requeues what none of them has begun. */
  async #drain(): Promise<void> {
    do {
      await Promise.all(this.#working.values());
      // A claim may be under way when no lane is, and opens lanes for what it finds.
      await this.#claims.settled();
    } while (this.#working.size > 0);
    if (this.#renewals !== null) clearInterval(this.#renewals);
    this.#renewals = null;
    await this.#claims.requeueWaiting();
    await this.#heartbeat.stop();
  }

  #count(outcome: Settled): void {
    const { events } = this.#deps;
    if (outcome.kind === 'lost') {
      events.runLost();
      return;
    }
    this.#tally.evaluated += 1;
    this.#tally.findings += outcome.findings.length;
    // Late steps are no further run.
    if (outcome.isLate !== true) events.runChecked(outcome);
    if (outcome.isOverBudget) events.runOverBudget();
    for (const severity of SEVERITIES) {
      const count = outcome.findings.filter((one) => one === severity).length;
      if (count > 0) events.findingsStored(severity, count);
    }
  }

  get #runsUnderWay(): ClaimedRun[] {
    return this.#lanes.flatMap(({ runs }) => runs);
  }

  /** From here and not from the workers: matching keeps their threads from any timer. */
  async #renew(): Promise<void> {
    const runs = [...this.#claims.waiting, ...this.#runsUnderWay];
    if (runs.length === 0) return;
    await renewLeases(this.#deps.database, runs).catch((error: unknown) =>
      this.#claims.fail(error),
    );
  }
}
