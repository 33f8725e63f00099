/**
 * The server's process: configuration, start, summary, signals, stop, exit code.
 *
 * A first SIGINT, SIGTERM or SIGHUP stops cleanly, also during the start; a second one ends at once.
 * Requests that were answered 200 are committed either way.
 */

import { setFlagsFromString } from 'node:v8';

import { type Config, defaultUrl, readConfig } from '../config/config.ts';
import { createObserver, type Events } from '../observe/events.ts';
import { reportFailure } from '../terminal/failure.ts';
import { programVersion } from './program-version.ts';
import { type Started, serve } from './serve.ts';
import { StopOrder } from './stop-order.ts';
import { onStopSignal } from './stop-signals.ts';
import { summarize } from './summary.ts';

/**
 * V8's limits on inlining, in bytes of bytecode; its defaults are 460 and 920. With these it inlines
 * the scanner's small functions: 4 to 6 % less CPU time per span (Node 20.20, `bench -- ingest`).
 */
const INLINING_FLAGS = [
  '--max-inlined-bytecode-size=900',
  '--max-inlined-bytecode-size-cumulative=2500',
];

/** The configured URL, with the actual port where 0 (any free port) was configured. */
function reachable(url: string, configuredPort: number, port: number): string {
  return configuredPort === 0 ? url.replace(/:0$/, `:${port}`) : url;
}

function printSummary(config: Config, started: Started, elapsedMs: number): void {
  const { ports, snapshot, counts, states, workspace, databaseWhere, firstKeys } = started;
  process.stdout.write(
    summarize({
      config,
      version: programVersion(),
      elapsedMs,
      baseUrl: reachable(config.baseUrl, config.port, ports.base),
      observeUrl: reachable(config.observeUrl, config.observePort, ports.observe),
      metricsUrl: `${defaultUrl(config.adminHost, ports.admin)}/metrics`,
      databaseWhere,
      snapshot,
      counts,
      states,
      workspace,
      firstKeys,
    }),
  );
}

function stopInOrder(stops: StopOrder, events: Events, reason: string, code: number): void {
  events.stopping(reason);
  void stops.run(events).then((clean) => {
    events.stopped();
    process.exit(clean ? code : 1);
  });
}

/** Runs the server; resolves once it has started. The process ends by a signal. */
export async function runServer(): Promise<void> {
  const startedAt = performance.now();
  for (const flag of INLINING_FLAGS) setFlagsFromString(flag);
  const stops = new StopOrder();
  try {
    const config = readConfig(process.env);
    const observer = createObserver(config.logLevel);
    const { events } = observer;
    for (const warning of config.warnings) events.warned(warning);
    onStopSignal((signal) => stopInOrder(stops, events, signal, 0));
    const onFailure = (what: string): void => stopInOrder(stops, events, what, 1);
    try {
      const started = await stops.during(() => serve(config, observer, stops, onFailure));
      // Also while it is being stopped if there are keys: they are shown only once.
      if (!stops.isStopping || started.firstKeys !== null)
        printSummary(config, started, performance.now() - startedAt);
    } catch (error) {
      // Ctrl-C also reaches initdb, so a start that is being stopped may end in many ways.
      const isStopping = stops.isStopping;
      await stops.run(events);
      if (!isStopping) throw error;
    }
  } catch (error) {
    reportFailure(error);
    process.exit(1);
  }
}
