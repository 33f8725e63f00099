/** Prints a result, and writes it: as JSON beside the benchmark, as tables and charts of the page. */
import { writeFileSync } from 'node:fs';

import { renderTable } from '../../src/cli/table.ts';
import { writeMeasured, writeResult } from '../publish.ts';
import { ingestCharts, memoryCharts } from './figures.ts';
import { ingestPlaces, memoryPlaces } from './page.ts';
import type { IngestResult, MemoryResult } from './result.ts';
import { memoryVerdict, type Verdict, verdictsOf } from './targets.ts';

const IMAGES = new URL('../../docs/images/', import.meta.url);

function print(places: ReadonlyMap<string, string>, verdicts: readonly Verdict[]): void {
  for (const [name, content] of places) {
    if (name !== 'targets') process.stdout.write(`\n${name}\n\n${content}\n`);
  }
  const rows = verdicts.map(({ target, measured, reached }) => [
    reached ? 'reached' : 'MISSED',
    target,
    measured,
  ]);
  const columns = [{ title: '' }, { title: 'TARGET' }, { title: 'MEASURED' }];
  process.stdout.write(`\n${renderTable(columns, rows)}\n`);
}

function write(
  result: IngestResult | MemoryResult,
  places: ReadonlyMap<string, string>,
  charts: ReadonlyMap<string, string>,
): void {
  writeMeasured('docs/performance.md', places);
  for (const [name, chart] of charts) writeFileSync(new URL(name, IMAGES), chart);
  writeResult(result);
}

/** A quick run is printed only: its figures are too few to be kept. */
export function reportIngest(result: IngestResult): void {
  const places = ingestPlaces(result);
  print(places, verdictsOf(result));
  if (!result.quick) write(result, places, ingestCharts(result));
}

export function reportMemory(result: MemoryResult): void {
  const places = memoryPlaces(result);
  print(places, [memoryVerdict(result)]);
  write(result, places, memoryCharts(result));
}
