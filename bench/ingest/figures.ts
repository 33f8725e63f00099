/** The charts of docs/performance.md, by the name of their file in docs/images. Pure. */
import { barChart } from '../charts/bar-chart.ts';
import { lineChart } from '../charts/line-chart.ts';
import { medianOf, type Series } from './measured.ts';
import type { IngestResult, MemoryResult } from './result.ts';
import { whole } from './targets.ts';

const oneDecimal = (value: number): string => value.toFixed(1);

function latencies(all: readonly Series[], title: string): string {
  return barChart({
    title,
    unit: 'milliseconds',
    series: ['p50', 'p95', 'p99'],
    arrangement: 'grouped',
    show: oneDecimal,
    groups: all.map((series) => {
      const { latency } = medianOf(series);
      return {
        name: series.name,
        values: [latency?.p50 ?? 0, latency?.p95 ?? 0, latency?.p99 ?? 0],
      };
    }),
  });
}

export function ingestCharts({
  throughput,
  connections,
  bodies,
}: IngestResult): Map<string, string> {
  const rates = (all: readonly Series[], title: string): string =>
    barChart({
      title,
      unit: 'rows per second',
      series: ['rows per second'],
      arrangement: 'grouped',
      show: whole,
      groups: all.map((series) => ({
        name: series.name,
        values: [medianOf(series).rowsPerSecond],
      })),
    });
  const cpu = barChart({
    title: 'What a million rows cost',
    unit: 'CPU seconds',
    series: ['server', 'PostgreSQL', 'client'],
    arrangement: 'stacked',
    show: oneDecimal,
    groups: throughput.map((series) => {
      const { server, postgres, client } = medianOf(series).cpu;
      return { name: series.name, values: [server, postgres, client] };
    }),
  });
  return new Map([
    ['ingest-throughput.svg', rates(throughput, 'Rows stored and acknowledged')],
    ['ingest-cpu.svg', cpu],
    ['ingest-bodies.svg', rates(bodies, 'Rows stored, by kind and size of the bodies')],
    [
      'ingest-latency.svg',
      latencies(connections, 'Time to acknowledgement, everything sent as fast as it is answered'),
    ],
  ]);
}

export function memoryCharts({ samples, offered }: MemoryResult): Map<string, string> {
  const chart = lineChart({
    title: `Resident memory of the server at ${whole(offered)} spans per second`,
    xUnit: 'minutes',
    yUnit: 'MB',
    series: [
      {
        name: 'resident',
        points: samples.map(({ minutes, residentMb }) => [minutes, residentMb] as const),
      },
    ],
    show: (value) => String(Number(value.toFixed(1))),
  });
  return new Map([['ingest-memory.svg', chart]]);
}
