/**
 * Sends a body while it is made, at its reader's pace. `exchange.ts` creates and ends it; beside that
 * and `unsent-answers.ts` the only file that writes to a uWebSockets.js response.
 *
 *   made ──first slice──► sending ──last chunk──► ended by the exchange
 *                            └──client gone, chunks fail, too slow──► cut: the transfer is broken
 *
 * How uWebSockets.js (3.0.6) treats `write`, measured 2026-11-21: it accepts every byte, sent or not,
 * and returns `false` when some could not be sent; this is reliable only for writes larger than its
 * own buffer of 16 KiB. A smaller write returns `false` when bytes of earlier writes could not be
 * sent. While `onWritable` is set it sends nothing by itself: every event needs a write or a cork.
 * And it closes a connection 10 s after a failed write without an event, unless another write fails
 * in between.
 */
import type { HttpResponse } from 'uWebSockets.js';

/** The buffer of uWebSockets.js. */
const WRITE_BUFFER_BYTES = 16 * 1024;
/** One write: a little more than that buffer, see above. */
const SLICE_BYTES = 17 * 1024;
/**
 * Written first while earlier bytes are unsent, to learn whether they are sent now. Less than a kernel
 * takes at once, also when it is short of memory; otherwise the unsent bytes of a quick reader grow.
 */
const PROBE_BYTES = 32;
/** Most bytes that are written and not known to be sent; beyond this the reader is cut off. */
const UNSENT_BYTES_MAX = 512 * 1024;
/** How often a slice is written to a reader that takes nothing: within the 10 s of uWebSockets.js. */
const OFFER_EVERY_MS = 5000;
/** A reader that takes nothing of so many writes, in one minute, is cut off. */
const REFUSED_OFFERS_MAX = 12;
/** The same while the server stops. */
const REFUSED_OFFERS_MAX_STOPPING = 1;
const STREAM_MS_MAX = 15 * 60_000;

interface StreamSettings {
  /** writes status and headers; called once, corked */
  readonly writeHead: () => void;
  /** true while the server stops */
  readonly isStopping: () => boolean;
}

export class ResponseStream {
  readonly #response: HttpResponse;
  readonly #settings: StreamSettings;
  #started = false;
  #over = false;
  /** why it was cut off, for the report */
  #reason: Error | null = null;
  #pending: Buffer = Buffer.alloc(0);
  /** written since the last time that everything was known to be sent */
  #unsent = 0;
  #refusedOffers = 0;
  #wake: () => void = () => {};

  constructor(response: HttpResponse, settings: StreamSettings) {
    this.#response = response;
    this.#settings = settings;
  }

  /** whether status and headers have been written; otherwise the response is untouched */
  get hasBegun(): boolean {
    return this.#started;
  }

  /** bytes that `send` has not sent yet */
  get rest(): Buffer {
    return this.#pending;
  }

  /**
   * Sends all chunks but the last bytes, which `end` sends. The next chunk is requested only when the
   * ones before it are written; when the client has left, `chunks` is ended by `return()`.
   *
   * @returns true when the rest is still to be sent, with `end` if the response has begun; false
   *   when the client has left
   * @throws what `chunks` throws. When some of the body is sent already, the connection is cut
   *   before, so that the client sees a broken transfer; otherwise the response is untouched
   * @throws {Error} when the body was cut off because it took too long, or its reader did
   */
  async send(chunks: AsyncIterable<Buffer>): Promise<boolean> {
    const deadline = setTimeout(() => {
      this.#cut(new Error(`A body was cut off: not sent within ${STREAM_MS_MAX} ms.`));
    }, STREAM_MS_MAX);
    try {
      for await (const chunk of chunks) {
        this.#pending = Buffer.concat([this.#pending, chunk]);
        await this.#flush();
        if (this.#over) break;
      }
      // A connection that took nothing of the last write gets no end yet: it could request the next
      // body, and the next, and all would wait in memory.
      while (!this.#over && this.#refusedOffers > 0) await this.#readerTakesSome();
    } catch (error) {
      if (this.#started) this.#cut(null);
      throw error;
    } finally {
      clearTimeout(deadline);
    }
    if (this.#reason !== null) throw this.#reason;
    return !this.#over;
  }

  /** Sends the rest and ends the response. Call once, after `send` returned true. */
  end(): void {
    this.#over = true;
    this.#response.cork(() => {
      // Without the option to close the connection: in the middle of a body uWebSockets.js would
      // write that header into the body.
      this.#response.end(this.#pending);
    });
  }

  /** The client has left, or the connection is closed: the response is not used any more. */
  stop(): void {
    this.#over = true;
    this.#wake();
  }

  async #flush(): Promise<void> {
    while (!this.#over && this.#pending.length > WRITE_BUFFER_BYTES + PROBE_BYTES) {
      if (!this.#offerSlice()) await this.#readerTakesSome();
    }
  }

  /** @returns false when not all could be sent at once */
  #offerSlice(): boolean {
    // Two corks: in one, uWebSockets.js mixes up the bytes of both writes.
    const isSent = (this.#unsent === 0 || this.#write(PROBE_BYTES)) && this.#write(SLICE_BYTES);
    if (isSent) this.#refusedOffers = 0;
    return isSent;
  }

  #write(bytesMax: number): boolean {
    const slice = this.#pending.subarray(0, bytesMax);
    this.#pending = this.#pending.subarray(bytesMax);
    let isSent = false;
    this.#response.cork(() => {
      this.#writeHeadOnce();
      isSent = this.#response.write(slice);
    });
    this.#unsent = isSent ? 0 : this.#unsent + slice.length;
    return isSent;
  }

  #writeHeadOnce(): void {
    if (this.#started) return;
    this.#started = true;
    this.#settings.writeHead();
    this.#response.onWritable(() => {
      this.#refusedOffers = 0;
      this.#response.cork(() => {
        // The end of a cork makes uWebSockets.js send what waits.
      });
      this.#wake();
      return true;
    });
  }

  /** Waits until a slice may be written again; cuts off a reader that is too slow. */
  async #readerTakesSome(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#refusedOffers += 1;
        resolve();
      }, OFFER_EVERY_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    const refusedMax = this.#settings.isStopping()
      ? REFUSED_OFFERS_MAX_STOPPING
      : REFUSED_OFFERS_MAX;
    if (this.#refusedOffers >= refusedMax) {
      this.#cut(new Error('A body was cut off: its reader took nothing for a while.'));
    } else if (this.#unsent > UNSENT_BYTES_MAX) {
      this.#cut(new Error('A body was cut off: its reader takes too little at a time.'));
    }
  }

  /** Closes the connection without the end of the body. */
  #cut(reason: Error | null): void {
    if (this.#over) return;
    this.#reason = reason;
    // Calls the abort listener, which calls `stop`.
    this.#response.close();
  }
}
