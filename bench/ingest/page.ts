/** The parts of docs/performance.md that `ingest` and `ingest-memory` measure. Pure. */
import { notMeasured } from '../agent-runs/data.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import { type Measured, medianOf, ratioOf, type Series, seriesOf } from './measured.ts';
import {
  COPIED_DATA,
  type IngestResult,
  type MemoryResult,
  NAMES,
  nameOfData,
  nameOfRawData,
  type Paced,
  type Sustained,
} from './result.ts';
import { memoryVerdict, percent, type Verdict, verdictsOf, whole } from './targets.ts';

const ms = (value: number | undefined): string => {
  if (value === undefined) return '–';
  return value < 10 ? value.toFixed(1) : value.toFixed(0);
};

function verdictTable(verdicts: readonly Verdict[]): string {
  return markdownTable(
    ['target', 'measured', ''],
    verdicts.map(({ target, measured, reached }) => [
      target,
      measured,
      reached ? 'reached' : '**missed**',
    ]),
  );
}

/** What a series is compared with, if not with raw COPY of spans. */
const YARDSTICKS: ReadonlyMap<string, string> = new Map([
  [NAMES.logs, NAMES.rawLogs],
  [NAMES.rawLogs, NAMES.rawLogs],
  [NAMES.points, NAMES.rawPoints],
  [NAMES.rawPoints, NAMES.rawPoints],
  ...COPIED_DATA.flatMap((data) =>
    [nameOfData(data), nameOfRawData(data)].map((name) => [name, nameOfRawData(data)] as const),
  ),
]);

/** Bytes of a row: in the WAL, and on the disk. */
const storedCells = ({ stored }: Measured): string[] =>
  [stored?.wal, stored?.disk].map((bytes) => (bytes === undefined ? '–' : whole(bytes)));

const STORED_TITLES = ['WAL bytes', 'disk bytes'];

const withMissing = (table: string, missing: string): string =>
  missing === '' ? table : `${table}\n\n${missing}`;

function throughputTable({ throughput }: IngestResult): string {
  const rows = throughput.map((series) => {
    const measured = medianOf(series);
    const { rowsPerSecond, megabytesPerSecond, latency } = measured;
    const yardstick = seriesOf(throughput, YARDSTICKS.get(series.name) ?? NAMES.rawOne);
    return [
      series.name,
      whole(rowsPerSecond),
      ratioOf(series, yardstick).toFixed(2),
      megabytesPerSecond.toFixed(1),
      ...[latency?.p50, latency?.p95, latency?.p99].map(ms),
      ...storedCells(measured),
      series.raw.map((one) => whole(one.rowsPerSecond)).join(' '),
    ];
  });
  const times = ['p50 ms', 'p95 ms', 'p99 ms'];
  const titles = ['', 'rows/s', 'to raw COPY', 'MB/s', ...times, ...STORED_TITLES, 'all rows/s'];
  const names = throughput.map(({ name }) => name);
  return withMissing(markdownTable(titles, rows), notMeasured(names, COPIED_DATA));
}

function cpuTable({ throughput }: IngestResult): string {
  const rows = throughput.map((series) => {
    const { server, postgres, client } = medianOf(series).cpu;
    const all = server + postgres + client;
    return [
      series.name,
      ...[server, postgres, client, all].map((one) => one.toFixed(1)),
      `${((client / all) * 100).toFixed(0)} %`,
    ];
  });
  return markdownTable(['', 'server', 'PostgreSQL', 'client', 'together', "client's share"], rows);
}

function loadTable(all: readonly Series[]): string {
  const rows = all.map((series) => {
    const measured = medianOf(series);
    const { rowsPerSecond, megabytesPerSecond, latency, cpu } = measured;
    return [
      series.name,
      whole(rowsPerSecond),
      megabytesPerSecond.toFixed(1),
      ...[latency?.p50, latency?.p95, latency?.p99].map(ms),
      cpu.server.toFixed(1),
      cpu.postgres.toFixed(1),
      ...storedCells(measured),
    ];
  });
  const titles = [
    '',
    'rows/s',
    'MB/s',
    'p50 ms',
    'p95 ms',
    'p99 ms',
    'server CPU',
    'PostgreSQL CPU',
    ...STORED_TITLES,
  ];
  return markdownTable(titles, rows);
}

function bodiesPart({ bodies }: IngestResult): string {
  return withMissing(loadTable(bodies), notMeasured(bodies.map(({ name }) => name)));
}

function pacedTable(all: readonly Paced[]): string {
  const rows = all.map(({ name, offered, measured, serverCores, postgresCores }) => {
    const { rowsPerSecond, latency, residentMb, stolenCores } = measured;
    return [
      name,
      whole(offered),
      whole(rowsPerSecond),
      ...[latency?.p50, latency?.p95, latency?.p99, latency?.max].map(ms),
      percent(serverCores),
      percent(postgresCores),
      percent(stolenCores),
      String(residentMb),
    ];
  });
  const titles = [
    '',
    'offered/s',
    'stored/s',
    'p50 ms',
    'p95 ms',
    'p99 ms',
    'max ms',
    'server, of a core',
    'PostgreSQL, of a core',
    'taken by the host, of a core',
    'server MB',
  ];
  return markdownTable(titles, rows);
}

function sustainedPart(sustained: Sustained | null): string {
  if (sustained === null) return 'Not measured yet.';
  const { measured, raw, copied, seconds, checkpoints, autovacuums, walMegabytes } = sustained;
  const during =
    `${checkpoints} checkpoints and ${autovacuums} runs of autovacuum began meanwhile; ` +
    `${whole(walMegabytes)} MB of WAL.`;
  const name = `${seconds} seconds`;
  const ofSluice = { name, raw: raw ?? [measured] };
  const ofCopy = copied === undefined ? [] : [{ name: `${name}, raw COPY`, raw: copied }];
  return `${loadTable([ofSluice, ...ofCopy])}\n\n${during}`;
}

function probeTable({ probes }: IngestResult): string {
  const rows = probes.map(({ name, bodyBytes, rowsPerSecond, latency, stolenCores }) => [
    name === 'nothing' ? name : `bodies of ${name}`,
    bodyBytes === 0 ? '–' : `${(bodyBytes / 1000).toFixed(0)} KB`,
    whole(rowsPerSecond),
    ...[latency.p50, latency.p95, latency.p99, latency.max].map(ms),
    String(latency.count),
    percent(stolenCores),
  ]);
  return markdownTable(
    [
      'beside',
      'a body',
      'rows/s',
      'p50 ms',
      'p95 ms',
      'p99 ms',
      'max ms',
      'probes',
      'taken by the host, of a core',
    ],
    rows,
  );
}

export function ingestParts(result: IngestResult): Map<string, string> {
  const { machine, rounds, spansPerBody, bytesPerSpan, bytesPerLogRecord } = result;
  const facts =
    `${machineLine(machine)}; ${rounds} ${rounds === 1 ? 'round' : 'rounds'}, ` +
    `${spansPerBody} rows per body, ${whole(bytesPerSpan)} bytes of JSON per span, ` +
    `${whole(bytesPerLogRecord)} per log record.`;
  return new Map([
    ['facts', facts],
    ['targets', verdictTable(verdictsOf(result))],
    ['throughput', throughputTable(result)],
    ['cpu', cpuTable(result)],
    ['bodies', bodiesPart(result)],
    ['connections', loadTable(result.connections)],
    ['sustained', sustainedPart(result.sustained)],
    ['paced', pacedTable(result.paced)],
    ['probes', probeTable(result)],
  ]);
}

export function memoryParts(result: MemoryResult): Map<string, string> {
  const { machine, minutes, offered, peakRowsPerSecond, rows } = result;
  const facts =
    `${machineLine(machine)}; ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} of ` +
    `${whole(offered)} spans/s, ${((offered / peakRowsPerSecond) * 100).toFixed(0)} % of a peak of ` +
    `${whole(peakRowsPerSecond)}; ${whole(rows)} spans stored, as many as acknowledged.`;
  return new Map([['memory', `${facts}\n\n${verdictTable([memoryVerdict(result)])}`]]);
}
