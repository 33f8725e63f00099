/** The load generator as the bench sees it: a child that prepares a load, then sends it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import type { FromGenerator, LoadPlan, LoadResult, ToGenerator } from './load-plan.ts';

const PROCESS = fileURLToPath(new URL('generator-process.ts', import.meta.url));

async function answerOf(child: ChildProcess): Promise<FromGenerator> {
  const ended = new AbortController();
  try {
    return await Promise.race([
      once(child, 'message', { signal: ended.signal }).then(
        ([message]) => message as FromGenerator,
      ),
      once(child, 'exit', { signal: ended.signal }).then(([code]) => {
        throw new Error(`the load generator ended with ${code}`);
      }),
    ]);
  } finally {
    ended.abort();
  }
}

export class Generator {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(PROCESS, { execArgv: ['--import', 'tsx'] });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async #ask(message: ToGenerator, expected: FromGenerator['type']): Promise<FromGenerator> {
    const answer = answerOf(this.#child);
    this.#child.send(message);
    const told = await answer;
    if (told.type === 'failed') throw new Error(`the load failed: ${told.message}`);
    if (told.type !== expected) throw new Error(`the load generator said ${told.type}`);
    return told;
  }

  /** Makes all requests and opens all connections. */
  async prepare(plan: LoadPlan): Promise<void> {
    await this.#ask({ type: 'prepare', plan }, 'ready');
  }

  /** Sends what was prepared; resolves when everything is answered. @throws unless all with 200 */
  async go(): Promise<LoadResult> {
    const told = await this.#ask({ type: 'go' }, 'done');
    if (told.type !== 'done') throw new Error('no result');
    return told.result;
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}
