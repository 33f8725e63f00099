/** What a run waits for, and until when. */
import { expect, test } from 'vitest';
import type { RunSummary } from '../../src/model/runs.ts';
import { type RunWait, waitOf } from '../../src/model/runs.ts';
import { waitLine } from '../../src/web/app/run.ts';

const TIMES = { settleMs: 60_000, timeoutMs: 900_000 };
const NOON = new Date('2026-11-20T12:00:00.000Z');
const pending = { evaluation: 'pending', settlesFrom: NOON } as const;
const SETTLED = '2026-11-20T12:01:00.000Z';
const TIMED_OUT = '2026-11-20T12:15:00.000Z';

test.each<[RunSummary['state'], boolean, RunWait['for'], string]>([
  ['running', true, 'session_end', TIMED_OUT],
  ['running', false, 'root_span', TIMED_OUT],
  ['completed', true, 'late_steps', SETTLED],
  ['completed', false, 'late_steps', SETTLED],
  ['failed', false, 'late_steps', SETTLED],
])('a run that is %s (of a session: %s) waits for %s', (state, isOfSession, reason, until) => {
  const wait = waitOf({ ...pending, state, isOfSession }, TIMES);
  expect([wait?.for, wait?.until.toISOString()]).toEqual([reason, until]);
});

test.each(['evaluated', 'evaluation_failed'] as const)('%s: for nothing', (evaluation) => {
  const run = { ...pending, evaluation, state: 'completed', isOfSession: false } as const;
  expect(waitOf(run, TIMES)).toBeNull();
});

test('its page says both', () => {
  const wait = waitOf({ ...pending, state: 'running', isOfSession: true }, TIMES);
  if (wait === null) throw new Error('it waits for nothing');
  const { text } = waitLine(wait);
  expect(text).toContain('Its session is still open');
  expect(text).toContain('15 min 0 s after its last step');
  expect(text).toContain(TIMED_OUT);
});
