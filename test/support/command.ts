/** The real `sluice` command as a process of its own. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { CATALOGUE_FOLDER } from './kept-catalogue.ts';

const BIN = fileURLToPath(new URL('../../bin/sluice.js', import.meta.url));

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs `sluice` to its end.
 *
 * @param settings environment beside the path, the home folder and a DATA_DIR with the catalogue
 * @param options.input text for its standard input
 * @param options.cwd the folder it is started in
 * @param options.onErrorOutput called with everything that it has written to standard error so far
 */
export function runCommand(
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
  options: {
    readonly input?: string;
    readonly cwd?: string;
    readonly onErrorOutput?: (text: string) => void;
  } = {},
): Promise<CommandResult> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [BIN, ...args], {
    env: { PATH, HOME, DATA_DIR: CATALOGUE_FOLDER, ...settings },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      if (name === 'stderr') options.onErrorOutput?.(output.stderr);
    });
  }
  child.stdin.end(options.input ?? '');
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
  });
}
