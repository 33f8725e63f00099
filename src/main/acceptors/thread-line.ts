/**
 * Remote procedure calls between the main thread and one of its threads, over a message port.
 *
 *   request ──{id, name, argument}──► handler ──{id, answer} or {id, error}──► resolves, rejects
 *   notify ───{name, argument}──────► handler
 *
 * Every request has a time limit, in case the other thread hangs or has ended. Arguments and answers
 * are copied (structured clone), except shared memory.
 */
import { OperatorError } from '../../errors.ts';
import { withinLimit } from '../../time-limit.ts';

/** The calls that one side handles: for each name the argument and the answer. */
export type Calls<Names extends string = string> = {
  readonly [Name in Names]: { readonly argument: unknown; readonly answer: unknown };
};

export type Handlers<Own extends Calls> = {
  readonly [Name in keyof Own]: (
    argument: Own[Name]['argument'],
  ) => Own[Name]['answer'] | Promise<Own[Name]['answer']>;
};

/** A `Worker`, or a worker's `parentPort`. */
interface Port {
  postMessage(message: unknown): void;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

/** An error in a form that can be sent; it keeps whether it is an `OperatorError`. */
export interface SerializedError {
  readonly isForOperator: boolean;
  readonly name: string;
  readonly message: string;
  readonly code: string | null;
}

type Message =
  | {
      readonly kind: 'request';
      readonly id: number;
      readonly name: string;
      readonly argument: unknown;
    }
  | { readonly kind: 'notify'; readonly name: string; readonly argument: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly error: SerializedError };

/** @param thrown any thrown value; the stack is not sent */
export function serializeError(thrown: unknown): SerializedError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const code: unknown = Reflect.get(error, 'code');
  return {
    isForOperator: error instanceof OperatorError,
    name: error.name,
    message: error.message,
    code: typeof code === 'string' ? code : null,
  };
}

/** The error, good enough to be reported and logged. */
export function deserializeError({ isForOperator, name, message, code }: SerializedError): Error {
  if (isForOperator) return new OperatorError(message);
  return Object.assign(new Error(message), code === null ? { name } : { name, code });
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** One end of a line; `Remote` are the calls of the other end, `Own` the calls that this end handles. */
export class ThreadLine<Remote extends Calls, Own extends Calls> {
  readonly #port: Port;
  readonly #handlers: Handlers<Own>;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #cut: Error | null = null;

  constructor(port: Port, handlers: Handlers<Own>) {
    this.#port = port;
    this.#handlers = handlers;
    port.on('message', (message) => this.#receive(message as Message));
  }

  /**
   * Calls the other end.
   *
   * @throws the handler's error, after `deserializeError`; an error when the time limit is exceeded or
   *   the line was cut
   */
  async request<Name extends keyof Remote & string>(
    name: Name,
    argument: Remote[Name]['argument'],
    limitMs: number,
  ): Promise<Remote[Name]['answer']> {
    if (this.#cut !== null) throw this.#cut;
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    this.#post({ kind: 'request', id, name, argument });
    try {
      return await withinLimit(answer, limitMs);
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Calls the other end without waiting for an answer. */
  notify<Name extends keyof Remote & string>(name: Name, argument: Remote[Name]['argument']): void {
    this.#post({ kind: 'notify', name, argument });
  }

  /** To be called when the other end has ended: pending and later requests are rejected. */
  cut(why: Error): void {
    this.#cut ??= why;
    for (const { reject } of this.#waiting.values()) reject(why);
  }

  #post(message: Message): void {
    this.#port.postMessage(message);
  }

  #receive(message: Message): void {
    switch (message.kind) {
      case 'request':
        void this.#answer(message.id, message.name, message.argument);
        break;
      case 'notify':
        void this.#handle(message.name, message.argument);
        break;
      case 'answer':
        this.#waiting.get(message.id)?.resolve(message.answer);
        break;
      case 'error':
        this.#waiting.get(message.id)?.reject(deserializeError(message.error));
        break;
    }
  }

  #handle(name: string, argument: unknown): unknown {
    return this.#handlers[name as keyof Own](argument);
  }

  async #answer(id: number, name: string, argument: unknown): Promise<void> {
    try {
      this.#post({ kind: 'answer', id, answer: await this.#handle(name, argument) });
    } catch (error) {
      this.#post({ kind: 'error', id, error: serializeError(error) });
    }
  }
}
