/**
 * The server's process: configuration, start, summary, signals, stop, exit code.
 *
 * A first SIGINT, SIGTERM or SIGHUP stops cleanly, also during the start; a second one ends at once.
 * Requests that were answered 200 are committed either way.
 */
import { setFlagsFromString } from 'node:v8';
import { type Config, defaultUrl, readConfig } from '../config/config.ts';
import type { FirstKeys } from '../db/people/first-start.ts';
import type { Snapshot, StateCounts, SupportCounts } from '../model/rules.ts';
import { createObserver, type Events } from '../observe/events.ts';
import { runtimeFault } from '../terminal/node-runtime.ts';
import { paint, reportFailure } from '../terminal/output.ts';
import { corpusLine, stateLines } from '../terminal/rule-counts.ts';
import { programVersion } from './program-version.ts';
import { type Started, serve } from './serve.ts';
import { onStopSignal, StopOrder } from './stop-order.ts';

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

interface SummaryFacts {
  readonly config: Config;
  readonly version: string;
  readonly elapsedMs: number;
  readonly baseUrl: string;
  readonly observeUrl: string;
  readonly metricsUrl: string;
  readonly databaseWhere: string;
  readonly snapshot: Snapshot;
  readonly counts: SupportCounts;
  /** of `workspace`, which is the first one */
  readonly states: StateCounts;
  readonly workspace: string;
  readonly firstKeys: FirstKeys | null;
}

const LABEL_WIDTH = 11;

function line(label: string, text: string): string {
  return `  ${paint.dim(label.padEnd(LABEL_WIDTH))}${text}`;
}

function ruleLines({ states, workspace, snapshot, counts }: SummaryFacts): string[] {
  const [running, others] = stateLines(states);
  return [
    line('rules', `${running} ${paint.dim(`(workspace "${workspace}")`)}`),
    line('', paint.dim(others)),
    line('', paint.dim(corpusLine(snapshot, counts))),
  ];
}

function keyLines(keys: FirstKeys | null, baseUrl: string): string[] {
  if (keys === null) {
    return [
      line('keys', 'npx sluice key list · npx sluice key create --kind agent --name NAME'),
      line('password', 'npx sluice user reset-password EMAIL, if it is lost'),
    ];
  }
  return [
    `  ${paint.bold(`Keys of workspace "${keys.workspace}"`)}, shown only once; copy them now:`,
    line('agent', paint.green(keys.agentKey)),
    line('workspace', paint.green(keys.workspaceKey)),
    `  ${paint.bold('Sign in')} at ${baseUrl}/app/sign-in with this password, shown only once:`,
    line('owner', keys.owner.email),
    line('password', paint.green(keys.owner.password)),
  ];
}

function warnings(): string[] {
  const fault = runtimeFault({ version: process.versions.node, platform: process.platform });
  return fault === null ? [] : [line('warning', fault)];
}

function summarize(facts: SummaryFacts): string {
  const { config, firstKeys } = facts;
  const limits =
    config.redisUrl === null ? 'counted per process (REDIS_URL is not set)' : 'shared over Redis';
  const key = firstKeys?.agentKey ?? '<AGENT_KEY>';
  const seconds = (facts.elapsedMs / 1000).toFixed(1);
  return [
    '',
    `  ${paint.bold(`Sluice ${facts.version}`)} is ready ${paint.dim(`after ${seconds} s`)}`,
    '',
    line('base', paint.cyan(facts.baseUrl)),
    line('observe', `${paint.cyan(facts.observeUrl)}  ${paint.dim('OTLP/HTTP default paths')}`),
    line('metrics', facts.metricsUrl),
    line('database', facts.databaseWhere),
    line('limits', limits),
    ...warnings(),
    ...ruleLines(facts),
    '',
    ...keyLines(firstKeys, facts.baseUrl),
    '',
    `  ${paint.bold('Point an exporter here')}`,
    `    export OTEL_EXPORTER_OTLP_ENDPOINT=${facts.observeUrl}`,
    '    export OTEL_EXPORTER_OTLP_PROTOCOL=http/json',
    `    export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20${key}"`,
    '',
    `  ${paint.dim('Try it: run npm run demo in a second terminal. Stop: Ctrl-C.')}`,
    '',
    '',
  ].join('\n');
}
