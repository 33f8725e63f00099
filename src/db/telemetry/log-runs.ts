/**
 * Assigns runs to log records without trace id, for products that send none
 * (`src/otlp/log-session.ts`). In this order:
 *
 *   1. it names its prompt         → the run of service, session and prompt: the same everywhere
 *   2. its session's prompt is known here → the run of the latest prompt not after the record
 *   3. it carries text             → a run of the session and the ten minutes of its time
 *   4. else                        → none; the record is stored and belongs to no run
 *
 * Prompts are remembered in this process, a bounded number: after a restart, or in another process,
 * case 3 applies instead of 2. No text is lost to rules by that, but the text of one prompt may then
 * be in several runs.
 */
import { hash } from 'node:crypto';

import type { Hex16, Int64 } from '../../model/json.ts';
import type { LogRow, LogSession } from '../../model/telemetry.ts';
import { isLess } from './int64.ts';

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

/**
 * The marks of a session that are needed: two have the same effect as all of them
 * (`session-runs.ts`).
 */
interface NewestMarks {
  newest: SessionMark;
  /** the newest mark whose run is not that of `newest` */
  other: SessionMark | null;
}

export interface LogRunsOfRequest {
  /** without records that have a trace id or no run */
  readonly runs: ReadonlyMap<LogRow, LogRun>;
  /** at most two per session, however many prompts there are */
  readonly marks: readonly SessionMark[];
}

interface Prompt {
  readonly atUnixNano: Int64;
  readonly runId: Hex16;
}

type Times = Pick<LogRow, 'timeUnixNano' | 'observedUnixNano'>;

/** The parts of a log record that decide its run. */
export interface SessionRecord extends Times {
  readonly session: LogSession;
}

const NONE: LogRunsOfRequest = { runs: new Map(), marks: [] };

/** Whether the record names a session. */
export function isSessionRecord(log: LogRow): log is LogRow & SessionRecord {
  return log.session !== null;
}

/** The marks of each session that are needed (`session-runs.ts`). */
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
  /** prompts by session, in the order of time; sessions in the order of their last use */
  readonly #sessions = new Map<string, Prompt[]>();

  /** The runs that a request's records without trace id belong to. */
  assign(logs: readonly LogRow[], workspaceId: number): LogRunsOfRequest {
    // Most requests have no such record.
    if (!logs.some(isSessionRecord)) return NONE;
    const records = logs.filter(isSessionRecord);
    const marks = neededMarks(this.marksOf(records, workspaceId));
    const runs = new Map<LogRow, LogRun>();
    for (const [index, run] of this.runsOf(records, workspaceId).entries()) {
      const record = records[index];
      if (run !== null && record !== undefined) runs.set(record, run);
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

  /** The session marks that a record makes; a prompt is remembered. */
  #marks(log: Times, session: LogSession, workspaceId: number): SessionMark[] {
    const atUnixNano = timeOf(log);
    if (atUnixNano === null) return [];
    const sessionKey = session.key;
    const end = session.ends ? [{ sessionKey, runId: null, atUnixNano }] : [];
    if (session.event !== 'prompt') return end;
    const runId = session.runId ?? hashOf([sessionKey, 'prompt', atUnixNano]);
    this.#remember(`${workspaceId}/${sessionKey}`, { atUnixNano, runId });
    return [{ sessionKey, runId, atUnixNano }, ...end];
  }

  #remember(key: string, prompt: Prompt): void {
    const prompts = this.#use(key).filter(({ atUnixNano }) => atUnixNano !== prompt.atUnixNano);
    const later = prompts.findIndex(({ atUnixNano }) => isLess(prompt.atUnixNano, atUnixNano));
    prompts.splice(later < 0 ? prompts.length : later, 0, prompt);
    this.#sessions.set(key, prompts.slice(-PROMPTS_PER_SESSION_MAX));
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size <= SESSIONS_MAX) break;
      this.#sessions.delete(oldest);
    }
  }

  /** The prompts of a session, which is the last used now. */
  #use(key: string): Prompt[] {
    const prompts = this.#sessions.get(key);
    if (prompts === undefined) return [];
    this.#sessions.delete(key);
    this.#sessions.set(key, prompts);
    return prompts;
  }

  #runOf(log: Times, session: LogSession, workspaceId: number): LogRun | null {
    const { key, runId, event } = session;
    if (runId !== null) return { runId, sessionKey: key };
    const at = timeOf(log) ?? '0';
    const prompt = this.#use(`${workspaceId}/${key}`).findLast(
      ({ atUnixNano }) => !isLess(at, atUnixNano),
    );
    if (prompt !== undefined) return { runId: prompt.runId, sessionKey: key };
    if (event !== 'text' && event !== 'prompt') return null;
    const span = String(BigInt(at) / UNPROMPTED_SPAN_NANOS);
    return { runId: hashOf([key, 'unprompted', span]), sessionKey: null };
  }
}

function addMark(known: NewestMarks, mark: SessionMark): void {
  const isNewest = isLess(known.newest.atUnixNano, mark.atUnixNano);
  if (mark.runId === known.newest.runId) {
    if (isNewest) known.newest = mark;
  } else if (isNewest) {
    known.other = known.newest;
    known.newest = mark;
  } else if (known.other === null || isLess(known.other.atUnixNano, mark.atUnixNano)) {
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
