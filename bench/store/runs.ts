/** What counting a batch's runs costs: not at all, runs that are new, runs that are there. */
import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import { batchesOf, StoreDatabase } from './database.ts';
import type { RowKind } from './prompts.ts';
import { type Answer, answer, type Figures } from './rounds.ts';
import type { StoreServer } from './server.ts';

const BATCH_BYTES = 8 * 1024 * 1024;

type Batches = readonly (readonly EncodedRequest[])[];

async function measure(
  database: StoreDatabase,
  batches: Batches,
  rows: number,
  again: boolean,
): Promise<Figures> {
  await database.empty();
  if (again) await database.store(batches, rows);
  const { seconds, walBytes } = await database.store(batches, rows);
  return { 'rows/s': rows / seconds, 'WAL bytes/row': walBytes / rows };
}

/** Ordinary rows, ten per run. */
export async function runAnswer(
  server: StoreServer,
  { requests, rows }: RowKind,
  rounds: number,
): Promise<Answer> {
  const plain = await StoreDatabase.make(server, 'store_runs');
  const roomy = await StoreDatabase.make(server, 'store_runs_roomy', [
    'ALTER TABLE runs SET (fillfactor = 70)',
  ]);
  const counted = batchesOf(requests, BATCH_BYTES);
  const uncounted = batchesOf(
    requests.map((request) => ({ ...request, runs: [] })),
    BATCH_BYTES,
  );
  const result = await answer(
    'runs',
    'Ordinary rows, ten per run, by what is done about their runs',
    rounds,
    [
      { name: 'not counted', measure: () => measure(plain, uncounted, rows, false) },
      { name: 'new', measure: () => measure(plain, counted, rows, false) },
      { name: 'there already', measure: () => measure(plain, counted, rows, true) },
      { name: 'there already, fillfactor 70', measure: () => measure(roomy, counted, rows, true) },
    ],
  );
  await plain.close();
  await roomy.close();
  return result;
}
