/**
 * Decodes in a process of its own the bodies that would block the event loop: bodies above 128 KiB
 * that cannot be scanned, and bodies with a record above 256 KiB. One at a time, workspaces in turn.
 *
 *   decode ─► waits (5 s, 32 bodies) ─► sent to the process ─► decoded (60 s) ─► rows
 *               503                       started if there is none ─► ended when idle for 30 s
 *
 * The memory of that process is limited: a body that needs more ends it and is refused; the next
 * body starts a new one. The result is sent in parts (`decode-messages.ts`).
 */
import { fileURLToPath } from 'node:url';

import type { TelemetryPlacement } from '../db/placement.ts';
import { SluiceError } from '../errors.ts';
import { LimitedProcess, OutOfMemoryError } from '../limited-process/limited-process.ts';
import type { TelemetryTable } from '../model/columns.ts';
import type { Signal } from '../model/telemetry.ts';
import { withinLimit } from '../time-limit.ts';
import { WorkspaceQueue } from '../workspace-queue.ts';
import type { FromDecodeProcess, StoredLists, ToDecodeProcess } from './decode-messages.ts';
import type { ReadyResult, RequestContext } from './plain-encoder.ts';

/** The built file, even when a test runs this file from source (decision 0014). */
const ENTRY = fileURLToPath(new URL('../../dist/ingest/decode-process.js', import.meta.url));
const MIB = 1024 * 1024;
const NO_RELEASE = (): void => {};

export interface LargeBodiesSettings {
  /** most bodies that wait; beyond that, the workspace with the most is refused first */
  readonly waitingMax: number;
  /** how long a body waits before it is refused */
  readonly waitMs: number;
  /** time limit for decoding a body; the slowest known body, 64 MiB of keys, takes 9 s */
  readonly decodeMs: number;
  /** limit of the process's V8 heap, in MiB */
  readonly heapMib: number;
  /** the process ends after this time without a body, to free its memory */
  readonly idleMs: number;
}

const SETTINGS: LargeBodiesSettings = {
  waitingMax: 32,
  waitMs: 5_000,
  decodeMs: 60_000,
  heapMib: 2048,
  idleMs: 30_000,
};

interface Waiter {
  readonly begin: () => void;
  readonly refuse: () => void;
}

export class LargeBodies {
  readonly #settings: LargeBodiesSettings;
  readonly #placement: TelemetryPlacement;
  readonly #bodies = new WorkspaceQueue<Waiter>();
  #isClosed = false;
  readonly #process: LimitedProcess<ToDecodeProcess, FromDecodeProcess>;
  #idle: NodeJS.Timeout | undefined;

  /** @param placement where the rows are to be stored */
  constructor(
    settings: Partial<LargeBodiesSettings> = {},
    placement: TelemetryPlacement = 'local',
  ) {
    this.#settings = { ...SETTINGS, ...settings };
    this.#placement = placement;
    this.#process = new LimitedProcess(ENTRY, this.#settings.heapMib);
  }

  /** Whether a process is running. */
  get isRunning(): boolean {
    return this.#process.isRunning;
  }

  /**
   * Decodes a body.
   *
   * @param body must not change until the promise settles
   * @throws {SluiceError} `overloaded`, `shutting_down`, or `body_too_large` when the body holds
   *   too much or takes too much time or memory; any other error is not the body's fault
   */
  async decode(signal: Signal, body: Buffer, context: RequestContext): Promise<ReadyResult> {
    await this.#turn(context.workspaceId);
    clearTimeout(this.#idle);
    const { decodeMs } = this.#settings;
    const endsAtMs = performance.now() + decodeMs;
    try {
      return await withinLimit(this.#decode(signal, body, context), decodeMs);
    } catch (error) {
      if (error instanceof SluiceError) throw error;
      // The process has ended or is still busy with this body.
      await this.#process.end();
      if (performance.now() >= endsAtMs) throw tooCostly('time', error);
      throw error instanceof OutOfMemoryError ? tooCostly('memory', error) : error;
    } finally {
      this.#next();
    }
  }

  /** Refuses waiting and new bodies, and ends the process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    await this.#process.end();
  }

  /** Waits until no other body is being decoded. */
  async #turn(workspaceId: number): Promise<void> {
    if (this.#isClosed) throw new SluiceError('shutting_down', 'The server is shutting down.');
    const { waitingMax, waitMs } = this.#settings;
    if (this.#bodies.size >= waitingMax) {
      const other = this.#bodies.removeForOther(workspaceId);
      if (other === null) throw tooManyWait();
      other.refuse();
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#bodies.remove(workspaceId, waiter);
        waiter.refuse();
      }, waitMs);
      const waiter = {
        begin: () => {
          clearTimeout(timer);
          resolve();
        },
        refuse: () => {
          clearTimeout(timer);
          reject(tooManyWait());
        },
      };
      this.#bodies.add(workspaceId, waiter);
      this.#bodies.begin()?.begin();
    });
  }

  #next(): void {
    this.#bodies.end();
    this.#bodies.begin()?.begin();
    if (this.#bodies.isIdle) {
      this.#idle = setTimeout(() => void this.#process.end(), this.#settings.idleMs).unref();
    }
  }

  async #decode(signal: Signal, body: Buffer, context: RequestContext): Promise<ReadyResult> {
    const { workspaceId, arrivedAtMs, logRuns } = context;
    const placement = this.#placement;
    const order = { kind: 'decode', signal, workspaceId, arrivedAtMs, placement } as const;
    let { message } = await this.#request(order, body);
    for (;;) {
      switch (message.kind) {
        case 'marks': {
          const marks = logRuns.marksOf(message.records, workspaceId);
          ({ message } = await this.#request({ kind: 'marks', marks }));
          break;
        }
        case 'runs': {
          const runs = logRuns.runsOf(message.records, workspaceId);
          ({ message } = await this.#request({ kind: 'runs', runs }));
          break;
        }
        case 'rows':
          return { ok: true, request: await this.#take(message, signal, context) };
        case 'undecodable':
          return { ok: false, message: message.message, path: message.path };
        case 'refused':
          throw new SluiceError(message.code, message.message);
        default:
          throw new Error(`unexpected message from the decode process: ${message.kind}`);
      }
    }
  }

  /** Assembles the result from its parts. */
  async #take(
    { rejections, replacedCharacters, rows, bytes }: Extract<FromDecodeProcess, { kind: 'rows' }>,
    signal: Signal,
    { workspaceId, arrivedAtMs }: RequestContext,
  ) {
    const chunks = new Map<TelemetryTable, Buffer>();
    const lists = await this.#lists(chunks);
    const release = NO_RELEASE;
    const encoded = { workspaceId, arrivedAtMs, chunks, ...lists, rows, bytes, release };
    return { signal, rejections, replacedCharacters, encoded };
  }

  async #lists(chunks: Map<TelemetryTable, Buffer>): Promise<StoredLists> {
    const resources: StoredLists['resources'][number][] = [];
    const metrics: StoredLists['metrics'][number][] = [];
    const runs: StoredLists['runs'][number][] = [];
    const sessionMarks: StoredLists['sessionMarks'][number][] = [];
    for (;;) {
      const { message, bytes } = await this.#request({ kind: 'more' });
      if (message.kind === 'end') return { resources, metrics, runs, sessionMarks };
      if (message.kind === 'chunk') chunks.set(message.table, bytes);
      if (message.kind !== 'list') continue;
      resources.push(...message.lists.resources);
      metrics.push(...message.lists.metrics);
      runs.push(...message.lists.runs);
      sessionMarks.push(...message.lists.sessionMarks);
    }
  }

  /** Sends a message and waits for the reply. */
  async #request(message: ToDecodeProcess, body?: Buffer) {
    if (this.#isClosed) throw new SluiceError('shutting_down', 'The server is shutting down.');
    return await this.#process.request(message, body);
  }
}

function tooManyWait(): SluiceError {
  return new SluiceError('overloaded', 'Too many large requests are waiting. Try again later.', {
    shortage: 'large_bodies',
  });
}

/** Bodies above this use a second process, so that smaller ones wait less than a second. */
const GIANT_BYTES = 4 * MIB;

/** Two processes: for large bodies, and for giant ones. */
export function createLargeBodies(
  placement: TelemetryPlacement,
): Pick<LargeBodies, 'decode' | 'close'> {
  const large = new LargeBodies({}, placement);
  const giant = new LargeBodies({}, placement);
  return {
    decode: (signal, body, context) =>
      (body.length > GIANT_BYTES ? giant : large).decode(signal, body, context),
    close: async () => {
      await Promise.all([large.close(), giant.close()]);
    },
  };
}

/** Not retryable: the same body would take as much again. */
function tooCostly(what: 'time' | 'memory', cause: unknown): SluiceError {
  const message = `Decoding the body takes too much ${what}; send smaller batches.`;
  return new SluiceError('body_too_large', message, { cause });
}
