/** Traces one request and one run, step by step, as lines of the level `debug`. Off, they cost nothing. */
import type { Logger } from 'pino';

interface TracedRun {
  readonly workspaceId: number;
  readonly runId: string;
}

/** Logs a step of a request, with the time since its head was read. Facts never hold a sender's text. */
export type RequestTrace = (step: string, facts?: object) => void;

export function traceEvents(log: Logger) {
  let requests = 0;
  const isOn = (): boolean => log.isLevelEnabled('debug');
  return {
    /** @returns null unless the level is `debug` */
    requestBegun(path: string): RequestTrace | null {
      if (!isOn()) return null;
      requests += 1;
      const request = requests;
      const from = performance.now();
      log.debug({ request, path }, 'request: head read');
      return (step, facts = {}) => {
        const ms = Math.round((performance.now() - from) * 10) / 10;
        log.debug({ request, ms, ...facts }, `request: ${step}`);
      };
    },
    /** A run of an evaluation reached a step. */
    runReached({ workspaceId, runId }: TracedRun, step: string, facts: object = {}): void {
      if (isOn()) log.debug({ workspaceId, runId, ...facts }, `run: ${step}`);
    },
  };
}
