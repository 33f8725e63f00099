/**
 * Everything that an operator may want to know, named in the past tense: one call writes the log line and moves the
 * counter. Called once per request or batch, never per row; never with step text, keys or payloads. The other files
 * declare the events, by topic.
 */
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Registry } from 'prom-client';
import { showOnOneLine } from '../model/invisible.ts';
import { databaseEvents } from './database-events.ts';
import { type EventKinds, eventKinds } from './event-kinds.ts';
import { ingestEvents } from './ingest-events.ts';
import { passEvents } from './pass-events.ts';
import { serverEvents } from './server-events.ts';

function createEvents(log: Logger, kinds: EventKinds) {
  return {
    ...ingestEvents(log, kinds),
    ...databaseEvents(log, kinds),
    ...passEvents(log, kinds),
    ...serverEvents(log, kinds),
    ...traceEvents(log),
  };
}

export type Events = ReturnType<typeof createEvents>;

/** Where log lines go, each whole and with its line end. */
export type LogDestination = DestinationStream;

export interface MetricsText {
  readonly contentType: string;
  readonly metrics: () => Promise<string>;
}

/**
 * Opens standard error, so that standard output stays a command's answer. When it cannot be written (a
 * closed terminal, a full disk), lines are lost and the process continues. Lines are JSON, and readable in a
 * terminal.
 */
export function openLog(): LogDestination {
  const log = pino.destination({ dest: 2, sync: false });
  log.on('error', () => {});
  if (process.stderr.isTTY !== true) return log;
  return { write: (line) => log.write(readableLine(line)) };
}

export interface Observer {
  readonly events: Events;
  readonly registry: Registry;
}

export function createObserver(level: string, destination: LogDestination = openLog()): Observer {
  const log = pino({ level, base: null }, destination);
  const kinds = eventKinds(log, 'sluice', 'Faults that were answered or retried, by place.');
  return { events: createEvents(log, kinds), registry: kinds.registry };
}

const LEVELS: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};
const LEVEL_WIDTH = 5;

function clockOf(ms: number): string {
  const at = new Date(ms);
  const two = (part: number): string => String(part).padStart(2, '0');
  const day = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
  return `${day}.${String(at.getMilliseconds()).padStart(3, '0')}`;
}

/** A word as it is, anything else as JSON. */
function factText(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/@-]+$/.test(value) ? value : JSON.stringify(value);
}

/** @returns one line with its line end, without invisible characters; a line that is no JSON object as it was */
export function readableLine(line: string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return line;
  }
  if (typeof parsed !== 'object' || parsed === null) return line;
  const { time, level, msg, ...facts } = parsed as Record<string, unknown>;
  if (typeof time !== 'number' || typeof level !== 'number') return line;
  const name = (LEVELS[level] ?? String(level)).padEnd(LEVEL_WIDTH);
  const shown = Object.entries(facts).map(([key, value]) => `${key}=${factText(value)}`);
  const text = [`${clockOf(time)} ${name} ${String(msg ?? '')}`, ...shown].join('  ');
  return `${showOnOneLine(text)}\n`;
}

interface TracedRun {
  readonly workspaceId: number;
  readonly runId: string;
}

/** Logs a step of a request, with the time since its head was read. Facts never hold a sender's text. */
export type RequestTrace = (step: string, facts?: object) => void;

function traceEvents(log: Logger) {
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
