/**
 * The server's process: configuration, start, summary, signals, stop, exit code.
 *
 * A first SIGINT or SIGTERM stops cleanly; a second one ends at once. Requests that were answered
 * 200 are committed either way.
 */
import { readFileSync } from 'node:fs';

import { reportFailure } from '../cli/failure.ts';
import { type Config, readConfig } from '../config.ts';
import { createObserver, type Events } from '../observe/events.ts';
import { type Started, serve } from './serve.ts';
import { StopOrder } from './stop-order.ts';
import { summarize } from './summary.ts';

const EXIT_FORCED = 130;
/**
 * One Ctrl-C under `npm start` arrives twice: from the terminal, and again from npm, which forwards
 * it. Only a signal that comes later than this after the first is a person's second.
 */
const SAME_SIGNAL_MS = 1000;

/** This program's version, as package.json has it. */
export function programVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** The configured URL, with the port that was really taken when any free one was asked for. */
function reachable(url: string, configuredPort: number, port: number): string {
  return configuredPort === 0 ? url.replace(/:0$/, `:${port}`) : url;
}

function printSummary(config: Config, started: Started, elapsedMs: number): void {
  const { ports, catalog, counts, databaseWhere, firstKeys } = started;
  const count = (status: string) =>
    catalog.rules.filter(
      (rule) =>
        rule.status === status && (rule.support === 'as_written' || rule.support === 'degraded'),
    ).length;
  process.stdout.write(
    summarize({
      config,
      version: programVersion(),
      elapsedMs,
      baseUrl: reachable(config.baseUrl, config.port, ports.base),
      observeUrl: reachable(config.observeUrl, config.observePort, ports.observe),
      metricsUrl: `http://127.0.0.1:${ports.admin}/metrics`,
      databaseWhere,
      snapshot: catalog.snapshot,
      counts,
      stableRunnable: count('stable'),
      experimentalRunnable: count('experimental'),
      firstKeys,
    }),
  );
}

function stopOnSignals(stops: StopOrder, events: Events): void {
  let firstAtMs: number | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (firstAtMs !== null) {
      if (performance.now() - firstAtMs > SAME_SIGNAL_MS) process.exit(EXIT_FORCED);
      return;
    }
    firstAtMs = performance.now();
    events.stopping(signal);
    void stops.run(events).then((clean) => {
      events.stopped();
      process.exit(clean ? 0 : 1);
    });
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}

/** Runs the server; resolves once it has started. The process ends by a signal. */
export async function runServer(): Promise<void> {
  const startedAt = performance.now();
  const stops = new StopOrder();
  try {
    const config = readConfig(process.env);
    const observer = createObserver(config.logLevel);
    stopOnSignals(stops, observer.events);
    try {
      const started = await serve(config, observer, stops);
      printSummary(config, started, performance.now() - startedAt);
    } catch (error) {
      await stops.run(observer.events);
      throw error;
    }
  } catch (error) {
    reportFailure(error);
    process.exit(1);
  }
}
