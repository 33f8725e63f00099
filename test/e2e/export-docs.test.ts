/**
 * The queries of docs/export.md, as they are printed there, on an export of what OpenTelemetry's SDK sent to a running
 * server.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import {
  AggregationTemporalityPreference,
  OTLPMetricExporter,
} from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { JsonObject } from '../../src/model/json.ts';
import { decodeProtobufRequest } from '../../src/relay/protobuf/protobuf-request.ts';
import { encodeProtobuf } from '../relay/otlp-protobuf.ts';
import { runCommand } from '../support/command.ts';
import { canRunJq } from '../support/programs.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Gateway, openGateway } from './gateway.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/export.md'), 'utf8');
const blocksOf = (language: string): string[] =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, text = '']) => text,
  );
const SQL = blocksOf('sql');
/** Two calls of a day and one of the day before. */
const NOW_S = Math.floor(Date.now() / 1000);
const DAY_S = 86_400;
const dayOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

let gateway: Gateway;
let folder: string;
let duck: DuckDBConnection;

const destination = (path: string) => ({
  url: `${gateway.server.observeUrl}${path}`,
  headers: { authorization: `Bearer ${gateway.keys.agent}` },
});
const resource = (name: string) => resourceFromAttributes({ 'service.name': name });

async function sendSpans(): Promise<void> {
  for (const [service, failures] of [
    ['shop-agent', 1],
    ['bank-agent', 0],
  ] as const) {
    const processor = new BatchSpanProcessor(new OTLPTraceExporter(destination('/v1/traces')));
    const provider = new BasicTracerProvider({
      resource: resource(service),
      spanProcessors: [processor],
    });
    const tracer = provider.getTracer('agent');
    for (const [at, tokens] of [
      [NOW_S, 10],
      [NOW_S, 20],
      [NOW_S - DAY_S, 5],
    ] as const) {
      const chat = tracer.startSpan('chat m', {
        startTime: [at, 0],
        attributes: {
          'gen_ai.request.model': 'model-1',
          'gen_ai.usage.input_tokens': tokens,
          'gen_ai.usage.output_tokens': 1,
        },
      });
      chat.end([at + 1, 0]);
    }
    for (const [tool, ms] of [
      ['search', 1500],
      ['search', 500],
      ['send_mail', 20],
    ] as const) {
      const span = tracer.startSpan(`execute_tool ${tool}`, {
        startTime: [NOW_S, 0],
        attributes: { 'gen_ai.tool.name': tool },
      });
      if (ms < 100 && failures > 0) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end([NOW_S + Math.floor(ms / 1000), (ms % 1000) * 1_000_000]);
    }
    await provider.shutdown();
  }
}

async function sendLogs(): Promise<void> {
  const provider = new LoggerProvider({
    resource: resource('shop-agent'),
    processors: [
      new BatchLogRecordProcessor({ exporter: new OTLPLogExporter(destination('/v1/logs')) }),
    ],
  });
  const logger = provider.getLogger('agent');
  logger.emit({ body: 'The Refund was paid.', severityNumber: SeverityNumber.INFO });
  logger.emit({ body: 'A parcel', attributes: { intent: 'refund' } });
  logger.emit({ body: { reason: 'no refund' }, severityNumber: SeverityNumber.ERROR });
  logger.emit({ body: 'Nothing of interest' });
  await provider.shutdown();
}

/** As Claude Code does (code.claude.com/docs/en/monitoring-usage, "Metrics"). */
async function sendMetrics(): Promise<void> {
  const exporter = new OTLPMetricExporter({
    ...destination('/v1/metrics'),
    temporalityPreference: AggregationTemporalityPreference.DELTA,
  });
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ resource: resource('claude-code'), readers: [reader] });
  const meter = provider.getMeter('com.anthropic.claude_code');
  const tokens = meter.createCounter('claude_code.token.usage');
  const cost = meter.createCounter('claude_code.cost.usage');
  for (const count of [100, 50]) {
    tokens.add(count, { type: 'input', model: 'claude-test' });
    tokens.add(count / 10, { type: 'output', model: 'claude-test' });
    cost.add(count / 1000, { model: 'claude-test' });
    await provider.forceFlush();
  }
  meter.createCounter('claude_code.session.count').add(1);
  meter.createHistogram('other').record(1);
  await provider.shutdown();
}

beforeAll(async () => {
  gateway = await openGateway();
  folder = mkdtempSync(join(tmpdir(), 'sluice-export-docs-'));
  await sendSpans();
  await sendLogs();
  await sendMetrics();
  const words = ['export', '-o', join(folder, 'archive/')];
  expect(await runCommand(words, { DATABASE_URL: gateway.databaseUrl })).toMatchObject({ code: 0 });
  duck = await (await DuckDBInstance.create(':memory:')).connect();
  await duck.run(`SET file_search_path = '${folder}'; SET TimeZone = 'UTC'`);
  await duck.run(SQL[0] ?? '');
});
afterAll(async () => {
  duck.closeSync();
  await gateway.close();
  rmSync(folder, { recursive: true });
});

const ask = async (sql: string) => (await duck.runAndReadAll(sql)).getRowObjectsJson();

test('the page has views and five queries', () => {
  expect(SQL).toHaveLength(6);
});

test('tokens by model and day', async () => {
  const calls = (day: number, n: number, tokens: number) => ({
    day: dayOf(day),
    model: 'model-1',
    calls: String(n),
    input_tokens: tokens,
    output_tokens: n,
  });
  expect(await ask(SQL[1] ?? '')).toEqual([calls(NOW_S - DAY_S, 2, 10), calls(NOW_S, 4, 60)]);
});

test('slowest tools', async () => {
  const rows = await ask(SQL[2] ?? '');
  expect(rows).toMatchObject([
    { tool: 'search', calls: '4', slowest_ms: 1500 },
    { tool: 'send_mail', calls: '2', p95_ms: 20, slowest_ms: 20 },
  ]);
});

test('error rate by service', async () => {
  expect(await ask(SQL[3] ?? '')).toEqual([
    { service: 'shop-agent', spans: '6', failed: '1', percent: 16.7 },
    { service: 'bank-agent', spans: '6', failed: '0', percent: 0 },
  ]);
});

test('metrics of Claude Code', async () => {
  const rows = await ask(SQL[4] ?? '');
  expect(
    rows.map(({ day: _, total, ...row }) => ({ ...row, total: Number(total).toFixed(2) })),
  ).toEqual([
    { metric: 'claude_code.cost.usage', model: 'claude-test', type: null, total: '0.15' },
    { metric: 'claude_code.token.usage', model: 'claude-test', type: 'input', total: '150.00' },
    { metric: 'claude_code.token.usage', model: 'claude-test', type: 'output', total: '15.00' },
  ]);
});

test('a search in log records', async () => {
  const rows = await ask(SQL[5] ?? '');
  const bodies = rows.map(({ body }) => String(body)).sort();
  expect(bodies).toHaveLength(3);
  expect(bodies.join()).toContain('The Refund was paid.');
  expect(bodies.join()).toContain('no refund');
  expect(bodies.join()).not.toContain('Nothing');
});

/** A request without defaults, which protobuf does not have, and with numbers as text. */
function withoutDefaults(request: string): unknown {
  return JSON.parse(request, (_, value: unknown) => {
    if (value === null || value === false || value === '' || Number(value) === 0) return undefined;
    return typeof value === 'number' ? String(value) : value;
  });
}

test('each line is a message of OTLP: in protobuf and back it has the same members', async () => {
  const archive = join(folder, 'plain');
  const words = ['export', '--compress', 'none', '-o', `${archive}/`];
  expect(await runCommand(words, { DATABASE_URL: gateway.databaseUrl })).toMatchObject({ code: 0 });
  for (const signal of ['traces', 'logs', 'metrics'] as const) {
    const files = readdirSync(join(archive, signal)).map((name) => join(archive, signal, name));
    const lines = files.flatMap((path) => readFileSync(path, 'utf8').split('\n').slice(0, -1));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      const message = encodeProtobuf(signal, JSON.parse(line) as JsonObject);
      expect(withoutDefaults(decodeProtobufRequest(signal, message))).toEqual(
        withoutDefaults(line),
      );
    }
  }
});

test('whole runs of an agent, and records of a service, of what the SDK sent', async () => {
  const processor = new BatchSpanProcessor(new OTLPTraceExporter(destination('/v1/traces')));
  const provider = new BasicTracerProvider({
    resource: resource('triage'),
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer('agent');
  const names = { 'gen_ai.agent.name': 'Triage', 'gen_ai.operation.name': 'invoke_agent' };
  const root = tracer.startSpan('invoke_agent Triage', { attributes: names });
  const within = trace.setSpan(ROOT_CONTEXT, root);
  tracer.startSpan('execute_tool search', {}, within).end();
  root.end();
  await provider.shutdown();
  const exported = async (...words: readonly string[]): Promise<string[]> => {
    const settings = { DATABASE_URL: gateway.databaseUrl };
    const { stdout } = await runCommand(['export', ...words], settings);
    const lines = stdout.split('\n').slice(0, -1);
    return lines.flatMap((line) =>
      [...line.matchAll(/"name":"(\w+ \w+)"/g)].map(([, name]) => name ?? ''),
    );
  };
  const own = ['execute_tool search', 'invoke_agent Triage'];
  await waitFor(async () => (await exported('--agent', 'Triage')).length > 0, {
    withinMs: 60_000,
    what: 'the run is evaluated',
  });
  expect((await exported('--agent', 'Triage')).sort()).toEqual(own);
  expect((await exported('--run', root.spanContext().traceId)).sort()).toEqual(own);
  expect((await exported('--service', 'triage')).sort()).toEqual(own);
  expect(await exported('--service', 'bank-agent', '--signal', 'traces')).toHaveLength(6);
});

test('a Parquet file has the same spans', async () => {
  const path = join(folder, 'spans.parquet');
  await duck.run(`COPY (FROM spans) TO '${path}'`);
  expect(await ask(`SELECT count(*) AS n FROM '${path}'`)).toEqual([{ n: '12' }]);
});

test.runIf(canRunJq)('the commands with jq', () => {
  const lines = blocksOf('sh').flatMap((block) =>
    block.split('\n').filter((line) => line.startsWith('zcat')),
  );
  const [names = '', errors = ''] = lines.map((line) =>
    execFileSync('bash', ['-o', 'pipefail', '-c', line], { cwd: folder, encoding: 'utf8' }),
  );
  expect(names.trim().split('\n')[0]?.trim()).toBe('6 chat m');
  expect(JSON.parse(errors)).toMatchObject({ severityNumber: 17 });
});
