/**
 * Sends the rest of answers that the kernel's socket buffer did not take at once (backpressure).
 * Apart from `exchange.ts` and `response-stream.ts`, the only file that writes to a uWebSockets.js
 * response.
 *
 *   sent whole ◄── all taken at once ── answer ── some left ──► waiting ──► sent
 *                                                                  └──► cut: too slow, too much
 *
 * Behaviour of uWebSockets.js (3.0.6), measured 2026-11-22: `end` copies what the kernel does not
 * take into an unbounded buffer and then handles the connection's next request, so 2,000 pipelined
 * requests for 80 KB hold 160 MB. `tryEnd` takes what the kernel takes plus at most 16 KiB, and
 * leaves the response pending; a request that arrives while a response is pending closes the
 * connection. So with `tryEnd` a connection holds at most one answer, by reference. This works only
 * for answers with a body; `sendLast` is for those without.
 *
 * uWebSockets.js closes a connection whose client reads nothing for 10 s.
 */
import type { HttpResponse } from 'uWebSockets.js';

/** Most bytes of unsent bodies of a process; beyond that the oldest answer is cut off. */
const UNSENT_BYTES_MAX = 64 * 1024 * 1024;
const SENDING_MS_MAX = 2 * 60_000;

interface UnsentBody {
  readonly bytes: Buffer;
  /** the body stays in memory for other requests, like a cached file: it does not count as held */
  readonly isShared?: boolean | undefined;
}

export interface WaitingAnswer {
  /** To be called when the connection has closed: the response is not used again. */
  readonly stop: () => void;
}

interface Waiting extends WaitingAnswer {
  readonly heldBytes: number;
  /** closes the connection in the middle of the answer */
  readonly cut: () => void;
}

export class UnsentAnswers {
  readonly #bytesMax: number;
  /** the oldest first */
  readonly #waiting = new Set<Waiting>();
  #heldBytes = 0;

  constructor(bytesMax: number = UNSENT_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** bytes of bodies that are in memory only because their clients have not read them */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** @param response on which `tryEnd` returned that it is not done */
  wait(
    response: HttpResponse,
    { bytes, isShared = false }: UnsentBody,
    onSent: () => void,
  ): WaitingAnswer {
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
 * Sends the last answer of a connection and closes it. For answers without a body, whose delivery
 * cannot be observed, and for connections that cannot be reused. Unread parts of earlier answers
 * are lost. Must not be called within a callback of uWebSockets.js, where the answer would be lost.
 *
 * @param writeHead writes status and headers; for an empty body also its content-length
 * @param body empty, or at least 2 bytes and small enough for the kernel to take at once
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
      // Header values are written unescaped: this one also ends the head.
      response.writeHeader('connection', 'close\r\n');
      return;
    }
    response.writeHeader('connection', 'close');
    response.tryEnd(bytes.subarray(0, length - 1), length);
    // A total of one byte more: the response stays pending, so nothing follows on the connection.
    response.tryEnd(bytes.subarray(length - 1), length + 1);
  });
  response.close();
}
