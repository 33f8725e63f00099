/** `sluice relay` as a process of its own, on a free port. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { waitFor } from './wait-for.ts';

const BIN = fileURLToPath(new URL('../../bin/sluice.js', import.meta.url));
const WITHIN_MS = 60_000;

export interface RelayProcess {
  readonly pid: number;
  readonly url: string;
  /** everything it has written */
  readonly output: () => string;
  /** Ends it by a signal; returns its exit code, null when the signal ended it. */
  readonly end: (signal: NodeJS.Signals) => Promise<number | null>;
}

/** @throws with all it wrote when it ends instead of starting */
export async function startRelay(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<RelayProcess> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [BIN, 'relay', '--listen', '127.0.0.1:0', ...args], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  await waitFor(() => output.includes('Stop: Ctrl-C.') || hasEnded(), {
    withinMs: WITHIN_MS,
    what: () => `the relay starts: ${output}`,
  });
  if (hasEnded()) throw new Error(`the relay did not start: ${output}`);
  return {
    pid: child.pid ?? 0,
    url: /takes +(http:\/\/[^/]+)\//.exec(output)?.[1] ?? '',
    output: () => output,
    end: async (signal) => {
      child.kill(signal);
      return await ended;
    },
  };
}
