/** Prepares an export from its options, runs it and reports. */
import { existsSync, statSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseClock } from '../../db/database-clock.ts';
import { findWorkspace } from '../../db/people/workspaces.ts';
import { OperatorError } from '../../errors.ts';
import { momentOrAgo, toDate } from '../../http/transport/input.ts';
import { onStopSignal } from '../../main/stop-order.ts';
import type { Signal } from '../../model/telemetry.ts';
import { note, paint } from '../../terminal/output.ts';
import { answer, bytesText, type OutputOptions, showProgress } from '../answer.ts';
import { readClock, withDatabase } from '../with-database.ts';
import {
  type Compression,
  compressionOf,
  compressorOf,
  ENDINGS,
  type ExportOutput,
  fileOutput,
  folderOutput,
  OutputClosed,
  SIGNALS,
  standardOutput,
} from './export-output.ts';
import { newState, readState, removeState } from './export-state.ts';
import { ExportWriter } from './export-writer.ts';
import { type ExportProgress, type ExportWork, exportAll } from './run-export.ts';

/** Not everything could be read. */
const INCOMPLETE = 2;
const STATE_NAME = 'export-state.json';

export interface ExportOptions extends OutputOptions {
  readonly out?: string;
  readonly signal?: readonly Signal[];
  readonly since?: string;
  readonly until?: string;
  readonly arrived?: { readonly first: string; readonly last: string };
  readonly lateDays: number;
  readonly service?: string;
  readonly agent?: string;
  readonly run?: readonly string[];
  readonly compress?: Compression;
  readonly workspace?: string;
  readonly despiteRedaction?: boolean;
  readonly fullSpeed?: boolean;
}

interface Destination {
  readonly output: ExportOutput;
  readonly compression: Compression;
  /** null: the export cannot be continued */
  readonly statePath: string | null;
  readonly isFolder: boolean;
}

async function destinationOf({ out, compress }: ExportOptions): Promise<Destination> {
  if (out === undefined || out === '-') {
    const compression = compress ?? 'none';
    if (compression !== 'none' && process.stdout.isTTY === true) {
      throw new OperatorError('Compressed data is not written to a terminal: use --out, or a pipe');
    }
    return { output: standardOutput, compression, statePath: null, isFolder: false };
  }
  const isFolder = out.endsWith('/') || (existsSync(out) && statSync(out).isDirectory());
  if (!isFolder) {
    const statePath = `${out}.${STATE_NAME}`;
    const compression = compress ?? compressionOf(out);
    if (existsSync(out) && !existsSync(statePath)) {
      throw new OperatorError(`${out} exists already: name another file, or remove it`);
    }
    return { output: fileOutput(out), compression, statePath, isFolder };
  }
  await mkdir(out, { recursive: true });
  const statePath = join(out, STATE_NAME);
  if (!existsSync(statePath) && (await readdir(out)).length > 0) {
    throw new OperatorError(
      `${out} has files, and no ${STATE_NAME} of an export: name an empty or new folder`,
    );
  }
  const compression = compress ?? 'gzip';
  return { output: folderOutput(out, ENDINGS[compression]), compression, statePath, isFolder };
}

function checkOptions({ out, json, agent, run, signal, arrived }: ExportOptions): void {
  const byRun = agent !== undefined || run !== undefined;
  if (agent !== undefined && run !== undefined)
    throw new OperatorError('Use --agent or --run, not both');
  if (byRun && signal?.includes('metrics') === true) {
    throw new OperatorError(
      'Metrics belong to no run: leave out --signal metrics, or --agent and --run',
    );
  }
  if (byRun && arrived !== undefined) {
    throw new OperatorError('--agent and --run export whole runs: leave out --arrived');
  }
  if (json === true && (out === undefined || out === '-')) {
    throw new OperatorError(
      '--json prints a summary to standard output, where the export is: use --out',
    );
  }
}

function namedOptions(options: ExportOptions, workspace: string, compression: Compression) {
  const { signal, since, until, arrived, lateDays, service, agent, run } = options;
  const named = {
    workspace,
    compress: compression,
    signal: signal === undefined ? undefined : [...signal].sort().join(' '),
    since,
    until,
    arrived: arrived === undefined ? undefined : `${arrived.first}..${arrived.last}`,
    'late-days': String(lateDays),
    service,
    agent,
    run: run?.join(' '),
  };
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function momentOf(option: string, text: string | undefined, clock: DatabaseClock): number | null {
  if (text === undefined) return null;
  const moment = momentOrAgo.safeParse(text);
  const [issue] = moment.error?.issues ?? [];
  if (!moment.success) throw new OperatorError(`${option} ${issue?.message ?? 'is no time'}`);
  return toDate(moment.data, clock.nowMs())?.getTime() ?? null;
}

/** @throws {OperatorError} for options that do not fit, and where it cannot be written */
export async function startExport(options: ExportOptions): Promise<void> {
  checkOptions(options);
  const startedMs = performance.now();
  await withDatabase(async ({ database }) => {
    const workspace = await findWorkspace(database, options.workspace ?? null);
    if (workspace.redactExcerpts && options.despiteRedaction !== true) {
      throw new OperatorError(
        'This workspace redacts excerpts, and an export has whole texts: use --despite-redaction if you ' +
          'may have them',
      );
    }
    const { output, compression, statePath, isFolder } = await destinationOf(options);
    const compress = compressorOf(compression);
    const clock = await readClock(database);
    const named = namedOptions(options, workspace.slug, compression);
    const before = statePath === null ? null : await readState(statePath, named);
    const sinceMs = momentOf('--since', options.since, clock);
    const untilMs = momentOf('--until', options.until, clock);
    const state = before ?? newState(named, sinceMs, untilMs);
    const writer = new ExportWriter({ output, compress, state, statePath });
    const work: ExportWork = {
      database,
      clock,
      workspaceId: workspace.id,
      signals: options.signal ?? SIGNALS,
      filter: {
        sinceMs: state.since_ms,
        untilMs: state.until_ms,
        service: options.service ?? null,
      },
      lateDays: options.lateDays,
      arrived: options.arrived ?? null,
      runs: runsOf(options),
      isFullSpeed: options.fullSpeed === true,
      output,
      writer,
      state,
      progress: newProgress(),
    };
    await runToEnd(work, before !== null, statePath);
    if (statePath !== null && !isFolder) {
      await writer.createIfMissing(options.out ?? '');
      await removeState(statePath);
    }
    report(options, work, performance.now() - startedMs, isFolder);
  });
}

function runsOf({ agent, run }: ExportOptions): ExportWork['runs'] {
  if (agent !== undefined) return { agent };
  return run === undefined ? null : { ids: run };
}

function newProgress(): ExportProgress {
  const counts = { records: 0, blocks: 0, readBytes: 0, days: 0, daysInAll: 0, runs: 0 };
  return { ...counts, day: null, endsLive: false };
}

async function runToEnd(
  work: ExportWork,
  isResumed: boolean,
  statePath: string | null,
): Promise<void> {
  const stopListening = onStopSignal(() => {
    if (statePath !== null) note('Stopped. Run the same command again to continue.');
  });
  const endProgress = showProgress(() => progressLine(work));
  try {
    await exportAll(work, isResumed);
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error;
  } finally {
    endProgress();
    stopListening();
  }
}

function progressLine({ progress, writer }: ExportWork): string {
  const { records, readBytes, days, daysInAll, day, runs } = progress;
  const where = day === null ? `${runs} runs` : `${day} (day ${days + 1} of ${daysInAll})`;
  return [
    where,
    `${records} records`,
    `${bytesText(readBytes)} read`,
    `${bytesText(writer.writtenBytes)} written`,
  ].join(' · ');
}

function report(
  options: ExportOptions,
  { progress, writer, state }: ExportWork,
  elapsedMs: number,
  isFolder: boolean,
): void {
  const { records, blocks, readBytes, days, runs, endsLive } = progress;
  const unreadable = state.unreadable.map(({ block }) => block);
  if (unreadable.length > 0) process.exitCode = INCOMPLETE;
  const value = {
    records,
    blocks,
    read_bytes: readBytes,
    written_bytes: writer.writtenBytes,
    days,
    runs,
    last_day_is_over: !endsLive,
    unreadable_blocks: unreadable,
    elapsed_ms: Math.round(elapsedMs),
  };
  const text = summaryOf(value, isFolder);
  if (options.out === undefined || options.out === '-') note(text);
  else answer(options, value, () => text);
}

interface Summary {
  readonly records: number;
  readonly read_bytes: number;
  readonly written_bytes: number;
  readonly last_day_is_over: boolean;
  readonly unreadable_blocks: readonly string[];
  readonly elapsed_ms: number;
}

function summaryOf(done: Summary, isFolder: boolean): string {
  const { unreadable_blocks: unreadable } = done;
  const blocks = `${unreadable.length} ${unreadable.length === 1 ? 'block' : 'blocks'}`;
  return [
    `${done.records} records exported · ${bytesText(done.read_bytes)} read · ` +
      `${bytesText(done.written_bytes)} written · ${(done.elapsed_ms / 1000).toFixed(1)} s`,
    ...(isFolder && !done.last_day_is_over
      ? ['The last day is not over. Run the same command again to add what has arrived since.']
      : []),
    ...(unreadable.length > 0
      ? [
          paint.red(
            `${blocks} could not be read; the records are missing: ${unreadable.slice(0, 20).join(', ')}`,
          ),
        ]
      : []),
  ].join('\n');
}
