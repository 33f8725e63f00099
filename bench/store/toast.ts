/** How long documents are kept: compressed in which way, or not at all. By the size of the rows. */
import { batchesOf, StoreDatabase } from './database.ts';
import type { RowKind } from './prompts.ts';
import { type Answer, answer, type StoreVariant } from './rounds.ts';
import type { StoreServer } from './server.ts';

const BATCH_BYTES = 8 * 1024 * 1024;
const COLUMNS = ['attributes', 'events', 'links'];

const all = (change: string): string =>
  `ALTER TABLE SPANS ${COLUMNS.map((column) => `ALTER ${column} ${change}`).join(', ')}`;
const compressed = (how: string): string[] => [
  all('SET STORAGE EXTENDED'),
  all(`SET COMPRESSION ${how}`),
];
const EXTERNAL = [all('SET STORAGE EXTERNAL')];
const target = (bytes: number): string => `ALTER TABLE SPANS SET (toast_tuple_target = ${bytes})`;

/** Whether a server was built with lz4. */
export async function hasLz4(server: StoreServer): Promise<boolean> {
  const probe = await StoreDatabase.make(server, 'store_probe');
  const found = await probe.number(
    `SELECT count(*) FROM pg_settings
      WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)`,
  );
  await probe.close();
  return found === 1;
}

/**
 * Statements by variant. 2032 is PostgreSQL's own target: rows above it are compressed or moved out until
 * they are below it.
 */
function waysOf(withLz4: boolean): readonly (readonly [string, readonly string[]])[] {
  const best = withLz4 ? (['lz4', compressed('lz4')] as const) : (['EXTERNAL', EXTERNAL] as const);
  return [
    ['pglz, above 2032', [...compressed('pglz'), target(2032)]],
    ...(withLz4 ? ([['EXTERNAL, above 2032', [...EXTERNAL, target(2032)]]] as const) : []),
    ...[2032, 4080, 8160].map(
      (bytes) => [`${best[0]}, above ${bytes}`, [...best[1], target(bytes)]] as const,
    ),
  ];
}

function variant(name: string, database: StoreDatabase, { requests, rows }: RowKind): StoreVariant {
  const batches = batchesOf(requests, BATCH_BYTES);
  const sent =
    requests.reduce((sum, { chunks }) => sum + (chunks.get('spans')?.length ?? 0), 0) / 1e6;
  const measure = async () => {
    await database.empty();
    const { seconds, walBytes } = await database.store(batches, rows);
    const onDisk = await database.bytesOnDisk();
    const read = await database.readAll(rows);
    return {
      'rows/s': rows / seconds,
      'MB/s': sent / seconds,
      'disk bytes/row': onDisk / rows,
      'WAL bytes/row': walBytes / rows,
      'read MB/s': sent / read,
    };
  };
  return { name, measure };
}

/**
 * One answer per size of rows.
 *
 * @param withLz4 that the server has it, and that it is measured
 */
export async function toastAnswers(
  server: StoreServer,
  kinds: readonly RowKind[],
  rounds: number,
  withLz4: boolean,
): Promise<Answer[]> {
  const databases: [string, StoreDatabase][] = [];
  for (const [index, [name, adapt]] of waysOf(withLz4).entries()) {
    databases.push([name, await StoreDatabase.make(server, `store_toast_${index}`, adapt)]);
  }
  const major = server.version.split('.')[0];
  const answers: Answer[] = [];
  for (const kind of kinds) {
    const variants = databases.map(([name, database]) => variant(name, database, kind));
    const question = `Rows of ${kind.name} by how documents are kept, PostgreSQL ${major}`;
    answers.push(
      await answer(`toast ${kind.name}, PostgreSQL ${major}`, question, rounds, variants),
    );
  }
  for (const [, database] of databases) await database.close();
  return answers;
}
