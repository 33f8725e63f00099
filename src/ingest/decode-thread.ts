/**
 * The entry point of the thread that decodes large bodies, one at a time and without pauses. The
 * sessions and their prompts are known only to the thread that takes requests, and looked up there
 * (`decode-messages.ts`). An unexpected exception ends this thread; `large-bodies.ts` starts
 * another.
 */
import { parentPort } from 'node:worker_threads';

import {
  type EncodedRequest,
  unitsOfMetric,
  unitsOfResource,
} from '../db/telemetry/encoded-request.ts';
import {
  type LogRun,
  type LogRunsOfRequest,
  neededMarks,
  type SessionMark,
  type SessionRow,
  sessionRecordOf,
  sessionRowsOf,
} from '../db/telemetry/log-runs.ts';
import { SluiceError } from '../errors.ts';
import type { DecodedRequest } from '../model/telemetry.ts';
import { toEnd } from '../otlp/pieces.ts';
import {
  type FromDecodeThread,
  PART_ITEMS_MAX,
  type StoredLists,
  type ToDecodeThread,
} from './decode-messages.ts';
import { parsePlainly, type ReadyRequest, RequestDecoder } from './request-decoder.ts';

/** Most UTF-16 units in one message; a single item may have more. */
const PART_UNITS_MAX = 512 * 1024;

const decoder = new RequestDecoder();

type Order = Extract<ToDecodeThread, { kind: 'decode' }>;
type Port = NonNullable<typeof parentPort>;

/** This thread's end of the message exchange. */
class Conversation {
  readonly #port: Port;
  #onReply: (message: ToDecodeThread) => void = () => {};

  constructor(port: Port, onOrder: (order: Order) => void) {
    this.#port = port;
    port.on('message', (message: ToDecodeThread) => {
      if (message.kind === 'decode') onOrder(message);
      else this.#onReply(message);
    });
  }

  send(message: FromDecodeThread, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  async request(
    message: FromDecodeThread,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<ToDecodeThread> {
    const answer = new Promise<ToDecodeThread>((resolve) => {
      this.#onReply = resolve;
    });
    this.send(message, transfer);
    return await answer;
  }
}

function slices<T>(items: readonly T[]): T[][] {
  const count = Math.ceil(items.length / PART_ITEMS_MAX);
  return Array.from({ length: count }, (_, index) =>
    items.slice(index * PART_ITEMS_MAX, (index + 1) * PART_ITEMS_MAX),
  );
}

/** As `LogRuns.assign`, by messages to the thread that takes requests. */
async function assignRuns(
  request: DecodedRequest,
  conversation: Conversation,
): Promise<LogRunsOfRequest> {
  const named = sessionRowsOf(request);
  const parts = slices(named).map((part) => part.map(sessionRecordOf));
  const marks: SessionMark[] = [];
  for (const records of parts) {
    const answer = await conversation.request({ kind: 'marks', records });
    if (answer.kind === 'marks') marks.push(...answer.marks);
  }
  const runs = new Map<SessionRow, LogRun>();
  for (const [part, records] of parts.entries()) {
    const answer = await conversation.request({ kind: 'runs', records });
    if (answer.kind !== 'runs') continue;
    for (const [index, run] of answer.runs.entries()) {
      const row = named[part * PART_ITEMS_MAX + index];
      if (run !== null && row !== undefined) runs.set(row, run);
    }
  }
  return { runs, marks: neededMarks(marks) };
}

/** The rows of a body, or the reply with the reason for the refusal. */
async function decode(
  { signal, body: bytes, workspaceId, arrivedAtMs }: Order,
  conversation: Conversation,
): Promise<ReadyRequest | FromDecodeThread> {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const scanned = toEnd(decoder.scan(signal, body, workspaceId, arrivedAtMs));
  if (scanned !== null) return scanned;
  const parsed = parsePlainly(signal, body);
  if (!parsed.ok) return { kind: 'undecodable', message: parsed.message, path: parsed.path };
  const runs = await assignRuns(parsed.request, conversation);
  return decoder.encode(parsed.request, workspaceId, arrivedAtMs, runs);
}

const EMPTY: StoredLists = { resources: [], metrics: [], runs: [], sessionMarks: [] };

/** The lists in parts, each small enough to be deserialized in a few milliseconds. */
function* partsOf({
  resources,
  metrics,
  runs,
  sessionMarks,
}: EncodedRequest): Generator<StoredLists> {
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

/** A chunk as the whole of an ArrayBuffer, which can be transferred; copied if necessary. */
function ownBytes(chunk: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = chunk;
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  return isOwn ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(chunk);
}

/** Decodes a body and sends the result. An unexpected rejection ends the thread. */
async function answer(order: Order, conversation: Conversation): Promise<void> {
  let decoded: ReadyRequest | FromDecodeThread;
  try {
    decoded = await decode(order, conversation);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    decoded = { kind: 'refused', code: error.code, message: error.message };
  }
  if ('kind' in decoded) {
    conversation.send(decoded);
    return;
  }
  const { rejections, replacedCharacters, encoded } = decoded;
  const chunks = new Map([...encoded.chunks].map(([table, chunk]) => [table, ownBytes(chunk)]));
  const { rows, bytes } = encoded;
  const buffers = [...chunks.values()].map(({ buffer }) => buffer);
  const reply = { kind: 'rows', rejections, replacedCharacters, chunks, rows, bytes } as const;
  await conversation.request(reply, buffers);
  encoded.release();
  for (const lists of partsOf(encoded)) await conversation.request({ kind: 'list', lists });
  conversation.send({ kind: 'end' });
}

if (parentPort === null) throw new Error('decode-thread.ts runs in a worker thread only');
const conversation = new Conversation(parentPort, (order) => void answer(order, conversation));
