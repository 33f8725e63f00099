/**
 * The ingest of one thread: a request's body becomes rows ready to store, in pieces on the event
 * loop or, when that would block it, in a separate process. Owns the decoders and the sessions'
 * prompts; the writer is `src/db/telemetry/copy-writer.ts`.
 *
 *   body ─► hashed ─► scanned, or decoded plainly ─► COPY bytes ─► store() ─► committed
 */
import type { TelemetryPlacement } from '../db/placement.ts';
import type { CopyWriter } from '../db/telemetry/copy-writer.ts';
import { LogRuns } from '../db/telemetry/log-runs.ts';
import type { Hex16 } from '../model/json.ts';
import type { DecodedRequest, Signal } from '../model/telemetry.ts';
import type { Pieces } from '../otlp/pieces.ts';
import { encodeExportResponse } from '../otlp/responses.ts';
import { hashBody } from './body-hash.ts';
import { createLargeBodies } from './large-bodies.ts';
import { type ReadyResult, RequestDecoder } from './request-decoder.ts';

/** A decoded request with its rows. */
export interface IngestRequest
  extends Pick<DecodedRequest, 'signal' | 'rejections' | 'replacedCharacters'> {
  readonly rows: number;
  /** resolves once every row is committed, by this request or by one that it repeats */
  readonly store: () => Promise<StoredAnswer>;
}

/** The answer to a request whose rows are committed. */
export interface StoredAnswer {
  /** the request was stored before, and its answer is the first one's */
  readonly isResend: boolean;
  readonly body: Buffer | string;
}

export interface IngestSettings {
  /** whether a request that is sent again is recognised, and stored once */
  readonly deduplicates?: boolean;
  /** where the rows are to be stored */
  readonly placement?: TelemetryPlacement;
}

/**
 * The request, or the fault that makes the body undecodable; `path` is empty for the whole body.
 */
export type IngestResult =
  | { readonly ok: true; readonly request: IngestRequest }
  | { readonly ok: false; readonly message: string; readonly path: string };

export class Ingest {
  readonly #writer: Pick<CopyWriter, 'offer'>;
  readonly #nowMs: () => number;
  /** decoders without a request */
  readonly #idle: RequestDecoder[] = [];
  readonly #placement: TelemetryPlacement;
  readonly #largeBodies: ReturnType<typeof createLargeBodies>;
  readonly #logRuns = new LogRuns();
  readonly #deduplicates: boolean;

  /** @param nowMs milliseconds since 1970, by PostgreSQL's clock */
  constructor(
    writer: Pick<CopyWriter, 'offer'>,
    nowMs: () => number,
    { deduplicates = true, placement = 'local' }: IngestSettings = {},
  ) {
    this.#placement = placement;
    this.#largeBodies = createLargeBodies(placement);
    this.#writer = writer;
    this.#nowMs = nowMs;
    this.#deduplicates = deduplicates;
  }

  /**
   * Decodes one export request. A request whose generator starts before another one's has ended
   * takes a decoder of its own; a promise that it returns need not be settled by then.
   *
   * @param body decompressed; not read after the generator has ended and its promise is settled
   * @param deduplicates false: it is stored whatever was stored before
   * @throws {SluiceError} the error for the response
   */
  *decode(
    signal: Signal,
    body: Buffer,
    workspaceId: number,
    deduplicates = true,
  ): Pieces<IngestResult | Promise<IngestResult>> {
    const context = { workspaceId, arrivedAtMs: this.#nowMs(), logRuns: this.#logRuns };
    const { decode } = this.#largeBodies;
    const bodyHash = this.#deduplicates && deduplicates ? yield* hashBody(signal, body) : null;
    const decoder = this.#idle.pop() ?? new RequestDecoder(this.#placement);
    try {
      const result = yield* decoder.decodeInPieces(signal, body, context, decode);
      if (result instanceof Promise) {
        return result.then((later) => this.#storable(later, bodyHash));
      }
      return this.#storable(result, bodyHash);
    } finally {
      this.#idle.push(decoder);
    }
  }

  /** Ends the processes that decode large bodies; waiting bodies are refused. */
  async close(): Promise<void> {
    await this.#largeBodies.close();
  }

  #storable(result: ReadyResult, bodyHash: Hex16 | null): IngestResult {
    if (!result.ok) return result;
    const { encoded, ...request } = result.request;
    const store = async (): Promise<StoredAnswer> => {
      const body = encodeExportResponse(request);
      const answer = request.rejections.length === 0 ? null : body.toString();
      const own = bodyHash === null ? null : { bodyHash, answer };
      const { isResend, receipt } = await this.#writer.offer(encoded, own);
      return { isResend, body: receipt?.answer ?? (isResend ? '{}' : body) };
    };
    return { ok: true, request: { ...request, rows: encoded.rows, store } };
  }
}
