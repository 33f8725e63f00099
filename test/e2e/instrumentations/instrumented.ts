/**
 * What every proof with a real instrumentation shares: a running server, an OpenTelemetry SDK that
 * exports to it, and the look at what came of a run.
 *
 * The attack is one that a rule about any text finds, so that the surface it is found on tells where
 * the instrumentation's text was put.
 */
import { context, propagation, type Span, trace } from '@opentelemetry/api';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-node';
import { expect } from 'vitest';
import { extractSurfaces } from '../../engine/surfaces/extract-surfaces.ts';
import { ATTACK, ATTACK_RULE } from '../../support/rows.ts';
import { readSteps } from '../../support/stored-runs.ts';
import { waitFor } from '../../support/wait-for.ts';
import { read } from '../gateway.ts';
import { openSharedGateway, type SharedGateway } from '../shared-gateway.ts';

const EVALUATED_WITHIN_MS = 60_000;

/** What is said in a run, place by place; each is sent once and nowhere else. */
export interface Story {
  readonly user: string;
  readonly toolArgs: string;
  readonly toolResult: string;
  readonly answer: string;
}

const QUIET: Story = {
  user: 'Where is parcel 4471?',
  toolArgs: 'parcel 4471',
  toolResult: 'It left the depot at noon.',
  answer: 'It is on its way to you.',
};

/** Where the attack is planted → the surface it must be found on. */
export const PLANTED = [
  ['user', 'step_input'],
  ['toolArgs', 'tool_args'],
  ['toolResult', 'tool_result'],
  ['answer', 'agent_output'],
] as const satisfies readonly (readonly [keyof Story, string])[];

export interface Instrumented {
  readonly gateway: SharedGateway;
  readonly tracerProvider: NodeTracerProvider;
  readonly loggerProvider: LoggerProvider;
  /** Runs the story with the attack in one place and tells on which surface it was found. */
  readonly plant: (place: keyof Story, tell: (story: Story) => Promise<void>) => Promise<string>;
  /** Runs the quiet story: what was read of it, each text with its surface, in order. */
  readonly surfaces: (tell: (story: Story) => Promise<void>) => Promise<string[]>;
  /** The definitions of tools that its runs have sent so far. */
  readonly tools: () => Promise<string[]>;
  readonly close: () => Promise<void>;
}

export async function openInstrumented(): Promise<Instrumented> {
  const gateway = await openSharedGateway();
  const { observeUrl, baseUrl } = gateway.server;
  const headers = { authorization: `Bearer ${gateway.keys.agent}` };
  const openSpans = new Set<ReadableSpan>();
  const tracerProvider = new NodeTracerProvider({
    spanProcessors: [
      {
        onStart: (span) => openSpans.add(span as unknown as ReadableSpan),
        onEnd: (span) => openSpans.delete(span),
        forceFlush: async () => {},
        shutdown: async () => {},
      },
      new BatchSpanProcessor(new OTLPTraceExporter({ url: `${observeUrl}/v1/traces`, headers })),
    ],
  });
  const loggerProvider = new LoggerProvider({
    processors: [
      new BatchLogRecordProcessor({
        exporter: new OTLPLogExporter({ url: `${observeUrl}/v1/logs`, headers }),
      }),
    ],
  });
  tracerProvider.register();

  /** Tells a story inside a root span of our own, so that its run is known. */
  async function run(story: Story, tell: (story: Story) => Promise<void>): Promise<string> {
    const root: Span = tracerProvider.getTracer('test').startSpan('POST /chat');
    try {
      await context.with(trace.setSpan(context.active(), root), () => tell(story));
    } finally {
      root.end();
    }
    // An instrumentation reads its own copy of a stream, and ends the span when it has read it.
    await waitFor(() => openSpans.size === 0, {
      withinMs: EVALUATED_WITHIN_MS,
      what: () => `these spans end: ${[...openSpans].map(({ name }) => name).join(', ')}`,
    });
    await loggerProvider.forceFlush();
    await tracerProvider.forceFlush();
    const runId = root.spanContext().traceId;
    await waitFor(
      async () => {
        const { rows } = await gateway.database.query(
          "SELECT FROM runs WHERE run_id = $1 AND evaluation = 'evaluated'",
          [runId],
        );
        return rows.length === 1;
      },
      { withinMs: EVALUATED_WITHIN_MS, what: 'the run is evaluated' },
    );
    return runId;
  }

  return {
    gateway,
    tracerProvider,
    loggerProvider,
    plant: async (place, tell) => {
      const runId = await run({ ...QUIET, [place]: `${QUIET[place]} ${ATTACK}` }, tell);
      const url = `${baseUrl}/platform/v1/risk-findings?run_id=${runId}&rule_id=${ATTACK_RULE}`;
      const { findings } = await read<{ findings: { metadata: { surface: string } }[] }>(
        url,
        gateway.keys.workspace,
      );
      expect(findings).toHaveLength(1);
      return findings[0]?.metadata.surface ?? '';
    },
    surfaces: async (tell) => {
      const runId = await run(QUIET, tell);
      const { rows } = await gateway.database.query<{ first: string; last: string }>(
        `SELECT first_arrival_at::date::text AS first, last_arrival_at::date::text AS last
           FROM runs WHERE run_id = $1`,
        [runId],
      );
      const { first = '', last = '' } = rows[0] ?? {};
      const { steps } = await readSteps(gateway.database, {
        workspaceId: gateway.workspace.id,
        runId,
        firstArrivalOn: first,
        lastArrivalOn: last,
      });
      const texts = extractSurfaces(steps).texts.map(({ surface, text }) => `${surface}: ${text}`);
      return [...new Set(texts)].sort();
    },
    tools: async () => {
      const { rows } = await gateway.database.query<{ tool: string }>(
        `SELECT concat_ws(' ', name || ':', description, schema) AS tool FROM tool_definitions
          WHERE workspace_id = $1 ORDER BY 1`,
        [gateway.workspace.id],
      );
      return rows.map(({ tool }) => tool);
    },
    close: async () => {
      await tracerProvider.shutdown();
      // The worker keeps its modules: the next file registers a provider of its own.
      for (const global of [trace, context, propagation]) global.disable();
      await loggerProvider.shutdown();
      await gateway.close();
    },
  };
}
