/** The work of `sluice replay`: reads, rewrites and sends stored OTLP/JSON, and reports. */
import { createHash, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { readRelayEnvironment } from '../../config/command-settings.ts';
import { ConfigError } from '../../config/settings.ts';
import { OperatorError } from '../../errors.ts';
import { programVersion } from '../../main/program-version.ts';
import { onStopSignal, SIGNAL_EXIT_CODES, type StopSignal } from '../../main/stop-order.ts';
import { createUpstream, type Upstream } from '../../relay/upstream.ts';
import { note, paint, plain } from '../../terminal/output.ts';
import { answer, bytesText, type OutputOptions, showProgress } from '../answer.ts';
import { type ServerOptions, serverAndKey } from '../relay/relay-options.ts';
import { listReplayFiles, type ReplayBody, readBodies } from './replay-input.ts';
import { ReplayState } from './replay-state.ts';
import { type ReplayProgress, sendBodies, startProgress } from './send-bodies.ts';

const NANOS_OF_MS = 1_000_000n;

export interface ReplayOptions extends OutputOptions, ServerOptions {
  readonly rate?: number;
  readonly concurrency: number;
  readonly shiftToNow?: boolean;
  readonly newIds?: boolean;
  readonly state?: string;
  readonly keyHeader?: string;
}

async function* bodiesOf(files: readonly string[]): AsyncGenerator<ReplayBody> {
  for (const file of files) yield* readBodies(file);
}

/** How far all times are moved, so that the latest one is now. */
async function shiftOf(files: readonly string[]): Promise<bigint> {
  if (files.includes('-')) {
    throw new OperatorError('--shift-to-now reads a file twice, which standard input cannot be');
  }
  let latest = 0n;
  for await (const { text } of bodiesOf(files)) {
    const own = latestTime(text);
    if (own > latest) latest = own;
  }
  return latest === 0n ? 0n : BigInt(Date.now()) * NANOS_OF_MS - latest;
}

interface NumberedBody extends ReplayBody {
  readonly number: number;
}

async function* rewritten(
  files: readonly string[],
  { shiftToNow, newIds }: ReplayOptions,
  state: ReplayState,
): AsyncGenerator<NumberedBody> {
  if (shiftToNow === true && state.shift === null) state.shift = await shiftOf(files);
  const shift = state.shift ?? 0n;
  // Before anything is sent: a replay that continues makes the same ids and times.
  await state.write();
  const { answered } = state;
  let number = -1;
  for await (const body of bodiesOf(files)) {
    number += 1;
    if (number < answered) continue;
    const moved = shift === 0n ? body.text : shiftTimes(body.text, shift);
    yield { ...body, number, text: newIds === true ? replaceIds(moved, state.salt) : moved };
  }
}

function describe(files: readonly string[], url: string, options: ReplayOptions): string {
  const sizes = files.map((file) => [
    file,
    statSync(file, { throwIfNoEntry: false })?.size ?? null,
  ]);
  return JSON.stringify([url, options.newIds === true, options.shiftToNow === true, sizes]);
}

const bodiesText = (count: number): string => `${count} ${count === 1 ? 'body' : 'bodies'}`;

function progressLine(progress: ReplayProgress, ms: number): string {
  const { accepted, refused, retries, retryReason, bytes } = progress;
  const rate = accepted / Math.max(ms / 1000, 0.001);
  const parts = [`${bodiesText(accepted)} stored`, bytesText(bytes), `${rate.toFixed(1)}/s`];
  if (refused > 0) parts.push(`${refused} refused`);
  if (retries > 0) parts.push(`${retries} retries (last: ${retryReason})`);
  return parts.join(' · ');
}

const WHY_STOPPED = {
  denied: 'Stopped: the server refuses the key or the URL.',
  unavailable: 'Stopped: the server did not store a body for 10 minutes.',
  interrupted: 'Stopped by a signal; the rest was not sent.',
} as const;

function summaryOf(progress: ReplayProgress, elapsedMs: number): string {
  const { rejectedRecords, faults, stopped } = progress;
  const shown = faults.map(({ place, status, message }) =>
    `  ${place}: ${plain(status)} ${plain(message)}`.trimEnd(),
  );
  return [
    `${progressLine(progress, elapsedMs)} in ${(elapsedMs / 1000).toFixed(1)} s`,
    ...(rejectedRecords > 0 ? [`${rejectedRecords} records were rejected by the server.`] : []),
    ...(shown.length > 0 ? ['Not stored:', ...shown] : []),
    ...(stopped === null ? [] : [paint.red(WHY_STOPPED[stopped])]),
  ].join('\n');
}

async function wait(ms: number, interruption: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: interruption }).catch(() => {
    // Interrupted: the sender looks at the signal itself.
  });
}

/** @throws {OperatorError} for wrong settings, and files that are no OTLP/JSON */
export async function runReplay(names: readonly string[], options: ReplayOptions): Promise<void> {
  const problems: string[] = [];
  const server = serverAndKey(options, readRelayEnvironment(process.env), problems);
  if (problems.length > 0) throw new ConfigError(problems);
  const key = server.readKey();
  const files = listReplayFiles(names);
  const { state: statePath = null, keyHeader } = options;
  if (statePath !== null && files.includes('-')) {
    throw new OperatorError('--state needs files: standard input cannot be read again');
  }
  const salt = randomBytes(16).toString('hex');
  const state = await ReplayState.open(statePath, describe(files, server.url, options), salt);
  const upstream = createUpstream({
    url: server.url,
    key: () => key,
    ...(keyHeader === undefined ? {} : { keyHeader }),
    userAgent: `sluice-replay/${programVersion()}`,
  });
  const progress = await sendAll(files, upstream, state, options);
  if (progress.stopped === null && state.refused > 0) process.exitCode = 1;
}

async function sendAll(
  files: readonly string[],
  upstream: Upstream,
  state: ReplayState,
  options: ReplayOptions,
): Promise<ReplayProgress> {
  const interruption = new AbortController();
  const stopListening = onStopSignal((signal) => interruption.abort(signal));
  const progress = startProgress();
  const startedMs = performance.now();
  let isComplete = false;
  const endProgress =
    options.json === true
      ? () => {}
      : showProgress(() => progressLine(progress, performance.now() - startedMs));
  try {
    const answered = ({ number }: NumberedBody, isRefused: boolean): void =>
      state.note(number, isRefused);
    const settings = { upstream, wait, answered, interruption: interruption.signal };
    const { concurrency, rate = null } = options;
    const bodies = rewritten(files, options, state);
    await sendBodies(bodies, { ...settings, concurrency, perSecond: rate }, progress);
    isComplete = progress.stopped === null;
  } finally {
    endProgress();
    stopListening();
    upstream.close();
    await state.end(isComplete);
  }
  const elapsedMs = Math.round(performance.now() - startedMs);
  const { rejectedRecords, retryReason, ...counts } = progress;
  const value = {
    ...counts,
    retry_reason: retryReason,
    rejected_records: rejectedRecords,
    elapsed_ms: elapsedMs,
  };
  answer(options, value, () => summaryOf(progress, elapsedMs));
  const { aborted, reason } = interruption.signal;
  if (aborted) process.exitCode = SIGNAL_EXIT_CODES[reason as StopSignal];
  else if (progress.stopped !== null) process.exitCode = 1;
  if (progress.stopped !== null && options.state !== undefined) {
    note('Run the same command again to continue.');
  }
  return progress;
}

// Makes another run of stored OTLP/JSON: new ids, and times shifted to now. Pure; replaces in the
// text, so that everything else stays as it was, numbers beyond the exact ones of JavaScript too.
//
// A member name of a text inside a text is not touched: its quotes have a backslash before them.

const TIMES =
  /"((?:start|end|observed)?[tT]imeUnixNano)"(\s*:\s*)(?:"(\d{1,20})"|(\d{1,20})(?=\s*[,}]))/g;
const IDS = /"(traceId|spanId|parentSpanId)"(\s*:\s*)"([0-9a-fA-F]{16}|[0-9a-fA-F]{32})"/g;
const UNSET = /^0+$/;

/** The latest time in a body, in nanoseconds since 1970; 0n without one. */
export function latestTime(text: string): bigint {
  let latest = 0n;
  for (const [, , , quoted, bare] of text.matchAll(TIMES)) {
    const time = BigInt(quoted ?? bare ?? 0);
    if (time > latest) latest = time;
  }
  return latest;
}

/** Moves every time by as much; a time that is not set (0) stays so. */
export function shiftTimes(text: string, byNanos: bigint): string {
  return text.replace(
    TIMES,
    (whole, name: string, colon: string, quoted?: string, bare?: string) => {
      const time = BigInt(quoted ?? bare ?? 0);
      if (time === 0n) return whole;
      const moved = time + byNanos;
      return `"${name}"${colon}"${moved < 0n ? 0n : moved}"`;
    },
  );
}

/** Equal ids stay equal, so that trees, links and logs still belong together. */
export function replaceIds(text: string, salt: string): string {
  return text.replace(IDS, (whole, name: string, colon: string, id: string) => {
    if (UNSET.test(id)) return whole;
    const digest = createHash('sha256').update(`${salt}:${id.toLowerCase()}`).digest('hex');
    return `"${name}"${colon}"${digest.slice(0, id.length)}"`;
  });
}
