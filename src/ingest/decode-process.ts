/**
 * The entry point of the process that decodes large bodies, one at a time and without pauses. The
 * sessions and their prompts are known only to the thread that takes requests, and looked up there
 * (`decode-messages.ts`). An unexpected exception ends this process; `large-bodies.ts` starts
 * another.
 */
import '../stack-traces.ts';

import type { TelemetryPlacement } from '../db/placement.ts';
import { type EncodedRequest, unitsOfResource } from '../db/telemetry/encoded-request.ts';
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
import { type SendAnswer, serveParent } from '../limited-process/serve-parent.ts';
import type { DecodedRequest } from '../model/telemetry.ts';
import { toEnd } from '../otlp/pieces.ts';
import {
  type FromDecodeProcess,
  PART_ITEMS_MAX,
  type StoredLists,
  type ToDecodeProcess,
} from './decode-messages.ts';
import { PlainEncoder, parsePlainly, plainLines } from './plain-encoder.ts';
import { type ReadyRequest, RowEncoder } from './row-encoder.ts';

/** Most UTF-16 units in one message; a single item may have more. */
const PART_UNITS_MAX = 512 * 1024;

/** Both ways of decoding, made when first needed: a parent has one placement. */
const waysOf = (placement: TelemetryPlacement) => ({
  scanner: new RowEncoder(placement),
  plain: new PlainEncoder(placement),
});
const ways = new Map<TelemetryPlacement, ReturnType<typeof waysOf>>();

type Order = Extract<ToDecodeProcess, { kind: 'decode' }>;

/** Sends the messages of one exchange and waits for the replies. */
class Conversation {
  #answer: SendAnswer<FromDecodeProcess> | null = null;
  #onReply: ((message: ToDecodeProcess) => void) | null = null;

  /** Takes the next message of the parent, and the way to answer it. */
  take(message: ToDecodeProcess, answer: SendAnswer<FromDecodeProcess>): void {
    this.#answer = answer;
    this.#onReply?.(message);
  }

  async send(message: FromDecodeProcess, bytes?: Uint8Array): Promise<void> {
    await this.#answer?.(message, bytes);
  }

  async request(message: FromDecodeProcess, bytes?: Uint8Array): Promise<ToDecodeProcess> {
    const reply = new Promise<ToDecodeProcess>((resolve) => {
      this.#onReply = resolve;
    });
    await this.send(message, bytes);
    return await reply;
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
  { signal, workspaceId, arrivedAtMs, placement }: Order,
  body: Buffer,
  conversation: Conversation,
): Promise<ReadyRequest | FromDecodeProcess> {
  const { scanner, plain } = ways.get(placement) ?? waysOf(placement);
  ways.set(placement, { scanner, plain });
  const scanned = toEnd(scanner.scan(signal, body, workspaceId, arrivedAtMs));
  if (scanned !== null) return scanned;
  const parsed = parsePlainly(signal, body);
  if (!parsed.ok) return { kind: 'undecodable', message: parsed.message, path: parsed.path };
  const runs = await assignRuns(parsed.request, conversation);
  const lines = plainLines(signal, body, parsed);
  return plain.encode(parsed.request, workspaceId, arrivedAtMs, runs, lines);
}

const EMPTY: StoredLists = { resources: [], runs: [], sessionMarks: [] };

/** The lists in parts, each small enough to be deserialized in a few milliseconds. */
function* partsOf({ resources, runs, sessionMarks }: EncodedRequest): Generator<StoredLists> {
  for (const part of bySize(runs, ({ records }) => records.length)) yield { ...EMPTY, runs: part };
  for (const part of slices(sessionMarks)) yield { ...EMPTY, sessionMarks: part };
  for (const part of bySize(resources, unitsOfResource)) yield { ...EMPTY, resources: part };
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

/** Decodes a body and sends the result. An unexpected rejection ends the process. */
async function answer(order: Order, body: Buffer, conversation: Conversation): Promise<void> {
  let decoded: ReadyRequest | FromDecodeProcess;
  try {
    decoded = await decode(order, body, conversation);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    decoded = { kind: 'refused', code: error.code, message: error.message };
  }
  if ('kind' in decoded) return await conversation.send(decoded);
  const { rejections, replacedCharacters, encoded } = decoded;
  const { rows, bytes } = encoded;
  const facts = { rejections, replacedCharacters, rows, bytes };
  await conversation.request({ kind: 'rows', ...facts });
  for (const [table, chunk] of encoded.chunks) {
    await conversation.request({ kind: 'chunk', table }, chunk);
  }
  for (const { bytes: line, records } of encoded.lines) {
    await conversation.request({ kind: 'line', records }, line);
  }
  for (const lists of partsOf(encoded)) await conversation.request({ kind: 'list', lists });
  encoded.release();
  await conversation.send({ kind: 'end' });
}

const conversation = new Conversation();
serveParent<ToDecodeProcess, FromDecodeProcess>(async ({ message, bytes }, reply) => {
  conversation.take(message, reply);
  if (message.kind === 'decode') await answer(message, bytes, conversation);
});
