/**
 * The entry point of the process that decodes large bodies, one at a time and without pauses. The
 * sessions and their prompts are known only to the thread that takes requests, and looked up there
 * (`decode-messages.ts`). An unexpected exception ends this process; `large-bodies.ts` starts
 * another.
 */
import '../stack-traces.ts';

import type { EncodedRequest } from '../db/telemetry/encoded-request.ts';
import {
  type LogRun,
  type LogRunsOfRequest,
  neededMarks,
  type RecordFacts,
  recordsWithSession,
  type SessionMark,
  sessionRecordOf,
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
import { encodePlainly, parsePlainly } from './plain-decoder.ts';
import { type ReadyRequest, RequestChecker } from './request-checker.ts';

const checker = new RequestChecker();

type Order = Extract<ToDecodeProcess, { kind: 'decode' }>;

class Conversation {
  #answer: SendAnswer<FromDecodeProcess> | null = null;
  #onReply: ((message: ToDecodeProcess) => void) | null = null;

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
  const named = recordsWithSession(request);
  const parts = slices(named).map((part) => part.map(sessionRecordOf));
  const marks: SessionMark[] = [];
  for (const records of parts) {
    const answer = await conversation.request({ kind: 'marks', records });
    if (answer.kind === 'marks') marks.push(...answer.marks);
  }
  const runs = new Map<RecordFacts, LogRun>();
  for (const [part, records] of parts.entries()) {
    const answer = await conversation.request({ kind: 'runs', records });
    if (answer.kind !== 'runs') continue;
    for (const [index, run] of answer.runs.entries()) {
      const facts = named[part * PART_ITEMS_MAX + index];
      if (run !== null && facts !== undefined) runs.set(facts, run);
    }
  }
  return { runs, marks: neededMarks(marks) };
}

/** The request of a body, or the reply with the reason for the refusal. */
async function decode(
  { signal, workspaceId, arrivedAtMs }: Order,
  body: Buffer,
  conversation: Conversation,
): Promise<ReadyRequest | FromDecodeProcess> {
  const scanned = toEnd(checker.scan(signal, body, workspaceId, arrivedAtMs));
  if (scanned !== null) return scanned;
  const parsed = parsePlainly(signal, body);
  if (!parsed.ok) return { kind: 'undecodable', message: parsed.message, path: parsed.path };
  const runs = await assignRuns(parsed.request, conversation);
  return encodePlainly(body, parsed, workspaceId, arrivedAtMs, runs);
}

/** The lists in parts, each small enough to be deserialized in a few milliseconds. */
function* partsOf({ runs, sessionMarks }: EncodedRequest): Generator<StoredLists> {
  for (const part of slices(runs)) yield { runs: part, sessionMarks: [] };
  for (const part of slices(sessionMarks)) yield { runs: [], sessionMarks: part };
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
  const { rejections, encoded } = decoded;
  const { records, bytes } = encoded;
  await conversation.request({ kind: 'request', rejections, records, bytes });
  for (const { parts, ...line } of encoded.lines) {
    const whole = Buffer.concat(parts, line.bytes);
    await conversation.request({ kind: 'line', records: line.records }, whole);
  }
  for (const lists of partsOf(encoded)) await conversation.request({ kind: 'list', lists });
  await conversation.send({ kind: 'end' });
}

const conversation = new Conversation();
serveParent<ToDecodeProcess, FromDecodeProcess>(async ({ message, bytes }, reply) => {
  conversation.take(message, reply);
  if (message.kind === 'decode') await answer(message, bytes, conversation);
});
