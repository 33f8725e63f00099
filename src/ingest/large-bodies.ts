/**
 * Decodes in processes the bodies that would block the event loop: bodies above 128 KiB that cannot
 * be scanned, and bodies with a record above 256 KiB. Workspaces take turns, and each uses one
 * process at a time, so that a slow body of one does not delay the bodies of another.
 *
 *   decode ─► waits (5 s, 32 bodies) ─► looked up ─► decoded by a process ─► lines
 *               503                     └─► stored already: its receipt
 *
 * If nobody awaits the answer any more, because the client has left or was answered in the meantime,
 * a waiting body is dropped, and a running body's process is ended as soon as another workspace needs
 * it.
 */
import { fileURLToPath } from 'node:url';
import type { EncodedRequest } from '../db/telemetry/encoded-request.ts';
import type { Receipt } from '../db/telemetry/receipts.ts';
import { SluiceError, unawaited } from '../errors.ts';
import {
  LimitedProcess,
  OutOfMemoryError,
  type Reply,
} from '../limited-process/limited-process.ts';
import type { Signal } from '../model/telemetry.ts';
import { withinLimit } from '../time-limit.ts';
import { WorkspaceQueue } from '../workspace-queue.ts';
import type { FromDecodeProcess, StoredLists, ToDecodeProcess } from './decode-messages.ts';
import type { ReadyResult, RequestContext } from './plain-decoder.ts';
import type { ReadyRequest } from './request-checker.ts';

const MIB = 1024 * 1024;

export interface LargeBodiesSettings extends BodyProcessSettings {
  /** maximum bodies decoded at once, one per workspace */
  readonly processes: number;
  /** maximum waiting bodies; beyond that, the workspace with the most is refused first */
  readonly waitingMax: number;
  /** maximum wait of a body; then it is refused */
  readonly waitMs: number;
}

const SETTINGS: LargeBodiesSettings = {
  processes: 2,
  waitingMax: 32,
  waitMs: 5_000,
  decodeMs: 60_000,
  heapMib: 2048,
  idleMs: 30_000,
};

export interface LargeBodyContext extends RequestContext {
  /** calls the listener once nobody awaits the answer any more */
  readonly whenUnawaited: (listener: () => void) => void;
  /** looks the body up when its turn begins; null when it is not stored yet */
  readonly findReceipt: () => Promise<Receipt | null>;
}

/** The decoded body, or the receipt of a body that is stored already and was not decoded. */
export type LargeBodyResult = ReadyResult | { readonly ok: true; readonly receipt: Receipt };

interface Waiting {
  readonly begin: (process: BodyProcess) => void;
  readonly refuse: (error: SluiceError) => void;
}

interface Run {
  readonly workspaceId: number;
  readonly process: BodyProcess;
  isAwaited: boolean;
  /** the reason why its process was ended early; `ended` resolves once the process has ended */
  stopped: { readonly reason: SluiceError; readonly ended: Promise<void> } | null;
}

export class LargeBodies {
  readonly #settings: LargeBodiesSettings;
  readonly #processes: readonly BodyProcess[];
  /** processes without a body, in the order of their last use */
  readonly #free: BodyProcess[];
  readonly #bodies: WorkspaceQueue<Waiting>;
  readonly #runs = new Set<Run>();
  #isClosed = false;

  constructor(settings: Partial<LargeBodiesSettings> = {}) {
    this.#settings = { ...SETTINGS, ...settings };
    const { processes } = this.#settings;
    const create = () => new BodyProcess(this.#settings);
    this.#processes = Array.from({ length: processes }, create);
    this.#free = [...this.#processes];
    this.#bodies = new WorkspaceQueue(processes);
  }

  get processesRunning(): number {
    return this.#processes.filter(({ isRunning }) => isRunning).length;
  }

  /**
   * Decodes a body, unless it is stored already.
   *
   * @param body must not change until the promise settles
   * @throws {SluiceError} `overloaded`, `shutting_down`, `answer_timeout` when nobody awaits the
   *   answer any more, or `body_too_large` when the body holds too much or takes too much time or
   *   memory; any other error is not the body's fault
   */
  async decode(signal: Signal, body: Buffer, context: LargeBodyContext): Promise<LargeBodyResult> {
    const { workspaceId, whenUnawaited } = context;
    this.#makeRoom(workspaceId);
    return await new Promise((resolve, reject) => {
      let run: Run | null = null;
      const waiting: Waiting = {
        begin: (process) => {
          clearTimeout(timer);
          run = { workspaceId, process, isAwaited: true, stopped: null };
          const decode = () => process.decode(signal, body, context);
          resolve(this.#run(run, context.findReceipt, decode));
        },
        refuse: (error) => {
          clearTimeout(timer);
          this.#bodies.remove(workspaceId, waiting);
          reject(error);
        },
      };
      const timer = setTimeout(() => waiting.refuse(tooManyWait()), this.#settings.waitMs);
      this.#bodies.add(workspaceId, waiting);
      this.#begin();
      whenUnawaited(() => {
        if (run === null) return waiting.refuse(unawaited());
        run.isAwaited = false;
        this.#interrupt();
      });
    });
  }

  /** Refuses waiting and new bodies, and ends the processes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const run of this.#runs) this.#stop(run, shuttingDown());
    await Promise.all(this.#processes.map((process) => process.end()));
  }

  /** Refuses the body, or one of the workspace with the most, if too many wait. */
  #makeRoom(workspaceId: number): void {
    if (this.#isClosed) throw shuttingDown();
    if (this.#bodies.size < this.#settings.waitingMax) return;
    const other = this.#bodies.removeForOther(workspaceId);
    if (other === null) throw tooManyWait();
    other.refuse(tooManyWait());
  }

  #begin(): void {
    for (;;) {
      const process = this.#free.at(-1);
      const next = process === undefined ? null : this.#bodies.begin();
      if (process === undefined || next === null) break;
      this.#free.pop();
      next.begin(process);
    }
    this.#interrupt();
  }

  /** Ends the process of a body that nobody awaits, if another workspace's body needs it. */
  #interrupt(): void {
    if (!this.#bodies.isFull) return;
    const runs = [...this.#runs];
    // The waiting body gets the process that is already ending.
    if (runs.some(({ stopped }) => stopped !== null)) return;
    const unneeded = runs.find(({ isAwaited }) => !isAwaited);
    if (unneeded !== undefined) this.#stop(unneeded, unawaited());
  }

  #stop(run: Run, reason: SluiceError): void {
    run.stopped ??= { reason, ended: run.process.end() };
  }

  async #run(
    run: Run,
    findReceipt: LargeBodyContext['findReceipt'],
    decode: () => Promise<ReadyResult>,
  ): Promise<LargeBodyResult> {
    this.#runs.add(run);
    try {
      if (this.#isClosed) throw shuttingDown();
      const receipt = await findReceipt();
      if (receipt !== null) return { ok: true, receipt };
      if (run.stopped !== null) throw run.stopped.reason;
      const result = await decode();
      if (run.stopped === null) return result;
    } catch (error) {
      if (run.stopped === null) throw error;
    } finally {
      await run.stopped?.ended;
      this.#runs.delete(run);
      this.#free.push(run.process);
      this.#bodies.end(run.workspaceId);
      this.#begin();
    }
    throw run.stopped.reason;
  }
}

function shuttingDown(): SluiceError {
  return new SluiceError('shutting_down', 'The server is shutting down.');
}

function tooManyWait(): SluiceError {
  return new SluiceError('overloaded', 'Too many large requests are waiting. Try again later.', {
    shortage: 'large_bodies',
  });
}

/** Bodies above this use other processes, so that smaller ones wait less than a second. */
export const GIANT_BYTES = 4 * MIB;

/** Creates the processes for large bodies, and separate processes for giant bodies. */
export function createLargeBodies(): Pick<LargeBodies, 'decode' | 'close'> {
  const large = new LargeBodies();
  const giant = new LargeBodies();
  return {
    decode: (signal, body, context) =>
      (body.length > GIANT_BYTES ? giant : large).decode(signal, body, context),
    close: async () => {
      await Promise.all([large.close(), giant.close()]);
    },
  };
}

// One process that decodes large bodies, one at a time: the parent's end of `decode-process.ts`.
//
//   decode ─► sent to the process ─► decoded (60 s) ─► lines and runs, in parts (`decode-messages.ts`)
//               started if necessary ─► ended when idle for 30 s
//
// The memory of the process is limited: a body that needs more ends the process and is refused. The
// next body starts a new process.

/** The built file, even when a test runs this file from source (decision 0003). */
const ENTRY = fileURLToPath(new URL('../../dist/ingest/decode-process.js', import.meta.url));

type Received = Reply<ToDecodeProcess, FromDecodeProcess>;

interface BodyProcessSettings {
  /** time limit for decoding a body; the slowest known body, 64 MiB of keys, takes 9 s */
  readonly decodeMs: number;
  /** limit of the process's V8 heap, in MiB */
  readonly heapMib: number;
  /** the process ends after this time without a body, to free its memory */
  readonly idleMs: number;
}

class BodyProcess {
  readonly #settings: BodyProcessSettings;
  readonly #process: LimitedProcess<ToDecodeProcess, FromDecodeProcess>;
  #idle: NodeJS.Timeout | undefined;

  constructor(settings: BodyProcessSettings) {
    this.#settings = settings;
    this.#process = new LimitedProcess(ENTRY, settings.heapMib);
  }

  get isRunning(): boolean {
    return this.#process.isRunning;
  }

  /**
   * Decodes a body.
   *
   * @param body must not change until the promise settles
   * @throws {SluiceError} `body_too_large` when the body holds too much or takes too much time or
   *   memory; any other error is not the body's fault
   */
  async decode(signal: Signal, body: Buffer, context: RequestContext): Promise<ReadyResult> {
    clearTimeout(this.#idle);
    const { decodeMs, idleMs } = this.#settings;
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
      this.#idle = setTimeout(() => void this.#process.end(), idleMs).unref();
    }
  }

  /** Ends the process and rejects the body in it. The next body starts a new process. */
  async end(): Promise<void> {
    clearTimeout(this.#idle);
    await this.#process.end();
  }

  async #decode(signal: Signal, body: Buffer, context: RequestContext): Promise<ReadyResult> {
    const { workspaceId, arrivedAtMs, logRuns } = context;
    const order = { kind: 'decode', signal, workspaceId, arrivedAtMs } as const;
    let received = await this.#process.request(order, body);
    for (;;) {
      const { message, reply } = received;
      switch (message.kind) {
        case 'marks': {
          const marks = logRuns.marksOf(message.records, workspaceId);
          received = await reply({ kind: 'marks', marks });
          break;
        }
        case 'runs': {
          const runs = logRuns.runsOf(message.records, workspaceId);
          received = await reply({ kind: 'runs', runs });
          break;
        }
        case 'request':
          return { ok: true, request: await assemble(message, reply, signal, context) };
        case 'undecodable':
          return { ok: false, message: message.message, path: message.path };
        case 'refused':
          throw new SluiceError(message.code, message.message);
        default:
          throw new Error(`unexpected message from the decode process: ${message.kind}`);
      }
    }
  }
}

async function assemble(
  { rejections, records, bytes }: Extract<FromDecodeProcess, { kind: 'request' }>,
  reply: Received['reply'],
  signal: Signal,
  { workspaceId, arrivedAtMs }: RequestContext,
): Promise<ReadyRequest> {
  const parts = await takeParts(reply);
  const encoded = { workspaceId, signal, arrivedAtMs, ...parts, records, bytes };
  return { signal, rejections, encoded };
}

async function takeParts(
  reply: Received['reply'],
): Promise<StoredLists & Pick<EncodedRequest, 'lines'>> {
  const lines: EncodedRequest['lines'][number][] = [];
  const runs: StoredLists['runs'][number][] = [];
  const sessionMarks: StoredLists['sessionMarks'][number][] = [];
  for (;;) {
    const { message, bytes } = await reply({ kind: 'more' });
    if (message.kind === 'end') return { lines, runs, sessionMarks };
    if (message.kind === 'line') {
      lines.push({ parts: [bytes], bytes: bytes.length, records: message.records });
    }
    if (message.kind !== 'list') continue;
    runs.push(...message.lists.runs);
    sessionMarks.push(...message.lists.sessionMarks);
  }
}

/** Reports a permanent refusal: the same body would cost as much again. */
function tooCostly(what: 'time' | 'memory', cause: unknown): SluiceError {
  const message = `Decoding the body takes too much ${what}; send smaller batches.`;
  return new SluiceError('body_too_large', message, { cause });
}
