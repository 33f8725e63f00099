/**
 * One process that decodes large bodies, one at a time: the parent's end of `decode-process.ts`.
 *
 *   decode ─► sent to the process ─► decoded (60 s) ─► lines and runs, in parts (`decode-messages.ts`)
 *               started if necessary ─► ended when idle for 30 s
 *
 * The memory of the process is limited: a body that needs more ends the process and is refused. The
 * next body starts a new process.
 */
import { fileURLToPath } from 'node:url';

import type { EncodedRequest } from '../db/telemetry/encoded-request.ts';
import { SluiceError } from '../errors.ts';
import {
  LimitedProcess,
  OutOfMemoryError,
  type Reply,
} from '../limited-process/limited-process.ts';
import type { Signal } from '../model/telemetry.ts';
import { withinLimit } from '../time-limit.ts';
import type { FromDecodeProcess, StoredLists, ToDecodeProcess } from './decode-messages.ts';
import type { ReadyResult, RequestContext } from './plain-decoder.ts';
import type { ReadyRequest } from './request-checker.ts';

/** The built file, even when a test runs this file from source (decision 0003). */
const ENTRY = fileURLToPath(new URL('../../dist/ingest/decode-process.js', import.meta.url));

type Received = Reply<ToDecodeProcess, FromDecodeProcess>;

export interface BodyProcessSettings {
  /** time limit for decoding a body; the slowest known body, 64 MiB of keys, takes 9 s */
  readonly decodeMs: number;
  /** limit of the process's V8 heap, in MiB */
  readonly heapMib: number;
  /** the process ends after this time without a body, to free its memory */
  readonly idleMs: number;
}

export class BodyProcess {
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
