/**
 * Which sessions of a request end with it: known only when all of its records have been read
 * (`Farewell`). The last record of such a session gets `ends`.
 */
import type { Hex16 } from '../model/json.ts';
import type { LogFacts } from '../model/telemetry.ts';
import type { Farewell } from './log-session.ts';

interface LastRecord {
  /** index in the request's log records */
  index: number;
  /** index of its resource in the request, whose records are of one process */
  resource: number;
  isFarewell: boolean;
}

export class SessionEnds {
  readonly #last = new Map<Hex16, LastRecord>();
  readonly #endedResources = new Set<number>();

  add(key: Hex16, index: number, resource: number, farewell: Farewell | null): void {
    this.#last.set(key, { index, resource, isFarewell: farewell === 'if_last' });
  }

  /** The process that sent a resource has said goodbye. */
  endProcess(resource: number): void {
    this.#endedResources.add(resource);
  }

  applyTo(logs: LogFacts[]): void {
    for (const { index, resource, isFarewell } of this.#last.values()) {
      const log = logs[index];
      if (!isFarewell && !this.#endedResources.has(resource)) continue;
      if (log?.session) logs[index] = { ...log, session: { ...log.session, ends: true } };
    }
  }
}
