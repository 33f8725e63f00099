/**
 * What does packing evaluated runs cost, and what does it save? The same spans as blocks as they arrive, as packed
 * blocks and as a Parquet file. Measures the format alone, without a database. Only prints.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { BLOCK_BYTES_MAX } from '../src/db/telemetry/block-codec.ts';
import { BROTLI, CODECS } from '../src/db/telemetry/codecs.ts';
import {
  compressPacked,
  type PackedBlock,
  readNarrow,
  readPacked,
} from '../src/db/telemetry/packed/packed-block.ts';
import { createFilter } from '../src/model/packed/text-filter.ts';
import { withoutRecords } from '../src/model/record-ranges.ts';
import { type BlockRecord, findRecords, recordsOf } from '../src/otlp/lines/block-records.ts';
import { readNarrow as readNarrowRecord } from '../src/otlp/lines/narrow-record.ts';
import { toEnd } from '../src/otlp/pieces.ts';
import { BATCH_RUNS_MAX } from '../src/pool/waiting-runs.ts';
import { packLines } from '../src/reads/packed-lines.ts';
import { TOGETHER_BYTES_MAX } from '../src/reads/steps-of-runs.ts';
import { log, median } from './harness.ts';
import { markdownTable } from './markdown.ts';
import { parquetOf } from './pack/parquet.ts';
import {
  type ArrivedSpan,
  byEnd,
  PACK_DATA,
  type PackData,
  runsOf,
  spansOf,
} from './pack/spans.ts';

type Run = readonly BlockRecord[];

const TREE_STEPS = 20_000;

const bytesOf = (run: Run): number => run.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** The runs of each task of a pass that has a backlog. */
function tasksOf(runs: readonly Run[]): readonly (readonly Run[])[] {
  const tasks: Run[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const run of runs) {
    const last = tasks.at(-1);
    bytes += bytesOf(run);
    if (last !== undefined && last.length < BATCH_RUNS_MAX && bytes <= TOGETHER_BYTES_MAX) {
      last.push(run);
      continue;
    }
    tasks.push([run]);
    bytes = bytesOf(run);
  }
  return tasks;
}

async function packed(tasks: readonly (readonly Run[])[]): Promise<PackedBlock[]> {
  const blocks: PackedBlock[] = [];
  for (const task of tasks) {
    for (const { text } of toEnd(packLines(task))) {
      const block = await compressPacked(text);
      createFilter(text.hashes, storedBytes([block]));
      blocks.push(block);
    }
  }
  return blocks;
}

const storedBytes = (blocks: readonly PackedBlock[]): number =>
  blocks.reduce(
    (sum, { narrow, documents }) => sum + narrow.data.length + documents.data.length,
    0,
  );

/** Bytes of blocks as they arrive, without the heads of records. */
async function hotBytes(spans: readonly ArrivedSpan[]): Promise<number> {
  const codec = CODECS.get(BROTLI);
  let [bytes, length] = [0, 0];
  let parts: Buffer[] = [];
  const end = async (): Promise<void> => {
    bytes += (await codec?.compress(Buffer.concat(parts), null))?.length ?? 0;
    parts = [];
    length = 0;
  };
  for (const { record } of spans) {
    if (length + record.bytes.length > BLOCK_BYTES_MAX) await end();
    parts.push(record.bytes);
    length += record.bytes.length;
  }
  await end();
  return bytes;
}

/** CPU time in µs. */
async function cpuOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Measures in rounds. @param unit µs of the unit to print @returns the median, and the least in brackets */
async function roundsOf(rounds: number, unit: number, work: () => unknown): Promise<string> {
  const times: number[] = [];
  // The first round includes code that V8 has not compiled yet.
  for (let round = -1; round < rounds; round += 1) {
    const time = await cpuOf(work);
    if (round >= 0) times.push(time / unit);
  }
  return `${format(median(times))} (${format(Math.min(...times))})`;
}

const format = (value: number): string => value.toFixed(value < 10 ? 1 : 0);

async function readTree(blocks: readonly PackedBlock[], spans: number): Promise<void> {
  for (let steps = 0, at = 0; steps < TREE_STEPS; at += 1) {
    const block = blocks[at % blocks.length] as PackedBlock;
    const { text } = await readNarrow({ id: '', ...block });
    const all = [0, spans];
    steps += toEnd(
      findRecords('traces', text, all, (walk) => readNarrowRecord('span', walk, text)),
    ).length;
  }
}

async function openSteps(block: PackedBlock): Promise<void> {
  const { text, widen } = await readPacked({ id: '', ...block });
  const wanted = [0, 20];
  const others = toEnd(findRecords('traces', text, withoutRecords(wanted)));
  const lines = widen(others.flatMap(({ start, end }) => [start, end]));
  toEnd(recordsOf('traces', lines, wanted));
}

interface Measured {
  readonly sizes: readonly string[];
  readonly times: readonly string[];
}

async function measure(data: PackData, rounds: number, folder: string): Promise<Measured> {
  const inRequests = spansOf(data);
  const arrived = byEnd(inRequests);
  const runs = runsOf(arrived);
  const tasks = tasksOf(runs);
  const blocks = await packed(tasks);
  const count = arrived.length;
  const own = storedBytes(blocks) / count;
  const [parquet, grouped] = [
    await parquetOf(arrived, folder),
    await parquetOf(inRequests, folder),
  ];
  const beside = ({ bytes }: { readonly bytes: number }): string =>
    `${format(bytes / count)} (${((own * count) / bytes).toFixed(2)})`;
  const lines = await roundsOf(rounds, count, () => tasks.map((task) => toEnd(packLines(task))));
  const all = await roundsOf(rounds, count, () => packed(tasks));
  const block = blocks[0] as PackedBlock;
  const open = await roundsOf(rounds, 1000, () => openSteps(block));
  const tree = await roundsOf(rounds, 1000, () => readTree(blocks, count));
  return {
    sizes: [
      data,
      format(runs.reduce((sum, run) => sum + bytesOf(run), 0) / count),
      format((await hotBytes(arrived)) / count),
      format(own),
      format(storedBytes(await packed(runs.map((run) => [run]))) / count),
      beside(parquet),
      beside(grouped),
    ],
    times: [data, lines, all, format(parquet.cpuUs / count), open, tree],
  };
}

/** Prints sizes and CPU times. */
export async function packBench(rounds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pack-'));
  try {
    const measured: Measured[] = [];
    for (const data of PACK_DATA) {
      measured.push(await measure(data, rounds, folder));
      log(`${data}: measured`);
    }
    log('\nBytes per span. In brackets: packed bytes as a part of the Parquet file.\n');
    log(
      markdownTable(
        [
          'spans',
          'as sent',
          'as they arrive',
          'packed',
          'one run alone',
          'Parquet',
          'Parquet, by run',
        ],
        measured.map(({ sizes }) => sizes),
      ),
    );
    log('\nCPU time: median and, in brackets, the least. µs per span, and ms.\n');
    log(
      markdownTable(
        ['spans', 'lines, µs', 'packing, µs', 'Parquet, µs', 'open a block, ms', 'tree, ms'],
        measured.map(({ times }) => times),
      ),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
