/** The measured parts of docs/scaling.md. Pure. */
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import { clickStackFor, type Plan, planFor } from './plan.ts';
import type { CapacityResult, RowCost } from './result.ts';

const RATES = [10_000, 100_000, 1_000_000];
const DAYS = 30;

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

function machineTable(plans: readonly Plan[]): string {
  const rows = plans.map((plan) => [
    whole(plan.spansPerSecond),
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
      'spans/s',
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

function priceTable(plans: readonly Plan[]): string {
  const rows = plans.map((plan) => {
    const other = clickStackFor(plan);
    const { compute, disk } = plan.dollars;
    return [
      whole(plan.spansPerSecond),
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
      'spans/s',
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

/** The parts that `capacity` measures, and what follows from them. */
export function capacityParts(result: CapacityResult): Map<string, string> {
  const { machine, rounds, bodies, costs, later, run, deletion } = result;
  const [span] = costs;
  if (span === undefined) throw new Error('no row was measured');
  const plans = RATES.map((spansPerSecond) =>
    planFor({ span, later, run, deletion }, { spansPerSecond, days: DAYS }),
  );
  const rows =
    `${machineLine(machine)}; medians of ${rounds} rounds of ${whole(bodies)} requests of 100 rows ` +
    'over 64 connections, raw COPY over one, in turn.';
  const wal =
    `WAL of a span after a checkpoint, beside ${whole(later.rowsBefore)} spans of the day: ` +
    `${whole(later.walBytes)} bytes (${whole(later.rows)} spans).`;
  const evaluated =
    `An evaluated run of ${run.spansPerRun} spans with ${whole(run.textBytes)} bytes of text: ` +
    `${whole(run.serverUs)} µs CPU of the server, ${whole(run.postgresUs)} µs of PostgreSQL, ` +
    `${whole(run.walBytes)} bytes of WAL, ${whole(run.grownBytes)} bytes more on the disk, ` +
    `${whole(run.fromPostgresBytes)} bytes read from PostgreSQL and ${whole(run.toPostgresBytes)} sent to it ` +
    `(${whole(run.runs)} runs, ${whole(run.findings)} findings).`;
  const deleted =
    `A run without findings that is deleted: ${deletion.postgresUs} µs of CPU of PostgreSQL, its VACUUM included, ` +
    `${deletion.serverUs} µs of the server, ${whole(deletion.walBytes)} bytes of WAL; ` +
    `${whole(deletion.runsPerSecond)} runs a second by one process, which pauses for half of the time ` +
    `(${whole(deletion.runs)} runs).`;
  return new Map([
    ['capacity', [rows, cpuTable(costs), byteTable(costs), wal, evaluated, deleted].join('\n\n')],
    ['machines', machineTable(plans)],
    ['prices', priceTable(plans)],
  ]);
}
