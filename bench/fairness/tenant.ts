/** A tenant of the benchmark: a workspace with a key, and a process that sends with it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import type { FairnessLoad, FairnessPlan, FromLoad, ToLoad } from './load-plan.ts';

const PROCESS = fileURLToPath(new URL('load-process.ts', import.meta.url));

export class Tenant {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(PROCESS, { execArgv: ['--import', 'tsx'] });
  }

  async #ask(message: ToLoad): Promise<FromLoad> {
    const answer = once(this.#child, 'message');
    this.#child.send(message);
    const [reply] = (await answer) as [FromLoad];
    if (reply.type === 'failed') throw new Error(`the load failed: ${reply.message}`);
    return reply;
  }

  /** Creates all requests and opens all connections. */
  async prepare(plan: FairnessPlan): Promise<void> {
    await this.#ask({ type: 'prepare', plan });
  }

  /** Sends; resolves when everything is answered or lost. */
  async go(): Promise<FairnessLoad> {
    const reply = await this.#ask({ type: 'go' });
    if (reply.type !== 'done') throw new Error('no result');
    return reply.result;
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}
