/**
 * A Parquet file of spans with the columns of ClickHouse's table of OpenTelemetry traces, written by DuckDB with zstd
 * and its other settings as they are.
 */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

import type { ArrivedSpan, Attribute } from './spans.ts';

const MAP = 'MAP(VARCHAR, VARCHAR)';
const COLUMNS: Readonly<Record<string, string>> = {
  Timestamp: 'UBIGINT',
  TraceId: 'VARCHAR',
  SpanId: 'VARCHAR',
  ParentSpanId: 'VARCHAR',
  TraceState: 'VARCHAR',
  SpanName: 'VARCHAR',
  SpanKind: 'VARCHAR',
  ServiceName: 'VARCHAR',
  ResourceAttributes: MAP,
  ScopeName: 'VARCHAR',
  ScopeVersion: 'VARCHAR',
  SpanAttributes: MAP,
  Duration: 'UBIGINT',
  StatusCode: 'VARCHAR',
  StatusMessage: 'VARCHAR',
  Events: `STRUCT("Timestamp" UBIGINT, Name VARCHAR, Attributes ${MAP})[]`,
  Links: `STRUCT(TraceId VARCHAR, SpanId VARCHAR, TraceState VARCHAR, Attributes ${MAP})[]`,
};

/** A value as ClickHouse's exporter writes it: a text. */
function textOf(value: Attribute['value']): string {
  const [first] = Object.values(value);
  return typeof first === 'object' ? JSON.stringify(first) : String(first);
}

const mapOf = (attributes: readonly Attribute[]): Record<string, string> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, textOf(value)]));

/** The generators' spans have neither events nor links. */
function rowOf({ span, resource, scope }: ArrivedSpan): Record<string, unknown> {
  const resourceAttributes = mapOf(resource);
  return {
    Timestamp: span.startTimeUnixNano,
    TraceId: span.traceId,
    SpanId: span.spanId,
    ParentSpanId: span.parentSpanId ?? '',
    TraceState: '',
    SpanName: span.name,
    SpanKind: String(span.kind),
    ServiceName: resourceAttributes['service.name'] ?? '',
    ResourceAttributes: resourceAttributes,
    ScopeName: scope.name,
    ScopeVersion: scope.version ?? '',
    SpanAttributes: mapOf(span.attributes),
    Duration: String(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)),
    StatusCode: String(span.status.code),
    StatusMessage: '',
    Events: [],
    Links: [],
  };
}

/** @param folder for its files @returns bytes of the Parquet file, and the CPU time of writing it in µs */
export async function parquetOf(
  spans: readonly ArrivedSpan[],
  folder: string,
): Promise<{ readonly bytes: number; readonly cpuUs: number }> {
  const [rows, file] = [join(folder, 'rows.ndjson'), join(folder, 'spans.parquet')];
  writeFileSync(rows, spans.map((span) => `${JSON.stringify(rowOf(span))}\n`).join(''));
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const columns = Object.entries(COLUMNS).map(([name, type]) => `"${name}": '${type}'`);
    await connection.run(
      `CREATE TABLE spans AS SELECT * FROM read_ndjson('${rows}',
         maximum_object_size = 100000000, columns = {${columns.join(', ')}})`,
    );
    const before = process.cpuUsage();
    await connection.run(`COPY spans TO '${file}' (FORMAT parquet, COMPRESSION zstd)`);
    const { user, system } = process.cpuUsage(before);
    return { bytes: statSync(file).size, cpuUs: user + system };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
