/**
 * Answers whose body is made and not taken whole: the rest is sent as the client takes it. Beside
 * `exchange.ts` and `response-stream.ts` the only file that writes to a uWebSockets.js response.
 *
 *   sent whole ◄── all taken at once ── answer ── some left ──► waiting ──► sent
 *                                                                  └──► cut: too slow, too much
 *
 * What uWebSockets.js (3.0.6) does, measured 2026-11-22. `end` copies what the kernel does not take
 * into a buffer without bound, and then handles the next request of the connection: 2,000 pipelined
 * requests for 80 KB hold 160 MB. `tryEnd` takes what the kernel takes, at most its own buffer of
 * 16 KiB more, and leaves the response pending; and a request that arrives while a response is
 * pending ends the connection. So with `tryEnd` a connection holds one answer at most, by reference,
 * and none that has not been begun. That bound needs a body: `sendLast` is for answers without one.
 *
 * A waiting reader that takes nothing for 10 s is cut by uWebSockets.js.
 */
import type { HttpResponse } from 'uWebSockets.js';

/** Bodies held for readers that have not taken them, of a thread; past it the oldest is cut. */
const UNSENT_BYTES_MAX = 64 * 1024 * 1024;
/** The longest that one answer may take, at whatever pace. */
const SENDING_MS_MAX = 2 * 60_000;

/** The body of an answer of which some has been sent. */
export interface UnsentBody {
  readonly body: string | Buffer;
  /** it is in memory anyway, as a file's, and costs nothing while it waits */
  readonly isShared?: boolean;
}

/** An answer that waits for its reader. */
export interface WaitingAnswer {
  /** The connection has ended: touches the response no more. */
  readonly stop: () => void;
}

interface Waiting extends WaitingAnswer {
  readonly heldBytes: number;
  /** closes the connection in the middle of the answer */
  readonly cut: () => void;
}

/** The answers of one thread that wait for their readers. */
export class UnsentAnswers {
  readonly #bytesMax: number;
  /** the oldest first */
  readonly #waiting = new Set<Waiting>();
  #heldBytes = 0;

  constructor(bytesMax: number = UNSENT_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** bytes of bodies that are in memory only because their readers have not taken them */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /**
   * Sends the rest of a body as its reader takes it.
   *
   * @param response to which `tryEnd` has given the body, and did not end it
   * @param onSent called once when all of it is on its way; not when the connection ends before
   */
  wait(
    response: HttpResponse,
    { body, isShared = false }: UnsentBody,
    onSent: () => void,
  ): WaitingAnswer {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const stop = (): void => {
      clearTimeout(timer);
      if (this.#waiting.delete(waiting)) this.#heldBytes -= waiting.heldBytes;
    };
    const cut = (): void => {
      stop();
      response.close();
    };
    const waiting: Waiting = { heldBytes: isShared ? 0 : bytes.length, stop, cut };
    const timer = setTimeout(cut, SENDING_MS_MAX);
    response.onWritable(() => {
      let isSent = false;
      response.cork(() => {
        isSent = response.tryEnd(bytes.subarray(response.getWriteOffset()), bytes.length)[1];
      });
      if (isSent) {
        stop();
        onSent();
      }
      return true;
    });
    this.#waiting.add(waiting);
    this.#heldBytes += waiting.heldBytes;
    this.#makeRoom();
    return waiting;
  }

  #makeRoom(): void {
    for (const { heldBytes, cut } of this.#waiting) {
      if (this.#heldBytes <= this.#bytesMax) return;
      if (heldBytes > 0) cut();
    }
  }
}

/**
 * Sends the last answer of a connection and closes it: for answers without a body, of which nothing
 * tells whether they are taken, and where the connection cannot be used again. What the client has
 * not taken of earlier answers is lost. Not within a callback of uWebSockets.js, which would lose the
 * answer.
 *
 * @param writeHead writes status and headers; for an empty body the length it has, too
 * @param body empty, or 2 bytes and more, few enough for the kernel to take at once
 */
export function sendLast(
  response: HttpResponse,
  writeHead: () => void,
  body: string | Buffer,
): void {
  const bytes = Buffer.from(body);
  const { length } = bytes;
  response.cork(() => {
    writeHead();
    if (length === 0) {
      // Header values are written as they are: this one ends the head.
      response.writeHeader('connection', 'close\r\n');
      return;
    }
    response.writeHeader('connection', 'close');
    response.tryEnd(bytes.subarray(0, length - 1), length);
    // Never told that this was all, uWebSockets.js lets nothing follow on the connection.
    response.tryEnd(bytes.subarray(length - 1), length + 1);
  });
  response.close();
}
