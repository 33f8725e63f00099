/**
 * How should rows be kept? One question after the other, each with its variants in alternating order:
 * how long documents are compressed, what an index costs, how large batches are and over how many
 * connections they go, what counting runs costs, what settings of the server do. The tables are the
 * migrations', the rows go in as in the server and are counted after every measurement.
 *
 * lz4 needs a PostgreSQL that was built with it, which the embedded one is not: the system's own
 * (`pg_config --bindir`) is measured beside it where there is one.
 */
import { machineFacts } from './machine.ts';
import { batchAnswer, connectionAnswer } from './store/batches.ts';
import { StoreDatabase } from './store/database.ts';
import { indexAnswer } from './store/indexes.ts';
import { ordinaryBodies, type RowKind, rowKinds } from './store/prompts.ts';
import type { StoreResult } from './store/report.ts';
import type { Answer } from './store/rounds.ts';
import { rowParts } from './store/rows.ts';
import { runAnswer } from './store/runs.ts';
import {
  embeddedPrograms,
  installedBinaries,
  installedPrograms,
  type Programs,
  removePrograms,
  type StoreServer,
  startStoreServer,
} from './store/server.ts';
import { settingsAnswer } from './store/settings.ts';
import { hasLz4, toastAnswers } from './store/toast.ts';

const BODIES = 400;
const STORAGE_NAMES: Readonly<Record<string, string>> = {
  x: 'EXTENDED',
  e: 'EXTERNAL',
  m: 'MAIN',
  p: 'PLAIN',
};

/** Starts a server, works with it, and leaves nothing behind. */
async function withServer<T>(
  programs: Programs,
  work: (server: StoreServer) => Promise<T>,
): Promise<T> {
  const server = await startStoreServer(programs);
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

/** How today's spans keep their attributes after the migrations, such as `EXTENDED lz4`. */
async function keptAs(server: StoreServer): Promise<string> {
  const database = await StoreDatabase.make(server, 'store_migrated');
  const [column] = await database.query<{ storage: string; compression: string }>(
    `SELECT attstorage AS storage, CASE attcompression WHEN 'l' THEN ' lz4' WHEN 'p' THEN ' pglz'
            ELSE '' END AS compression
       FROM pg_attribute WHERE attrelid = '${database.spans}'::regclass AND attname = 'attributes'`,
  );
  await database.close();
  return `${STORAGE_NAMES[column?.storage ?? ''] ?? ''}${column?.compression ?? ''}`;
}

async function embeddedAnswers(
  server: StoreServer,
  kinds: readonly RowKind[],
  bodies: readonly Buffer[],
  rounds: number,
): Promise<Answer[]> {
  const [ordinary] = kinds;
  if (ordinary === undefined) throw new Error('no kinds of rows');
  return [
    ...(await toastAnswers(server, kinds, rounds, false)),
    await indexAnswer(server, ordinary, rounds),
    await batchAnswer(server, bodies, rounds),
    await connectionAnswer(server, bodies, rounds),
    await runAnswer(server, ordinary, rounds),
  ];
}

/** The same rows on the system's PostgreSQL, if there is one that has lz4. */
async function lz4Answers(kinds: readonly RowKind[], rounds: number) {
  const binaries = await installedBinaries();
  if (binaries === null) return null;
  const programs = await installedPrograms(binaries);
  try {
    return await withServer(programs, async (server) => {
      if (!(await hasLz4(server))) return null;
      const long = kinds.slice(1);
      const answers = await toastAnswers(server, long, rounds, true);
      return { version: server.version, kept: await keptAs(server), answers };
    });
  } finally {
    removePrograms(programs);
  }
}

/** Runs the benchmark. */
export async function storeBench(rounds: number): Promise<StoreResult> {
  const machine = machineFacts();
  const kinds = rowKinds();
  const bodies = ordinaryBodies(BODIES);
  const programs = await embeddedPrograms();
  try {
    const embedded = await withServer(programs, async (server) => ({
      version: server.version,
      kept: await keptAs(server),
      parts: await rowParts(server, kinds[0] ?? { name: '', rows: 0, requests: [] }),
      answers: await embeddedAnswers(server, kinds, bodies, rounds),
    }));
    const settings = await settingsAnswer(programs, bodies, rounds);
    const withLz4 = await lz4Answers(kinds, rounds);
    return {
      name: 'store',
      question: 'How rows are kept: speed, bytes on disk, reading back',
      machine,
      servers: { embedded: embedded.version, withLz4: withLz4?.version ?? null },
      migrated: {
        [`PostgreSQL ${embedded.version}`]: embedded.kept,
        ...(withLz4 === null ? {} : { [`PostgreSQL ${withLz4.version}`]: withLz4.kept }),
      },
      rowParts: embedded.parts,
      answers: [...embedded.answers, settings, ...(withLz4?.answers ?? [])],
    };
  } finally {
    removePrograms(programs);
  }
}
