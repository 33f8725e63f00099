/**
 * A load generator in a process of its own, so that its CPU time is known and its pauses are not
 * the benchmark's: it prepares a load, then sends it.
 */
import { answerMessages, Child } from './child.ts';

type LoadRequest<Plan> = { readonly type: 'prepare'; readonly plan: Plan } | { type: 'send' };

type LoadReply<Result> = { type: 'ready' } | { readonly type: 'done'; readonly result: Result };

export class LoadProcess<Plan, Result> {
  readonly #child: Child<LoadRequest<Plan>, LoadReply<Result>>;

  /** @param program a TypeScript file that calls `runLoadProcess` */
  constructor(program: URL) {
    this.#child = new Child(program);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Creates all requests and opens all connections. */
  async prepare(plan: Plan): Promise<void> {
    await this.#child.request({ type: 'prepare', plan }, 'ready');
  }

  /** Sends the prepared load; resolves when every request has ended. */
  async send(): Promise<Result> {
    return (await this.#child.request({ type: 'send' }, 'done')).result;
  }

  async close(): Promise<void> {
    await this.#child.close();
  }
}

export function runLoadProcess<Plan, Result>(
  prepare: (plan: Plan) => Promise<void>,
  send: () => Promise<Result>,
): void {
  answerMessages<LoadRequest<Plan>, LoadReply<Result>>(async (request) => {
    if (request.type === 'send') return { type: 'done', result: await send() };
    await prepare(request.plan);
    return { type: 'ready' };
  });
}
