/**
 * Stops in the reverse order of starting. Each step has a name and a time limit, and runs even if an
 * earlier one failed, because a skipped step leaves something open.
 *
 *   start ──add, add, add──► running ──run──► last step … first step
 *     └──run──► the next add ends the start ──► the same
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Events } from '../observe/events.ts';
import { withinLimit } from '../time-limit.ts';

/** Enough for work that touches nothing slower than a healthy database. */
const STEP_LIMIT_MS = 15_000;
/**
 * How long the stop waits for a start under way to reach its next step; creating a cluster, starting
 * PostgreSQL and migrating the schema are one step. After that its server is left running, and the
 * next start adopts it.
 */
const START_LIMIT_MS = 180_000;

interface StopStep {
  readonly name: string;
  readonly run: () => void | Promise<void>;
  readonly limitMs: number;
}

/** Thrown by a start that was stopped half-way; not a failure, and not reported. */
export class StartInterrupted extends Error {
  constructor() {
    super('stopped while starting');
    this.name = 'StartInterrupted';
  }
}

export class StopOrder {
  readonly #steps: StopStep[] = [];
  #starting: Promise<unknown> = Promise.resolve();
  #stopped: Promise<boolean> | null = null;

  get isStopping(): boolean {
    return this.#stopped !== null;
  }

  /** @throws what `start` throws; nothing is undone by that alone */
  async during<T>(start: () => Promise<T>): Promise<T> {
    const starting = start();
    this.#starting = starting.catch(() => {
      // The caller reports it; stopping only waits for the end.
    });
    return await starting;
  }

  /**
   * @param limitMs past this the step counts as failed and the next one begins
   * @throws {StartInterrupted} when stopping has begun; the step is registered all the same
   */
  add(name: string, run: StopStep['run'], limitMs: number = STEP_LIMIT_MS): void {
    this.#steps.push({ name, run, limitMs });
    if (this.isStopping) throw new StartInterrupted();
  }

  /** A start under way is waited for. @returns false when a step failed; it has been reported */
  run(events: Pick<Events, 'stopFailed'>): Promise<boolean> {
    this.#stopped ??= this.#runAll(events);
    return this.#stopped;
  }

  async #runAll(events: Pick<Events, 'stopFailed'>): Promise<boolean> {
    const attempt = async ({ name, run, limitMs }: StopStep): Promise<boolean> => {
      try {
        await withinLimit(Promise.resolve(run()), limitMs);
        return true;
      } catch (error) {
        events.stopFailed(name, error);
        return false;
      }
    };
    const start = async (): Promise<void> => void (await this.#starting);
    let clean = await attempt({ name: 'start', run: start, limitMs: START_LIMIT_MS });
    for (const step of this.#steps.reverse()) clean = (await attempt(step)) && clean;
    return clean;
  }
}

/**
 * SIGINT, SIGTERM, and SIGHUP of a terminal that is closed: the first one starts a clean stop, a second
 * one ends the process at once.
 */

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** The exit codes of shells for a signal: 128 plus its number. */
export const SIGNAL_EXIT_CODES: Readonly<Record<StopSignal, number>> = {
  SIGINT: 130,
  SIGTERM: 143,
  SIGHUP: 129,
};

const STOP_SIGNALS = Object.keys(SIGNAL_EXIT_CODES) as StopSignal[];

/**
 * Under `npm start` or `npx` one Ctrl-C arrives twice: from the terminal, and forwarded by npm. Only a
 * signal later than this counts as a second one.
 */
const SAME_SIGNAL_MS = 1000;

/** @returns stops listening, so that signals end the process again */
export function onStopSignal(onFirst: (signal: StopSignal) => void): () => void {
  let firstAtMs: number | null = null;
  const onSignal = (signal: StopSignal): void => {
    if (firstAtMs === null) {
      firstAtMs = performance.now();
      onFirst(signal);
    } else if (performance.now() - firstAtMs > SAME_SIGNAL_MS) {
      process.exit(SIGNAL_EXIT_CODES[signal]);
    }
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
  };
}

/**
 * The first step of a stop. Load balancers learn by `/ready` that this process stops; until they have,
 * it takes requests as before, and closes each connection with its answer, so that the next request
 * goes to another process.
 *
 *   ready ──stop──► not ready, for DRAIN_MS ──► no new connections
 */

/** More than the pause itself. */
const SLACK_MS = 5000;

interface Retirement {
  readonly check: () => Promise<void>;
  /** Resolves when load balancers know. @param retire has answers close their connections */
  readonly begin: (retire: () => void) => Promise<void>;
  /** most time that `begin` takes */
  readonly limitMs: number;
}

/** @param drainMs how long load balancers take to notice */
export function createRetirement(drainMs: number): Retirement {
  let isStopping = false;
  return {
    check: async () => {
      if (isStopping) throw new Error('the server is being stopped');
    },
    begin: async (retire) => {
      isStopping = true;
      retire();
      if (drainMs > 0) await pause(drainMs);
    },
    limitMs: drainMs + SLACK_MS,
  };
}
