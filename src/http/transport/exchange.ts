/**
 * One request and its answer, safe to hold across awaits. Apart from `request-head.ts`, which reads
 * for it, and `unsent-answers.ts` and `response-stream.ts`, which write for it, the only file that
 * touches a uWebSockets.js response.
 *
 * uWebSockets.js invalidates the request object when the handler returns, ends the process when a
 * handler goes asynchronous without an abort listener, and throws when an aborted response is
 * written to. So the head is copied at once, and every write goes through `answer` or `stream`, once.
 *
 *   open ──answer──► answered ──all of it sent──► over
 *     │                 └──client left or too slow──► over: the client sees an aborted transfer
 *     ├──stream──► the same, while the body is made
 *     └──client left──► over (answers are dropped)
 */

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';

import { SluiceError } from '../../errors.ts';
import { BodyBytes, type BodyMemory } from './body-memory.ts';
import { clientAddress, peerAddressOf } from './browser-head.ts';
import { RequestHead } from './request-head.ts';
import { ResponseStream } from './response-stream.ts';
import { sendLast, type UnsentAnswers, type WaitingAnswer } from './unsent-answers.ts';

/**
 * Most bytes of a refused body that are read and dropped: exporters write a whole batch before they read, and would
 * see a broken connection instead of the refusal.
 */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
const DRAIN_MS_MAX = 5000;
/** Up to this size, an answer that closes its connection is sent without waiting for the client. */
const LAST_ANSWER_BYTES_MAX = 16 * 1024;
/** Requests whose answer is a stream need no body; one that is small is read and dropped. */
const NO_BODY: BodyLimits = { bytesMax: 64 * 1024, deadlineMs: 5000, reserve: () => true };

/** uWebSockets.js writes header values as they are: a line break would start another header. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]/g;
const NOT_ASCII = /[\x80-\uffff]/;

export type HeaderList = readonly (readonly [name: string, value: string])[];

const CLOSE: HeaderList = [['connection', 'close']];
const NONE: HeaderList = [];

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly headers?: HeaderList;
  readonly body: string | Buffer;
  /** the body stays in memory for other requests, like a cached file, and never changes */
  readonly isShared?: boolean;
}

interface ExchangeSettings {
  /** true while the server stops: answers then close the connection */
  readonly isDraining: () => boolean;
  readonly headers: HeaderList;
  readonly unsent: UnsentAnswers;
  readonly memory: BodyMemory;
  /** number of our proxies in front of this server */
  readonly trustedHops: number;
}

/** Media type of newline-delimited JSON. */
export const NDJSON_TYPE = 'application/x-ndjson';

/** 200, with a body that is made while it is sent. */
export interface StreamedAnswer {
  readonly contentType: string;
  readonly headers?: HeaderList;
  /** not started if the client has left; otherwise run to its end, or ended by `return()` */
  readonly chunks: AsyncIterable<Buffer>;
}

export interface BodyLimits {
  readonly bytesMax: number;
  /** from the first byte to the last */
  readonly deadlineMs: number;
  /** called for every chunk; false refuses the body */
  readonly reserve: (bytes: number) => boolean;
}

/** Called with the bytes that were added to the body; with null when the client has left. */
type BodyListener = (added: number | null, isLast: boolean) => void;

export class Exchange extends RequestHead {
  /** path of the route that handles it, with `{name}` for parameters; empty for none */
  route = '';
  readonly #response: HttpResponse;
  readonly #settings: ExchangeSettings;
  #onClosed: () => void;
  /** by `performance.now()` */
  readonly #openedAtMs = performance.now();
  #answerMsMax = Number.POSITIVE_INFINITY;
  #open = true;
  /** created when a caller first asks for the signal of the client's departure */
  #left: AbortController | null = null;
  #answered = false;
  #complete: boolean;
  #received = 0;
  /** the part of the body that has arrived and is not refused */
  readonly #body: BodyBytes;
  /** other memory that is released with the body */
  readonly #allocated: Buffer[] = [];
  /** reading is paused; a connection that stays paused never gets its next request */
  #paused = false;
  #onBody: BodyListener | null = null;
  #onUnawaited: () => void = () => {};
  /** an answer that waits for the rest of the body to be dropped */
  #refusal: Answer | null = null;
  /** received bytes at which the refusal is sent */
  #drainEnd = 0;
  #drainTimer: NodeJS.Timeout | undefined;
  /** the answer being sent; stops when the connection closes */
  #sending: WaitingAnswer | null = null;

  /** @param onClosed called exactly once, when the exchange is over for any reason */
  constructor(
    response: HttpResponse,
    request: HttpRequest,
    settings: ExchangeSettings,
    onClosed: () => void,
  ) {
    super(request, response);
    this.#response = response;
    this.#settings = settings;
    this.#body = new BodyBytes(settings.memory);
    this.#onClosed = onClosed;
    this.#complete = !this.hasBody;
    response.onAborted(() => this.#abort());
    if (this.hasBody) response.onData((chunk, isLast) => this.#receive(chunk, isLast));
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Aborted when the client leaves before it has its answer. */
  get signal(): AbortSignal {
    if (this.#left === null) {
      this.#left = new AbortController();
      if (!this.#open) this.#left.abort();
    }
    return this.#left.signal;
  }

  get ageMs(): number {
    return performance.now() - this.#openedAtMs;
  }

  /**
   * Bounds the time for dropping what still arrives of a refused body: the answer is sent at this
   * age at the latest.
   */
  limitAnswer(ageMs: number): void {
    this.#answerMsMax = ageMs;
  }

  /** The client's address, read on first use; `unknown` once the exchange is over. */
  get clientAddress(): string {
    const peerAddress = this.#open ? peerAddressOf(this.#response) : '';
    const { forwardedFor } = this;
    return clientAddress({ forwardedFor, peerAddress }, this.#settings.trustedHops);
  }

  get #isAwaited(): boolean {
    return this.#open && !this.#answered && this.#refusal === null;
  }

  /**
   * Calls a listener once nobody awaits the answer any more: it was sent, or the client has left. A
   * new listener replaces the previous one.
   */
  whenUnawaited(listener: () => void): void {
    this.#onUnawaited = listener;
    if (!this.#isAwaited) listener();
  }

  #close(): void {
    this.#open = false;
    clearTimeout(this.#drainTimer);
    const onClosed = this.#onClosed;
    this.#onClosed = () => {};
    onClosed();
  }

  #abort(): void {
    if (!this.#open) return;
    if (this.#isAwaited) this.#onUnawaited();
    this.#close();
    this.#left?.abort();
    this.#onBody?.(null, true);
    this.#sending?.stop();
  }

  #receive(chunk: ArrayBuffer, isLast: boolean): void {
    if (!this.#open) return;
    this.#received += chunk.byteLength;
    this.#complete = isLast;
    if (this.#answered) return;
    if (this.#refusal !== null) {
      if (isLast || this.#received > this.#drainEnd) this.#refuse(this.#refusal);
      return;
    }
    // Copied at once: uWebSockets.js reuses the chunk's memory when this returns.
    this.#body.add(new Uint8Array(chunk), this.contentLength);
    if (this.#onBody !== null) this.#onBody(chunk.byteLength, isLast);
    else if (!isLast && !this.#paused) {
      // `readBody` was not called yet: no more than what came with the head is held.
      this.#paused = true;
      this.#response.pause();
    }
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#response.resume();
  }

  /** @returns null when the client went away, or the request has been answered */
  readBody(limits: BodyLimits): Promise<Buffer | null> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        clearTimeout(timer);
        this.#onBody = null;
        settle();
      };
      const refuse = (error: SluiceError): void => {
        this.releaseBody();
        finish(() => reject(error));
      };
      const timer = setTimeout(() => {
        refuse(new SluiceError('body_timeout', 'The body did not arrive in time.'));
      }, limits.deadlineMs);
      this.#deliver((added, isLast) => {
        if (added === null) {
          this.releaseBody();
          return finish(() => resolve(null));
        }
        if (this.#body.length > limits.bytesMax) return refuse(bodyTooLarge(limits.bytesMax));
        if (!limits.reserve(added)) return refuse(noRoom());
        if (isLast) finish(() => resolve(this.#body.bytes));
      });
    });
  }

  /** Memory for the decompressed body, of at least `bytes` bytes; released with the body. */
  allocate(bytes: number): Buffer {
    const buffer = this.#settings.memory.take(bytes);
    this.#allocated.push(buffer);
    return buffer;
  }

  /** Gives the body's memory to other requests, except a copy of the beginning of a decoded body. */
  keepBeginning(body: Buffer, bytesMax: number): Buffer {
    const kept = this.#settings.memory.take(bytesMax);
    body.copy(kept, 0, 0, bytesMax);
    this.releaseBody();
    this.#allocated.push(kept);
    return kept.subarray(0, Math.min(bytesMax, body.length));
  }

  /** Gives the body's memory to other requests: none of its buffers must be read any more. */
  releaseBody(): void {
    this.#body.release();
    for (const buffer of this.#allocated.splice(0)) this.#settings.memory.release(buffer);
  }

  #deliver(listener: BodyListener): void {
    if (!this.#isAwaited) {
      listener(null, true);
      return;
    }
    const { length } = this.#body;
    if (this.#complete) {
      // Chunks of one segment arrive together: the last one came while reading was paused.
      this.#resume();
      listener(length, true);
      return;
    }
    this.#onBody = listener;
    if (length > 0) listener(length, false);
    this.#resume();
  }

  /**
   * Answers. Call once; a second call, or one after the client left, does nothing. The exchange is
   * over when the client has received the answer, as far as can be observed.
   *
   * While a body is arriving, the connection must stay open: closing a socket with unread data makes
   * the client's kernel drop the answer (uWebSockets #1174). A body of declared length is answered at
   * once, and uWebSockets.js drops the rest, closing the connection after 10 s without progress. The
   * rest of any other body is read and dropped first, up to a limit; also when the answer must
   * close the connection.
   */
  answer(answer: Answer): void {
    if (!this.#isAwaited) return;
    this.#onUnawaited();
    if (this.fault !== null) {
      this.#sendLast(answer, Buffer.byteLength(answer.body));
      return;
    }
    if (this.#complete) {
      this.#resume();
      this.#send(answer);
      return;
    }
    this.#refusal = answer;
    this.#onBody = null;
    this.releaseBody();
    if (this.contentLength !== null && !this.#settings.isDraining()) {
      if (this.contentLength - this.#received > DRAIN_BYTES_MAX) {
        this.#sendLast(answer, Buffer.byteLength(answer.body));
      } else {
        this.#resume();
        this.#send(answer);
      }
      return;
    }
    this.#drainEnd = this.#received + DRAIN_BYTES_MAX;
    const drainMs = Math.min(DRAIN_MS_MAX, Math.max(0, this.#answerMsMax - this.ageMs));
    this.#drainTimer = setTimeout(() => this.#refuse(answer), drainMs);
    this.#resume();
  }

  #refuse(answer: Answer): void {
    if (!this.#open) return;
    if (this.#complete) this.#send(answer);
    else this.#sendLast(answer, Buffer.byteLength(answer.body));
  }

  /**
   * Answers 200 with a body that is made while it is sent. Call instead of `answer`. After a throw
   * `answer` may be called: it does nothing if a part of the body was sent.
   *
   * @returns when the body is handed over, or the client has left
   * @throws what `chunks` throws; if a part was sent, the connection is closed before
   * @throws {Error} when the body was cut off because it or its reader took too long
   * @throws {SluiceError} `body_too_large` or `body_timeout` for a request with a body
   */
  async stream({ contentType, headers = [], chunks }: StreamedAnswer): Promise<void> {
    await this.readBody(NO_BODY);
    if (!this.#open) return;
    if (this.method === 'HEAD') {
      const chunked = [...headers, ['transfer-encoding', 'chunked']] as const;
      this.#sendLast({ status: 200, contentType, headers: chunked, body: '' }, null);
      return;
    }
    const { isDraining } = this.#settings;
    const writeHead = (): void => {
      this.#writeHead({ status: 200, contentType, headers }, isDraining() ? CLOSE : []);
    };
    const stream = new ResponseStream(this.#response, { writeHead, isStopping: isDraining });
    this.#sending = stream;
    if (!(await stream.send(chunks))) return;
    if (!stream.hasBegun) {
      this.#send({ status: 200, contentType, headers, body: stream.rest });
      return;
    }
    this.#close();
    stream.end();
  }

  #writeHead(
    { status, contentType, headers = NONE }: Pick<Answer, 'status' | 'contentType' | 'headers'>,
    more: HeaderList,
  ): void {
    const response = this.#response;
    response.writeStatus(status === 200 ? '200 OK' : `${status} ${STATUS_CODES[status] ?? ''}`);
    response.writeHeader('content-type', contentType);
    for (const [name, value] of this.#settings.headers) response.writeHeader(name, value);
    this.#writeHeaders(headers);
    this.#writeHeaders(more);
  }

  #writeHeaders(headers: HeaderList): void {
    for (const [name, value] of headers) {
      const line = value.replaceAll(CONTROLS, '');
      // As UTF-8 on every Node.js: see `#send`.
      this.#response.writeHeader(name, NOT_ASCII.test(line) ? Buffer.from(line) : line);
    }
  }

  #send(answer: Answer): void {
    const { body } = answer;
    const isDraining = this.#settings.isDraining();
    if (this.method === 'HEAD' || body.length === 0 || (isDraining && isShort(body))) {
      this.#sendLast(answer, Buffer.byteLength(body));
      return;
    }
    this.#answered = true;
    const response = this.#response;
    // Not the text: uWebSockets.js for Node 24 writes one that has no character above U+00FF as Latin-1.
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    let isSent = false;
    response.cork(() => {
      this.#writeHead(answer, isDraining ? CLOSE : NONE);
      isSent = response.tryEnd(bytes, bytes.length)[1];
    });
    if (isSent) {
      this.#close();
      return;
    }
    const unsent = { bytes, isShared: answer.isShared };
    this.#sending = this.#settings.unsent.wait(response, unsent, () => this.#close());
  }

  /**
   * Answers and closes the connection, in a later turn: see `sendLast`.
   *
   * @param length of the body in the answer to a GET; null when it is not known
   */
  #sendLast(answer: Answer, length: number | null): void {
    this.#answered = true;
    const body = this.method === 'HEAD' ? '' : answer.body;
    setImmediate(() => {
      if (!this.#open) return;
      const more = body.length === 0 ? withoutBody(length) : [];
      // Closing calls the abort listener, which ends the exchange.
      sendLast(this.#response, () => this.#writeHead(answer, more), body);
    });
  }
}

/** The content-length that uWebSockets.js writes by itself if there is a body. */
function withoutBody(length: number | null): HeaderList {
  const date = ['date', new Date().toUTCString()] as const;
  return length === null ? [date] : [['content-length', String(length)], date];
}

/** Checks whether an answer may be sent by `sendLast`: at once, without waiting for the client. */
function isShort(body: string | Buffer): boolean {
  return body.length > 1 && Buffer.byteLength(body) <= LAST_ANSWER_BYTES_MAX;
}

export function bodyTooLarge(bytesMax: number): SluiceError {
  return new SluiceError('body_too_large', `The body is larger than ${bytesMax} bytes.`);
}

export function noRoom(): SluiceError {
  return new SluiceError('overloaded', 'The server is receiving too much data. Try again later.', {
    shortage: 'bodies',
  });
}
