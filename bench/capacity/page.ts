/** The measured parts of docs/scaling.md. Pure. */
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import { clickStackFor, type Plan, planFor } from './plan.ts';
import type { CapacityResult, RowCost, SpanCosts } from './result.ts';

const RATES = [10_000, 100_000, 1_000_000];
const DAYS = 30;
const HOT_DAYS = 2;

const whole = (value: number): string => Math.round(value).toLocaleString('en');
const short = (value: number): string => (value < 10 ? value.toFixed(1) : whole(value));
const dollars = (value: number): string => `$${whole(value)}`;

function cpuTable(costs: readonly RowCost[]): string {
  const rows = costs.map((cost) => [
    cost.name,
    cost.serverUs.toFixed(2),
    cost.postgresUs.toFixed(2),
    cost.rawCopyUs.toFixed(2),
    cost.toRawCopy.toFixed(2),
    cost.rawToRawCopy.map((ratio) => ratio.toFixed(2)).join(' '),
  ]);
  const titles = ['CPU µs of a', 'server', 'PostgreSQL', 'raw COPY', 'to raw COPY', 'every round'];
  return markdownTable(titles, rows);
}

function byteTable(costs: readonly RowCost[]): string {
  const rows = costs.map((cost) => [
    cost.name,
    ...[cost.bodyBytes, cost.gzipBytes, cost.copyBytes].map(whole),
    ...[cost.tableBytes, cost.indexBytes, cost.runBytes, cost.receiptBytes].map(whole),
    whole(cost.walBytes),
  ]);
  return markdownTable(
    [
      'bytes of a',
      'request',
      'request, gzip',
      'to PostgreSQL',
      'table',
      'index',
      'its run',
      'receipt, for hours',
      'WAL',
    ],
    rows,
  );
}

interface NamedPlan {
  readonly name: string;
  readonly plan: Plan;
}

function machineTable(plans: readonly NamedPlan[]): string {
  const rows = plans.map(({ name, plan }) => [
    `${whole(plan.spansPerSecond)}, ${name}`,
    `${short(plan.inMbPerSecond)} (${short(plan.inGzipMbPerSecond)})`,
    short(plan.postgresMbPerSecond),
    ...[plan.ingestCores, plan.evaluationCores, plan.postgresCores].map(short),
    String(plan.serverVcpus),
    String(plan.databaseVcpus),
    short(plan.diskTb),
    short(plan.walMbPerSecond),
    String(plan.databases),
  ]);
  return markdownTable(
    [
      'a second',
      'MB/s in (gzip)',
      'MB/s with PostgreSQL',
      'cores: ingest',
      'cores: evaluation',
      'cores: PostgreSQL',
      'server vCPUs',
      'PostgreSQL vCPUs',
      'disk TB',
      'WAL MB/s',
      'PostgreSQL instances',
    ],
    rows,
  );
}

function priceTable(plans: readonly NamedPlan[]): string {
  const rows = plans.map(({ name, plan }) => {
    const other = clickStackFor(plan);
    const { compute, disk } = plan.dollars;
    return [
      `${whole(plan.spansPerSecond)}, ${name}`,
      dollars(compute),
      dollars(disk),
      dollars(compute + disk),
      `${other.vcpus}, ${short(other.diskTb)} TB`,
      dollars(other.dollars.own),
      dollars(other.dollars.cloud),
    ];
  });
  return markdownTable(
    [
      'a second',
      'Sluice: compute',
      'disk',
      'together',
      'ClickStack: vCPUs, disk',
      'on the same machines',
      'ClickHouse Cloud',
    ],
    rows,
  );
}

function evaluatedLine({ span, later, run }: SpanCosts): string {
  return (
    `${span.name}: an evaluated run of ${run.spansPerRun} spans with ${whole(run.textBytes)} bytes of text takes ` +
    `${whole(run.serverUs)} µs CPU of the server, ${whole(run.postgresUs)} µs of PostgreSQL, ` +
    `${whole(run.walBytes)} bytes of WAL; ${whole(run.packedBytes)} bytes of packed blocks, and ` +
    `${whole(run.grownBytes)} bytes more of runs and findings; ` +
    `${whole(run.fromPostgresBytes)} bytes are read from PostgreSQL and ${whole(run.toPostgresBytes)} sent to it ` +
    `(${whole(run.runs)} runs, ${whole(run.findings)} findings). ` +
    `WAL of a span after a checkpoint, beside ${whole(later.rowsBefore)} spans of the day: ` +
    `${whole(later.walBytes)} bytes (${whole(later.rows)} spans).`
  );
}

export function capacityParts(result: CapacityResult): Map<string, string> {
  const { machine, rounds, bodies, spans, others, deletion } = result;
  const plans = spans.flatMap((one) =>
    RATES.map((spansPerSecond) => ({
      name: one.span.name.replace('span', 'spans'),
      plan: planFor({ ...one, deletion }, { spansPerSecond, days: DAYS, hotDays: HOT_DAYS }),
    })),
  );
  const costs = [...spans.map(({ span }) => span), ...others];
  const rows =
    `${machineLine(machine)}; medians of ${rounds} rounds of ${whole(bodies)} requests of 100 rows ` +
    '(50 of `conv10`, a fifth as many requests) over 64 connections, raw COPY over one, in turn.';
  const deleted =
    `A run without findings that is deleted: ${deletion.postgresUs} µs of CPU of PostgreSQL, its VACUUM included, ` +
    `${deletion.serverUs} µs of the server, ${whole(deletion.walBytes)} bytes of WAL; ` +
    `${whole(deletion.runsPerSecond)} runs a second by one process, which pauses for half of the time ` +
    `(${whole(deletion.runs)} runs).`;
  const parts = [rows, cpuTable(costs), byteTable(costs), ...spans.map(evaluatedLine), deleted];
  return new Map([
    ['capacity', parts.join('\n\n')],
    ['machines', machineTable(plans)],
    ['prices', priceTable(plans)],
  ]);
}
