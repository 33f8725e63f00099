/** Runs: states, facts, summaries, and the filter of a list. Plain data. */
import type { Hex16, Int64 } from './json.ts';
import type { Severity } from './rules.ts';
import type { Surface, TextGap } from './steps.ts';
import type { Usage } from './usage.ts';

interface NameRow {
  readonly column: string;
  readonly name: string;
  readonly label: string;
  /** among the names that a filter suggests */
  readonly known: string;
}

const row = <const Row extends NameRow>(given: Row): Row => given;

/**
 * The names of a run: columns of `runs`, and facts that findings keep of their run. Each row adds one to both
 * lists with filter and suggestions, to both exports and to the command line. A new one needs its columns in
 * the migration and its fact in `RunFacts`, which the engine reads.
 */
export const RUN_NAMES = {
  agentName: row({ column: 'agent_name', name: 'agent', label: 'Agent', known: 'agents' }),
  serviceName: row({
    column: 'service_name',
    name: 'service',
    label: 'Service',
    known: 'services',
  }),
  userId: row({ column: 'user_id', name: 'user_id', label: 'User', known: 'users' }),
  sessionId: row({ column: 'session_id', name: 'session_id', label: 'Session', known: 'sessions' }),
  model: row({ column: 'model', name: 'model', label: 'Model', known: 'models' }),
};

type Table = typeof RUN_NAMES;
export type RunName = keyof Table;
/** The names of one run, cut to 256 characters; null where unknown. */
export type NamesOfRun = Readonly<Record<RunName, string | null>>;
/** Names that runs or findings have, the most frequent first: what the filters of their lists suggest. */
export type RunNames = Readonly<Record<Table[RunName]['known'], readonly string[]>>;

export const RUN_NAME_ROWS = Object.entries(RUN_NAMES).map(([key, own]) => ({
  key: key as RunName,
  ...own,
}));

type InApi<Value> = Record<Table[RunName]['name'], Value>;

/** A member of the API for each name. @param of its label, in lower case */
export const namesOfRun = <Value>(of: (label: string) => Value) =>
  Object.fromEntries(
    RUN_NAME_ROWS.map(({ name, label }) => [name, of(label.toLowerCase())]),
  ) as InApi<Value>;

export const RUN_STATES = ['running', 'completed', 'failed', 'timed_out'] as const;
export type RunState = (typeof RUN_STATES)[number];

/** States of matching a run's text against the rules; `evaluation_failed` after the last attempt. */
export const EVALUATION_STATES = ['pending', 'evaluated', 'evaluation_failed'] as const;
export type EvaluationState = (typeof EVALUATION_STATES)[number];

export const CHECKED = [
  'pending',
  'failed',
  'nothing',
  'tool_names_only',
  'partly',
  'fully',
] as const;
/**
 * The checked part of a run (run-check.ts). `pending`: not evaluated yet. `failed`: every attempt
 * failed. `nothing`: no text was found. `tool_names_only`: the only texts were names of tools. `partly`:
 * not everything, for known reasons. `fully`: every text that was sent.
 */
export type Checked = (typeof CHECKED)[number];

/** Most steps of a signal in the export of a run. */
export const EXPORTED_STEPS_MAX = 20_000;

export const RUN_NOT_EXPORTED =
  'This workspace redacts excerpts: the texts of its runs are not exported.';

/** Stored blocks with steps of a run that could not be read, because they are damaged or missing. */
export interface UnreadableBlocks {
  readonly blocks: number;
  readonly steps: number;
}

/** Names one run of one workspace. */
export interface RunRef {
  readonly workspaceId: number;
  readonly runId: Hex16;
}

/** Facts about a run that come from its steps. Names are as sent, cut to 256 characters. */
export interface RunFacts extends Omit<NamesOfRun, 'serviceName'> {
  readonly state: RunState;
  readonly textGaps: readonly TextGap[];
  /** values with text that no convention reads, and the keys of the first of them */
  readonly unreadTexts: number;
  readonly unreadKeys: readonly string[];
  /** roles of messages that are in no known word, the first ones */
  readonly unknownRoles: readonly string[];
  /** the line that makes the sender send text; null where it sends some, or none is known */
  readonly captureHint: string | null;
}

/** Where the next page of a list begins: after the finding or run with this time and id. */
export interface PageCursor {
  /** microseconds since 1970, so that no two times of the database are mixed up */
  readonly atMicros: string;
  readonly id: Hex16;
}

/** A run as people see it. Facts from its steps, and sums over them, are null until it is evaluated. */
export interface RunSummary extends Usage, NamesOfRun {
  readonly runId: Hex16;
  readonly state: RunState;
  readonly evaluation: EvaluationState;
  readonly name: string | null;
  /** the beginning of the first text that a user sent; null also where the workspace redacts */
  readonly title: string | null;
  readonly startUnixNano: Int64 | null;
  readonly endUnixNano: Int64 | null;
  readonly firstArrivalAt: Date;
  readonly lastArrivalAt: Date;
  /** since when it waits: its last arrival, or an earlier time where arrivals delay it no longer */
  readonly settlesFrom: Date;
  /** the course of its session finishes it, instead of a root span */
  readonly isOfSession: boolean;
  /** different ones; before the evaluation, those that were sent again included */
  readonly spans: number;
  /** spans that were sent again with the same content, as far as an evaluation has seen */
  readonly repeatedSpans: number;
  readonly logRecords: number;
  readonly evaluatedAt: Date | null;
  /** steps that were evaluated; what arrived since then is late */
  readonly evaluatedSteps: number | null;
  /** its late steps wait to be evaluated by themselves */
  readonly lateWaits?: boolean;
  /** how many of the evaluated steps were late and were evaluated by themselves, and when last */
  readonly lateEvaluatedSteps?: number;
  readonly lateEvaluatedAt?: Date | null;
  /** steps beyond the limits of one evaluation (steps, bytes, CPU time) */
  readonly unreadSteps: number | null;
  /** known where its steps were read */
  readonly unreadable?: UnreadableBlocks;
  /** number of texts in its steps; 0 if no step has any */
  readonly texts: number | null;
  readonly surfaces: readonly Surface[] | null;
  /** texts that were longer than `textCapBytes`; only the beginning was matched */
  readonly truncatedTexts: number | null;
  /** `SURFACE_CAP_BYTES` at the time of the evaluation */
  readonly textCapBytes: number | null;
  /** values whose strings were matched as written, because parsing them would have taken too much */
  readonly unparsedValues: number | null;
  readonly textGaps: readonly TextGap[] | null;
  /** attributes with text that no convention reads */
  readonly unreadTexts: number | null;
  /** the keys of the first of them, without the sender's numbers */
  readonly unreadKeys: readonly string[] | null;
  /** roles of messages that are in no known word, the first ones */
  readonly unknownRoles: readonly string[] | null;
  /** the line that makes its sender send text; null where it sent some, or none is known */
  readonly captureHint: string | null;
  readonly corpusVersion: string | null;
  readonly corpusIdentity: string | null;
  /** of its findings, one per finding */
  readonly severities: readonly Severity[];
}

/**
 * Which runs a list has; undefined members do not narrow it. Names contain the text of their filter, in any case;
 * a session that some run has by its whole id is that session alone.
 */
export interface RunFilter extends Readonly<Partial<Record<RunName, string | undefined>>> {
  readonly state?: RunState | undefined;
  readonly evaluation?: EvaluationState | undefined;
  readonly textIncomplete?: boolean | undefined;
  readonly checked?: Checked | undefined;
  readonly hasFindings?: boolean | undefined;
  readonly ids?: readonly Hex16[] | undefined;
  /** by the arrival of the first step */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

export const RUNS_NOT_SEARCHED =
  'This workspace redacts excerpts: the texts of its runs are not searched.';

/** Orders of the list of runs; all but the first sort the newest runs of the filter. */
export const RUN_ORDERS = ['newest', 'longest', 'tokens', 'findings'] as const;
export type RunOrder = (typeof RUN_ORDERS)[number];

export interface TextMatch {
  readonly before: string;
  readonly match: string;
  readonly after: string;
}

export interface RunTextSearch {
  /** newest arrival first */
  readonly runs: readonly (RunSummary & { readonly textMatch: TextMatch })[];
  /** the block after which the search continues; null at the end */
  readonly next: Hex16 | null;
  /** all of the range that arrived since then is searched; null: the whole range */
  readonly searchedTo: Date | null;
  /** packed blocks whose filters were tested, blocks that were read, and blocks that could not be */
  readonly blocks: number;
  readonly blocksRead: number;
  readonly blocksUnreadable: number;
  /** further runs wait for their evaluation and were not searched */
  readonly pendingLeftOut: boolean;
}

export interface TextQuery {
  readonly text: string;
  readonly filter: RunFilter;
  /** `next` of the page before; null: the first page */
  readonly cursor: Hex16 | null;
  /** the page ends with the block that reaches so many runs */
  readonly limit: number;
}

export type SearchRuns = (
  workspaceId: number,
  query: TextQuery,
  signal?: AbortSignal | undefined,
) => Promise<RunTextSearch>;

/** The event that a run waits for before it is evaluated: the same on its page and in the API. */
export const WAITS = ['session_end', 'root_span', 'late_steps'] as const;

/** `RUN_SETTLE_MS` and `RUN_TIMEOUT_MS`. */
export interface WaitTimes {
  readonly settleMs: number;
  readonly timeoutMs: number;
}

export interface RunWait {
  /** `late_steps`: it is finished */
  readonly for: (typeof WAITS)[number];
  /** how long the silence before its evaluation is, in milliseconds */
  readonly silenceMs: number;
  /** the end of that silence */
  readonly until: Date;
}

type WaitingRun = Pick<RunSummary, 'evaluation' | 'state' | 'isOfSession' | 'settlesFrom'>;

/** Null for a run that has been evaluated, or could not be. */
export function waitOf(
  { evaluation, state, isOfSession, settlesFrom }: WaitingRun,
  { settleMs, timeoutMs }: WaitTimes,
): RunWait | null {
  if (evaluation !== 'pending') return null;
  const isOpen = state === 'running';
  const silenceMs = isOpen ? timeoutMs : settleMs;
  const until = new Date(settlesFrom.getTime() + silenceMs);
  if (!isOpen) return { for: 'late_steps', silenceMs, until };
  return { for: isOfSession ? 'session_end' : 'root_span', silenceMs, until };
}
