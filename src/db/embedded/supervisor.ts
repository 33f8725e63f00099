/**
 * Starts the embedded server again when its process has died (killed, out of memory, a crash).
 *
 *   running ──process gone──► restart: at once, then after 0.5 s, 1 s, 2 s … ──► running
 *                                │ RESTARTS_MAX in a row
 *                                └──► given up: onGivenUp, once
 *
 * At the same address, because every connection of this program is opened to it. Clients get errors
 * meanwhile. A server that hangs is not restarted: whether it will recover cannot be known from outside.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Events } from '../../observe/events.ts';
import { processIdentity } from './process.ts';
import { POLL_MS, type Server } from './server.ts';

/** Most starts in a row; with the pauses between them they take a minute. */
const RESTARTS_MAX = 8;
const TIMING: SupervisorTiming = { watchMs: 500, pauseMs: 500 };
const PAUSE_MAX_MS = 30_000;
/** A server that has run for this long is a success: the next death counts as the first. */
const STABLE_MS = 10_000;

export type SupervisorEvents = Pick<
  Events,
  'embeddedDied' | 'embeddedRestarted' | 'embeddedRestartFailed' | 'embeddedGivenUp'
>;

interface SupervisorTiming {
  readonly watchMs: number;
  /** before the second start; doubled for each further one */
  readonly pauseMs: number;
}

export class Supervisor {
  readonly #start: (signal: AbortSignal) => Promise<Server>;
  readonly #events: SupervisorEvents;
  readonly #onGivenUp: () => void;
  readonly #timing: SupervisorTiming;
  readonly #stopping = new AbortController();
  readonly #done: Promise<void>;
  #restarts = 0;

  /** @param start starts it again, or finds the one that another process has started */
  constructor(
    server: Server,
    start: (signal: AbortSignal) => Promise<Server>,
    events: SupervisorEvents,
    onGivenUp: () => void,
    timing: SupervisorTiming = TIMING,
  ) {
    this.#start = start;
    this.#events = events;
    this.#onGivenUp = onGivenUp;
    this.#timing = timing;
    this.#done = this.#supervise(server).catch(() => {
      // Stopped.
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#done;
  }

  async #supervise(first: Server): Promise<void> {
    let server: Server | null = first;
    while (server !== null) {
      const startedAt = performance.now();
      await this.#untilGone(server);
      if (performance.now() - startedAt > STABLE_MS) this.#restarts = 0;
      this.#events.embeddedDied(server.pid);
      server = await this.#restart();
    }
    this.#onGivenUp();
  }

  async #untilGone({ pid }: Server): Promise<void> {
    const identity = await processIdentity(pid);
    while (identity !== null && (await processIdentity(pid)) === identity) {
      await sleep(this.#timing.watchMs, undefined, { signal: this.#stopping.signal, ref: false });
    }
    this.#stopping.signal.throwIfAborted();
  }

  async #restart(): Promise<Server | null> {
    const diedAt = performance.now();
    for (;;) {
      if (this.#restarts === RESTARTS_MAX) {
        this.#events.embeddedGivenUp(this.#restarts);
        return null;
      }
      const pauseMs =
        this.#restarts === 0 ? POLL_MS : this.#timing.pauseMs * 2 ** (this.#restarts - 1);
      const { signal } = this.#stopping;
      await sleep(Math.min(pauseMs, PAUSE_MAX_MS), undefined, { signal });
      this.#restarts += 1;
      try {
        const server = await this.#start(signal);
        const elapsedMs = Math.round(performance.now() - diedAt);
        this.#events.embeddedRestarted({ pid: server.pid, starts: this.#restarts, elapsedMs });
        return server;
      } catch (error) {
        signal.throwIfAborted();
        this.#events.embeddedRestartFailed(this.#restarts, error);
      }
    }
  }
}
