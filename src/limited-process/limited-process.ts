/**
 * A child process with a limited heap, which answers one message at a time. It is for work whose
 * memory depends on what a sender chose, because V8 ends the whole process when a heap reaches its
 * limit, also when it is the heap of a worker thread (decision 0005).
 *
 * Started by the first message. It gets no environment and no standard streams.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

import {
  type ChannelPart,
  MessageAssembler,
  type ReceivedMessage,
  sendMessage,
} from './messages.ts';

/** A child's output: messages, or the exception that ends it. */
export type FromChild<Message> = ChannelPart<Message> | { readonly exception: Error };

const ENDED = 'the process was ended';
/** The exit code of a process that aborted, where there are no signals. */
const ABORTED = 134;

/** The process needed more memory than it may have, and has ended. */
export class OutOfMemoryError extends Error {}

export interface Reply<To, From> extends ReceivedMessage<From> {
  /** Like `request`, to the same process: rejects if that process has ended. */
  readonly reply: (message: To, bytes?: Uint8Array) => Promise<Reply<To, From>>;
}

interface Waiting<Message> {
  readonly resolve: (received: ReceivedMessage<Message>) => void;
  readonly reject: (error: Error) => void;
}

export class LimitedProcess<To, From> {
  readonly #entry: string;
  readonly #heapMib: number;
  #child: ChildProcess | null = null;
  #waiting: Waiting<From> | null = null;

  /** @param entry the built file that the process runs; it calls `serveParent` */
  constructor(entry: string, heapMib: number) {
    this.#entry = entry;
    this.#heapMib = heapMib;
  }

  get isRunning(): boolean {
    return this.#child !== null;
  }

  /**
   * Sends a message and waits for the answer, one at a time.
   *
   * @param bytes must not change until the promise settles
   * @throws {OutOfMemoryError}, or what ended the process
   */
  async request(message: To, bytes?: Uint8Array): Promise<Reply<To, From>> {
    this.#child ??= this.#start();
    return await this.#send(this.#child, message, bytes);
  }

  async #send(child: ChildProcess, message: To, bytes?: Uint8Array): Promise<Reply<To, From>> {
    if (this.#child !== child) throw new Error(ENDED);
    const answer = new Promise<ReceivedMessage<From>>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
    const send = (part: ChannelPart<To>): Promise<void> =>
      new Promise((resolve, reject) => {
        child.send(part, (error) => (error === null ? resolve() : reject(error)));
      });
    // A channel that takes no more belongs to a process that ends, or else is ended here; its exit
    // rejects the answer with the reason.
    sendMessage(send, message, bytes).catch(() => child.kill('SIGKILL'));
    const reply = (next: To, more?: Uint8Array) => this.#send(child, next, more);
    return { ...(await answer), reply };
  }

  /** Ends the process, whatever it does; the next message starts another. */
  async end(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    this.#waiting?.reject(new Error(ENDED));
    this.#waiting = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    // Otherwise this process might end before, with nothing else to wait for.
    child.ref();
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  #start(): ChildProcess {
    const child = fork(this.#entry, {
      execArgv: ['--v8-pool-size=0', `--max-old-space-size=${this.#heapMib}`],
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.unref();
    child.channel?.unref();
    const messages = new MessageAssembler<From>();
    const isCurrent = (): boolean => this.#child === child;
    const fail = (error: Error): void => {
      if (!isCurrent()) return;
      this.#child = null;
      this.#waiting?.reject(error);
      this.#waiting = null;
    };
    child.on('message', (part: FromChild<From>) => {
      if (!isCurrent()) return;
      if ('exception' in part) return fail(part.exception);
      const received = messages.take(part);
      if (received !== null) this.#waiting?.resolve(received);
    });
    child.on('error', fail);
    child.on('exit', (code, signal) => {
      const isAborted = signal === 'SIGABRT' || code === ABORTED;
      const reason = `the process ended with ${signal ?? code}`;
      fail(isAborted ? new OutOfMemoryError(reason) : new Error(reason));
    });
    return child;
  }
}
