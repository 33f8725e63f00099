/**
 * What runs inside the thread that decodes large bodies: one at a time, at once, as `decodeRequest` does.
 * What a record's session and prompt mean is known to the thread that takes requests and asked of it
 * (`decode-words.ts`). An exception nobody expected ends this thread; `large-bodies.ts` starts another.
 */
import { parentPort } from 'node:worker_threads';

import {
  type EncodedRequest,
  encodeWithRuns,
  unitsOfMetric,
  unitsOfResource,
} from '../db/encoded-request.ts';
import {
  isSessionRecord,
  type LogRun,
  type LogRunsOfRequest,
  neededMarks,
  type SessionMark,
  type SessionRecord,
} from '../db/log-runs.ts';
import { SluiceError } from '../errors.ts';
import type { LogRow } from '../model.ts';
import {
  type FromDecodeThread,
  type Lists,
  PART_ITEMS_MAX,
  type ToDecodeThread,
} from './decode-words.ts';
import { parsePlainly, type ReadyRequest, scanOrNull } from './request-decoder.ts';

/** UTF-16 units of the items of one message, unless it is one item. */
const PART_UNITS_MAX = 512 * 1024;

type Order = Extract<ToDecodeThread, { kind: 'decode' }>;
type Port = NonNullable<typeof parentPort>;

/** One end of the conversation. */
class Conversation {
  readonly #port: Port;
  #answered: (word: ToDecodeThread) => void = () => {};

  constructor(port: Port, onOrder: (order: Order) => void) {
    this.#port = port;
    port.on('message', (word: ToDecodeThread) => {
      if (word.kind === 'decode') onOrder(word);
      else this.#answered(word);
    });
  }

  say(word: FromDecodeThread, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(word, transfer);
  }

  async ask(
    word: FromDecodeThread,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<ToDecodeThread> {
    const answer = new Promise<ToDecodeThread>((resolve) => {
      this.#answered = resolve;
    });
    this.say(word, transfer);
    return await answer;
  }
}

function slices<T>(items: readonly T[]): T[][] {
  const count = Math.ceil(items.length / PART_ITEMS_MAX);
  return Array.from({ length: count }, (_, index) =>
    items.slice(index * PART_ITEMS_MAX, (index + 1) * PART_ITEMS_MAX),
  );
}

function recordOf({ session, timeUnixNano, observedUnixNano }: SessionRecord): SessionRecord {
  return { session, timeUnixNano, observedUnixNano };
}

/** `LogRuns.assign`, asked of the thread that knows the sessions. */
async function assignRuns(
  logs: readonly LogRow[],
  conversation: Conversation,
): Promise<LogRunsOfRequest> {
  const named = logs.filter(isSessionRecord);
  const parts = slices(named).map((part) => part.map(recordOf));
  const marks: SessionMark[] = [];
  for (const records of parts) {
    const answer = await conversation.ask({ kind: 'marks', records });
    if (answer.kind === 'marks') marks.push(...answer.marks);
  }
  const runs = new Map<LogRow, LogRun>();
  for (const [part, records] of parts.entries()) {
    const answer = await conversation.ask({ kind: 'runs', records });
    if (answer.kind !== 'runs') continue;
    for (const [index, run] of answer.runs.entries()) {
      const log = named[part * PART_ITEMS_MAX + index];
      if (run !== null && log !== undefined) runs.set(log, run);
    }
  }
  return { runs, marks: neededMarks(marks) };
}

/** The rows of a body, or the word that says why it has none. */
async function decode(
  { signal, body: bytes, workspaceId, arrivedAtMs }: Order,
  conversation: Conversation,
): Promise<ReadyRequest | FromDecodeThread> {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const scanned = scanOrNull(signal, body, { workspaceId, arrivedAtMs });
  if (scanned?.ok === true) return scanned.request;
  const parsed = parsePlainly(signal, body);
  if (!parsed.ok) return { kind: 'undecodable', message: parsed.message, path: parsed.path };
  const runs = await assignRuns(parsed.request.logs, conversation);
  const { rejections, replacedCharacters } = parsed.request;
  const encoded = encodeWithRuns(parsed.request, workspaceId, arrivedAtMs, runs);
  return { signal, rejections, replacedCharacters, encoded };
}

const EMPTY: Lists = { resources: [], metrics: [], runs: [], sessionMarks: [] };

/** The lists in parts, each small enough to be taken apart in a few milliseconds. */
function* partsOf({ resources, metrics, runs, sessionMarks }: EncodedRequest): Generator<Lists> {
  for (const part of slices(runs)) yield { ...EMPTY, runs: part };
  for (const part of slices(sessionMarks)) yield { ...EMPTY, sessionMarks: part };
  for (const part of bySize(resources, unitsOfResource)) yield { ...EMPTY, resources: part };
  for (const part of bySize(metrics, unitsOfMetric)) yield { ...EMPTY, metrics: part };
}

function* bySize<Row>(rows: readonly Row[], sizeOf: (row: Row) => number): Generator<Row[]> {
  let part: Row[] = [];
  let units = 0;
  for (const row of rows) {
    const size = sizeOf(row);
    if (part.length >= PART_ITEMS_MAX || (part.length > 0 && units + size > PART_UNITS_MAX)) {
      yield part;
      part = [];
      units = 0;
    }
    part.push(row);
    units += size;
  }
  if (part.length > 0) yield part;
}

/** A chunk in memory of its own, which can be given away. */
function ownBytes(chunk: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = chunk;
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  return isOwn ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(chunk);
}

/** Decodes a body and tells what became of it. A rejection nobody expected ends the thread. */
async function answer(order: Order, conversation: Conversation): Promise<void> {
  let decoded: ReadyRequest | FromDecodeThread;
  try {
    decoded = await decode(order, conversation);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    decoded = { kind: 'refused', code: error.code, message: error.message };
  }
  if ('kind' in decoded) {
    conversation.say(decoded);
    return;
  }
  const { rejections, replacedCharacters, encoded } = decoded;
  const chunks = new Map([...encoded.chunks].map(([table, chunk]) => [table, ownBytes(chunk)]));
  const { rows, bytes } = encoded;
  const buffers = [...chunks.values()].map(({ buffer }) => buffer);
  const said = { kind: 'rows', rejections, replacedCharacters, chunks, rows, bytes } as const;
  await conversation.ask(said, buffers);
  encoded.release();
  for (const lists of partsOf(encoded)) await conversation.ask({ kind: 'list', lists });
  conversation.say({ kind: 'end' });
}

if (parentPort === null) throw new Error('decode-thread.ts runs in a worker thread only');
const conversation = new Conversation(parentPort, (order) => void answer(order, conversation));
