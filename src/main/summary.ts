/** The text printed when the server has started. */

import type { Config } from '../config/config.ts';
import type { FirstKeys } from '../db/people/first-start.ts';
import type { Snapshot, StateCounts, SupportCounts } from '../model/rules.ts';
import { runtimeFault } from '../terminal/node-runtime.ts';
import { paint } from '../terminal/paint.ts';
import { corpusLine, stateLines } from '../terminal/rule-counts.ts';

export interface SummaryFacts {
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

export function summarize(facts: SummaryFacts): string {
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
