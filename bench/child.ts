/** A child process that answers one message at a time, such as a load generator. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Failed {
  readonly type: 'failed';
  readonly message: string;
}

export class Child<Request extends object, Reply extends { readonly type: string }> {
  readonly #child: ChildProcess;
  readonly #name: string;

  /** @param program a TypeScript file that calls `answerMessages` */
  constructor(program: URL) {
    this.#name = fileURLToPath(program);
    this.#child = fork(program, { execArgv: ['--import', 'tsx'], serialization: 'advanced' });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** @throws when the child fails, exits, or answers anything but `type` */
  async request<T extends Reply['type']>(
    request: Request,
    type: T,
  ): Promise<Extract<Reply, { readonly type: T }>> {
    const aborter = new AbortController();
    const { signal } = aborter;
    const reply = once(this.#child, 'message', { signal }) as Promise<[Reply | Failed]>;
    const exit = once(this.#child, 'exit', { signal }).then(([code]) => {
      throw new Error(`${this.#name} exited with ${code}`);
    });
    this.#child.send(request);
    try {
      const [message] = await Promise.race([reply, exit]);
      if (message.type === 'failed') throw new Error((message as Failed).message);
      if (message.type !== type) throw new Error(`${this.#name} answered ${message.type}`);
      return message as Extract<Reply, { readonly type: T }>;
    } finally {
      reply.catch(() => {});
      exit.catch(() => {});
      aborter.abort();
    }
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }
}

export function sendToParent(message: object): void {
  if (process.connected) process.send?.(message);
}

/** In the child: answers each message of the parent, and exits with it. */
export function answerMessages<Request, Reply extends object>(
  answer: (request: Request) => Promise<Reply> | Reply,
): void {
  process.on('message', async (request: Request) => {
    try {
      sendToParent(await answer(request));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      sendToParent({ type: 'failed', message } satisfies Failed);
    }
  });
  process.on('disconnect', () => process.exit());
}
