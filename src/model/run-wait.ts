/**
 * The event that a run waits for before it is evaluated, and until when at most if nothing more of it arrives: the
 * same on its page and in the API.
 */
import type { RunSummary } from './runs.ts';

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
