/**
 * Assigns runs to log records and spans of products whose runs are the prompts of a session
 * (`src/otlp/log-session.ts`). In this order:
 *
 *   1. it names its prompt         → the run of service, session and prompt: the same everywhere
 *   2. its session's prompt is known here → the run of the latest prompt not after the record
 *   3. it has a trace id           → its trace's run
 *   4. it carries text             → a run of the session and the ten minutes of its time
 *   5. else                        → none; the record is stored and belongs to no run
 *
 * A prompt is known by any record that names it, from that record's time on.
 * Prompts are remembered in this process, a bounded number: after a restart, or in another process,
 * case 3 or 4 applies instead of 2. No text is lost to rules by that, but the text of one prompt may
 * then be in several runs.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

import { compareInt64, type Hex16, type Int64 } from '../../model/json.ts';
import type { DecodedRequest, LogFacts, LogSession, SpanFacts } from '../../model/telemetry.ts';

/** About 12 MB at most; the least recently used session is forgotten. */
const SESSIONS_MAX = 10_000;
/** More than one, for late records of earlier prompts. */
const PROMPTS_PER_SESSION_MAX = 8;
/**
 * Shorter than the timeout of runs (RUN_TIMEOUT_MS, 15 minutes), so that a run of such a span is not
 * evaluated before the span is over.
 */
const UNPROMPTED_SPAN_NANOS = 10n * 60n * 1_000_000_000n;

/** The run of one record, and its session if the session's marks complete the run. */
export interface LogRun {
  readonly runId: Hex16;
  readonly sessionKey: Hex16 | null;
}

/** A moment of a session after which its earlier runs, other than `runId`, are over. */
export interface SessionMark {
  readonly sessionKey: Hex16;
  /** the run that begins there; null at the session's end */
  readonly runId: Hex16 | null;
  readonly atUnixNano: Int64;
}

/** The marks of a session that are needed: two have the effect of all (`session-runs.ts`). */
interface NewestMarks {
  newest: SessionMark;
  /** the newest mark with another run than `newest` */
  other: SessionMark | null;
}

export type RecordFacts = LogFacts | SpanFacts;

export interface LogRunsOfRequest {
  readonly runs: ReadonlyMap<RecordFacts, LogRun>;
  /** at most two per session, however many prompts there are */
  readonly marks: readonly SessionMark[];
}

interface Prompt {
  readonly atUnixNano: Int64;
  readonly runId: Hex16;
}

type Times = Pick<LogFacts, 'timeUnixNano' | 'observedUnixNano'>;

export interface SessionRecord extends Times {
  readonly session: LogSession;
}

type FactsOfRequest = Pick<DecodedRequest, 'spans' | 'logs'>;

const NONE: LogRunsOfRequest = { runs: new Map(), marks: [] };

export function recordsWithSession({ spans, logs }: FactsOfRequest): RecordFacts[] {
  return [...spans.filter(namesSession), ...logs.filter(namesSession)];
}

/** The parts of a record that decide its run; it must name a session. */
export function sessionRecordOf(facts: RecordFacts): SessionRecord {
  const { session } = facts;
  if (session === null) throw new Error('the record names no session');
  if ('startUnixNano' in facts) {
    return { session, timeUnixNano: facts.startUnixNano, observedUnixNano: '0' };
  }
  return { session, timeUnixNano: facts.timeUnixNano, observedUnixNano: facts.observedUnixNano };
}

const namesSession = ({ session }: RecordFacts): boolean => session !== null;

export function neededMarks(marks: readonly SessionMark[]): SessionMark[] {
  const sessions = new Map<Hex16, NewestMarks>();
  for (const mark of marks) {
    const known = sessions.get(mark.sessionKey);
    if (known === undefined) sessions.set(mark.sessionKey, { newest: mark, other: null });
    else addMark(known, mark);
  }
  return [...sessions.values()].flatMap(({ newest, other }) =>
    other === null ? [newest] : [newest, other],
  );
}

export class LogRuns {
  /** prompts by session, in the order of time */
  readonly #sessions = new LRUCache<string, Prompt[]>({ max: SESSIONS_MAX });

  assign(request: FactsOfRequest, workspaceId: number): LogRunsOfRequest {
    const named = recordsWithSession(request);
    // Most requests have no such record.
    if (named.length === 0) return NONE;
    const records = named.map(sessionRecordOf);
    const marks = neededMarks(this.marksOf(records, workspaceId));
    const runs = new Map<RecordFacts, LogRun>();
    for (const [index, run] of this.runsOf(records, workspaceId).entries()) {
      const facts = named[index];
      if (run !== null && facts !== undefined) runs.set(facts, run);
    }
    return { runs, marks };
  }

  /** The session marks that records make; their prompts are remembered. */
  marksOf(records: readonly SessionRecord[], workspaceId: number): SessionMark[] {
    return records.flatMap((record) => this.#marks(record, record.session, workspaceId));
  }

  /** The run of each record; call after `marksOf` for all records of the request. */
  runsOf(records: readonly SessionRecord[], workspaceId: number): (LogRun | null)[] {
    return records.map((record) => this.#runOf(record, record.session, workspaceId));
  }

  #marks(log: Times, session: LogSession, workspaceId: number): SessionMark[] {
    const atUnixNano = timeOf(log);
    if (atUnixNano === null) return [];
    const sessionKey = session.key;
    const end = session.ends ? [{ sessionKey, runId: null, atUnixNano }] : [];
    const isPrompt = session.event === 'prompt';
    if (!isPrompt && session.runId === null) return end;
    const runId = session.runId ?? hashOf([sessionKey, 'prompt', atUnixNano]);
    this.#remember(`${workspaceId}/${sessionKey}`, { atUnixNano, runId });
    if (!isPrompt) return end;
    return [{ sessionKey, runId, atUnixNano }, ...end];
  }

  /** Of records in a row that name the same prompt, the first is remembered. */
  #remember(key: string, prompt: Prompt): void {
    const known = this.#sessions.get(key) ?? [];
    const at = known.findLastIndex(
      ({ atUnixNano }) => compareInt64(prompt.atUnixNano, atUnixNano) >= 0,
    );
    if (known[at]?.runId === prompt.runId) return;
    const isReplaced = known[at]?.atUnixNano === prompt.atUnixNano;
    const isEarlier = known[at + 1]?.runId === prompt.runId;
    const prompts = known.toSpliced(
      isReplaced ? at : at + 1,
      Number(isReplaced) + Number(isEarlier),
      prompt,
    );
    this.#sessions.set(key, prompts.slice(-PROMPTS_PER_SESSION_MAX));
  }

  #runOf(log: Times, session: LogSession, workspaceId: number): LogRun | null {
    const { key, runId, event, hasTrace } = session;
    if (runId !== null) return { runId, sessionKey: key };
    const at = timeOf(log) ?? '0';
    const prompt = this.#sessions
      .get(`${workspaceId}/${key}`)
      ?.findLast(({ atUnixNano }) => compareInt64(at, atUnixNano) >= 0);
    if (prompt !== undefined) return { runId: prompt.runId, sessionKey: key };
    if (hasTrace || (event !== 'text' && event !== 'prompt')) return null;
    const span = String(BigInt(at) / UNPROMPTED_SPAN_NANOS);
    return { runId: hashOf([key, 'unprompted', span]), sessionKey: null };
  }
}

function addMark(known: NewestMarks, mark: SessionMark): void {
  const isNewest = compareInt64(known.newest.atUnixNano, mark.atUnixNano) < 0;
  if (mark.runId === known.newest.runId) {
    if (isNewest) known.newest = mark;
  } else if (isNewest) {
    known.other = known.newest;
    known.newest = mark;
  } else if (known.other === null || compareInt64(known.other.atUnixNano, mark.atUnixNano) < 0) {
    known.other = mark;
  }
}

/** The record's time, else the time it was observed; null without either. */
function timeOf({ timeUnixNano, observedUnixNano }: Times): Int64 | null {
  if (timeUnixNano !== '0') return timeUnixNano;
  return observedUnixNano === '0' ? null : observedUnixNano;
}

/** The first 16 bytes of SHA-256 over the parts as a JSON array, where no two lists look alike. */
function hashOf(parts: readonly string[]): Hex16 {
  return hash('sha256', JSON.stringify(parts)).slice(0, 32);
}
