/** The work of `sluice top`: reads `/metrics` of some servers at an interval, and shows the rates. */
import { setTimeout as sleep } from 'node:timers/promises';

import { OperatorError } from '../../errors.ts';
import { onStopSignal } from '../../main/stop-signals.ts';
import { escapeInvisible } from '../../model/invisible.ts';
import { isOutputClosed } from '../../terminal/closed-output.ts';
import { printable } from '../../terminal/printable.ts';
import type { OutputOptions } from '../answer.ts';
import { parseMetrics } from './metrics-text.ts';
import { type Rates, type Reading, ratesBetween, totalOf } from './rates.ts';
import { renderLine, renderScreen, type ServerRates } from './screen.ts';

/** Maximum bytes of one answer; a server's has some 30 KiB. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const ANSWER_MS_MAX = 5000;
const MS = 1000;

const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
const CLEAR = '\x1b[H\x1b[2J\x1b[3J';

export interface TopOptions extends OutputOptions {
  readonly interval: number;
  /** intervals until it ends; without it, a signal ends it */
  readonly count?: number;
}

interface Server {
  readonly url: string;
  readonly name: string;
  last: Reading | null;
}

/** The address of a server's metrics; of a bare address it is `/metrics`. */
export function metricsUrl(text: string): URL {
  const withScheme = /^https?:\/\//.test(text) ? text : `http://${text}`;
  if (!URL.canParse(withScheme)) {
    throw new OperatorError(`${text} is no address of a server, such as 127.0.0.1:9464`);
  }
  const url = new URL(withScheme);
  if (url.pathname === '/') url.pathname = '/metrics';
  return url;
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`more than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function reasonOf(error: unknown): string {
  const { cause, message, name } = error as Error;
  if (name === 'TimeoutError') return `no answer within ${ANSWER_MS_MAX / MS} s`;
  const { code, message: causeMessage } = (cause ?? {}) as NodeJS.ErrnoException;
  // The message of several attempts together is empty.
  return causeMessage || code || message;
}

async function read({ url }: Server, interruption: AbortSignal): Promise<Reading> {
  const signal = AbortSignal.any([interruption, AbortSignal.timeout(ANSWER_MS_MAX)]);
  const response = await fetch(url, { signal, redirect: 'error' });
  if (response.status !== 200) throw new Error(`it answers ${response.status}`);
  const metrics = parseMetrics(await readBounded(response));
  if (!metrics.has('sluice_store_rows_total')) throw new Error('no metrics of Sluice');
  return { atMs: performance.now(), metrics };
}

/** Reads a server and compares with the reading before. */
async function look(server: Server, interruption: AbortSignal): Promise<ServerRates> {
  const { name, last } = server;
  try {
    server.last = await read(server, interruption);
    return { name, rates: last === null ? null : ratesBetween(last, server.last), error: null };
  } catch (error) {
    server.last = null;
    return { name, rates: null, error: reasonOf(error) };
  }
}

const known = (servers: readonly ServerRates[]): Rates[] =>
  servers.flatMap(({ rates }) => (rates === null ? [] : [rates]));

function show(servers: readonly ServerRates[], options: TopOptions, isTerminal: boolean): void {
  const total = totalOf(known(servers));
  const text =
    options.json === true
      ? escapeInvisible(JSON.stringify({ servers, total }))
      : isTerminal
        ? CLEAR + printable(renderScreen(servers, total, options.interval))
        : printable(renderLine(servers, total));
  process.stdout.write(`${text}\n`);
}

/**
 * Shows rates until the wanted number of intervals, a signal, or the end of the output.
 *
 * @throws {OperatorError} when none of the servers can be read at first
 */
export async function runTop(urls: readonly URL[], options: TopOptions): Promise<void> {
  const servers = urls.map(({ href, host }): Server => ({ url: href, name: host, last: null }));
  const interruption = new AbortController();
  const stopListening = onStopSignal(() => interruption.abort());
  const isTerminal = process.stdout.isTTY === true && options.json !== true;
  const { signal } = interruption;
  const lookAtAll = () => Promise.all(servers.map((server) => look(server, signal)));
  try {
    const first = await lookAtAll();
    if (!signal.aborted && first.every(({ error }) => error !== null)) {
      const reasons = first.map(({ name, error }) => `${name}: ${error}`).join('\n  ');
      throw new OperatorError(`No server can be read (ADMIN_PORT serves /metrics):\n  ${reasons}`);
    }
    if (isTerminal) process.stdout.write(HIDE_CURSOR);
    if (isTerminal) show(first, options, isTerminal);
    for (let shown = 0; shown < (options.count ?? Number.POSITIVE_INFINITY); shown += 1) {
      await sleep(options.interval * MS, undefined, { signal }).catch(() => {
        // A signal: the loop ends.
      });
      if (signal.aborted || isOutputClosed()) return;
      const looked = await lookAtAll();
      if (!signal.aborted) show(looked, options, isTerminal);
    }
  } finally {
    if (isTerminal) process.stdout.write(SHOW_CURSOR);
    stopListening();
  }
}
