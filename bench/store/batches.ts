/**
 * How large batches are and over how many connections they go: requests are offered to the server's own
 * writer in this process. Where the size is asked for, all at once and encoded before, so that batches are
 * as large as they may be; else each is decoded as it is offered, as in the server. Only HTTP is left out.
 */
import { CopyWriter } from '../../src/db/telemetry/copy-writer.ts';
import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import { ByteBudget } from '../../src/http/ingest/byte-budget.ts';
import { median } from '../harness.ts';
import { StoreDatabase } from './database.ts';
import { encode } from './prompts.ts';
import { type Answer, answer, type Figures } from './rounds.ts';
import type { StoreServer } from './server.ts';

const SPANS_PER_BODY = 100;
const MIB = 1024 * 1024;
const INFLIGHT_BYTES_MAX = 1024 * MIB;
/** bodies that are decoded before the writer has taken them, at a time */
const WINDOW = 200;
const NEVER = () => undefined;

interface Shape {
  readonly batchBytesMax: number;
  readonly lanes: number;
}

/** Requests one by one, decoded when they are asked for. */
function* decoded(bodies: readonly Buffer[]): Generator<EncodedRequest> {
  for (const body of bodies) yield encode(body);
}

/** Offers all requests and waits until they are stored; lets go of the thread after each if `inTurn`. */
async function offerAll(
  writer: CopyWriter,
  requests: Iterable<EncodedRequest>,
  inTurn: boolean,
): Promise<void> {
  const offered: Promise<void>[] = [];
  for (const request of requests) {
    offered.push(writer.offer(request));
    if (!inTurn) continue;
    await new Promise(setImmediate);
    if (offered.length >= WINDOW) await offered[offered.length - WINDOW];
  }
  await Promise.all(offered);
}

/**
 * Stores bodies of 100 spans each as fast as it goes.
 *
 * @param source bodies to decode on the way, or requests that are ready
 * @throws {VoidRun} when other rows are stored than were sent
 */
export async function ingestInto(
  database: StoreDatabase,
  source: readonly Buffer[] | readonly EncodedRequest[],
  shape: Partial<Shape>,
): Promise<Figures> {
  await database.empty();
  const commits: number[] = [];
  const events = {
    inflightChanged: NEVER,
    batchCommitted: ({ elapsedMs }: { elapsedMs: number }) => void commits.push(elapsedMs),
    batchFailed: NEVER,
    requestUnstorable: NEVER,
    partitionsChanged: NEVER,
  };
  const settings = { budget: new ByteBudget(INFLIGHT_BYTES_MAX), ...shape };
  const writer = new CopyWriter(database.database, settings, events);
  const startedAt = performance.now();
  if (isBodies(source)) await offerAll(writer, decoded(source), true);
  else await offerAll(writer, source, false);
  const seconds = (performance.now() - startedAt) / 1000;
  await writer.close();
  const rows = source.length * SPANS_PER_BODY;
  await database.requireRows(rows);
  return {
    'rows/s': rows / seconds,
    'commit ms, median': median(commits),
    'commit ms, longest': Math.max(...commits),
    batches: commits.length,
  };
}

function isBodies(
  source: readonly Buffer[] | readonly EncodedRequest[],
): source is readonly Buffer[] {
  return Buffer.isBuffer(source[0]);
}

async function shapes(
  server: StoreServer,
  name: string,
  question: string,
  source: readonly Buffer[] | readonly EncodedRequest[],
  rounds: number,
  list: readonly (readonly [string, Shape])[],
): Promise<Answer> {
  const database = await StoreDatabase.make(server, `store_${name}`);
  const variants = list.map(([title, shape]) => ({
    name: title,
    measure: () => ingestInto(database, source, shape),
  }));
  const result = await answer(name, question, rounds, variants);
  await database.close();
  return result;
}

export function batchAnswer(server: StoreServer, bodies: readonly Buffer[], rounds: number) {
  const sizes = [0.25, 1, 4, 8, 16, 32];
  return shapes(
    server,
    'batches',
    'Ordinary rows by the size of a batch, two connections',
    bodies.map(encode),
    rounds,
    sizes.map((mib) => [`${mib} MiB`, { batchBytesMax: mib * MIB, lanes: 2 }] as const),
  );
}

export function connectionAnswer(server: StoreServer, bodies: readonly Buffer[], rounds: number) {
  return shapes(
    server,
    'connections',
    'Ordinary rows by connections, batches of up to 8 MiB, decoding beside it',
    bodies,
    rounds,
    [1, 2, 3, 4].map((lanes) => [String(lanes), { batchBytesMax: 8 * MIB, lanes }] as const),
  );
}
