/**
 * Questions and words between the main thread and one of its threads, over a message port.
 *
 *   ask ──{id, name, argument}──► handler ──{id, answer} or {id, fault}──► ask resolves, rejects
 *   tell ─{name, argument}──────► handler
 *
 * Every question has a time limit, so nobody waits for a thread that hangs or is gone. What crosses
 * is copied (structured clone), but for shared memory.
 */
import { OperatorError } from '../../errors.ts';
import { withinLimit } from '../../time-limit.ts';

/** What one side can be asked: for each name, what goes there and what comes back. */
export type Calls<Names extends string = string> = {
  readonly [Name in Names]: { readonly argument: unknown; readonly answer: unknown };
};

export type Handlers<Own extends Calls> = {
  readonly [Name in keyof Own]: (
    argument: Own[Name]['argument'],
  ) => Own[Name]['answer'] | Promise<Own[Name]['answer']>;
};

/** A `Worker`, or the port to whoever made it. */
interface Port {
  postMessage(message: unknown): void;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

/** An error as it crosses: the class of one that people are shown must survive. */
export interface Fault {
  readonly isForOperator: boolean;
  readonly name: string;
  readonly message: string;
  readonly code: string | null;
}

type Message =
  | { readonly kind: 'ask'; readonly id: number; readonly name: string; readonly argument: unknown }
  | { readonly kind: 'tell'; readonly name: string; readonly argument: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'fault'; readonly id: number; readonly fault: Fault };

/** @param thrown whatever was thrown; its stack stays behind */
export function toFault(thrown: unknown): Fault {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const code: unknown = Reflect.get(error, 'code');
  return {
    isForOperator: error instanceof OperatorError,
    name: error.name,
    message: error.message,
    code: typeof code === 'string' ? code : null,
  };
}

/** The error a fault was made of, near enough to be told and logged. */
export function ofFault({ isForOperator, name, message, code }: Fault): Error {
  if (isForOperator) return new OperatorError(message);
  return Object.assign(new Error(message), code === null ? { name } : { name, code });
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** One end of a line; `Remote` is what the other end can be asked, `Own` what this one can. */
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
   * Asks the other end.
   *
   * @throws what its handler threw, as `ofFault` has it; an error when nothing came within the
   *   limit, or when the line was cut
   */
  async ask<Name extends keyof Remote & string>(
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
    this.#post({ kind: 'ask', id, name, argument });
    try {
      return await withinLimit(answer, limitMs);
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Says something that needs no answer. */
  tell<Name extends keyof Remote & string>(name: Name, argument: Remote[Name]['argument']): void {
    this.#post({ kind: 'tell', name, argument });
  }

  /** The other end is gone: whoever waits for it, now or later, is told why. */
  cut(why: Error): void {
    this.#cut ??= why;
    for (const { reject } of this.#waiting.values()) reject(why);
  }

  #post(message: Message): void {
    this.#port.postMessage(message);
  }

  #receive(message: Message): void {
    switch (message.kind) {
      case 'ask':
        void this.#answer(message.id, message.name, message.argument);
        break;
      case 'tell':
        void this.#handle(message.name, message.argument);
        break;
      case 'answer':
        this.#waiting.get(message.id)?.resolve(message.answer);
        break;
      case 'fault':
        this.#waiting.get(message.id)?.reject(ofFault(message.fault));
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
      this.#post({ kind: 'fault', id, fault: toFault(error) });
    }
  }
}
