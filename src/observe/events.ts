/**
 * Everything that an operator may want to know, named in the past tense: one call writes the log line and moves the
 * counter. Called once per request or batch, never per row; never with step text, keys or payloads. The other files
 * declare the events, by topic.
 */
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Registry } from 'prom-client';

import { databaseEvents } from './database-events.ts';
import { type EventKinds, eventKinds } from './event-kinds.ts';
import { ingestEvents } from './ingest-events.ts';
import { passEvents } from './pass-events.ts';
import { readableLine } from './readable-line.ts';
import { serverEvents } from './server-events.ts';
import { traceEvents } from './trace-events.ts';

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

/**
 * The one observer of a process.
 *
 * @param level pino's level names
 * @param destination where lines go
 */
export function createObserver(level: string, destination: LogDestination = openLog()): Observer {
  const log = pino({ level, base: null }, destination);
  const kinds = eventKinds(log, 'sluice', 'Faults that were answered or retried, by place.');
  return { events: createEvents(log, kinds), registry: kinds.registry };
}
