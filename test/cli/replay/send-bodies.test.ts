/** Sending: how many at a time and a second, what is tried again, and what stops everything. */
import { expect, test } from 'vitest';

import type { ReplayBody } from '../../../src/cli/replay/replay-input.ts';
import {
  GIVE_UP_MS,
  type SendSettings,
  sendBodies,
  startProgress,
} from '../../../src/cli/replay/send-bodies.ts';
import type { SendOutcome } from '../../../src/relay/upstream.ts';

async function* bodies(count: number): AsyncGenerator<ReplayBody> {
  for (let line = 1; line <= count; line += 1) {
    yield { signal: 'traces', text: '{"resourceSpans":[]}', place: `f:${line}` };
  }
}

const ACCEPTED: SendOutcome = { kind: 'accepted', answer: { status: 200, body: {} } };
const away = (retryAfterMs: number | null): SendOutcome => ({
  kind: 'unavailable',
  reason: '503',
  retryAfterMs,
});

/** Sends with a clock of its own; `outcomes` answer in order, the last one for ever. */
async function run(count: number, outcomes: SendOutcome[], settings: Partial<SendSettings> = {}) {
  let nowMs = 0;
  const sentAtMs: number[] = [];
  const progress = startProgress();
  const send = async (): Promise<SendOutcome> => {
    sentAtMs.push(nowMs);
    return outcomes.length > 1 ? (outcomes.shift() as SendOutcome) : (outcomes[0] as SendOutcome);
  };
  const all: SendSettings = {
    upstream: { send },
    concurrency: 1,
    perSecond: null,
    interruption: new AbortController().signal,
    nowMs: () => nowMs,
    wait: async (ms) => {
      nowMs += ms;
    },
    ...settings,
  };
  await sendBodies(bodies(count), all, progress);
  return { progress, sentAtMs, nowMs };
}

test('all are sent, and records of partial successes are counted', async () => {
  const body = { partialSuccess: { rejectedSpans: '2', errorMessage: 'x' } };
  const partial: SendOutcome = { kind: 'accepted', answer: { status: 200, body } };
  const { progress } = await run(3, [partial, ACCEPTED], { concurrency: 2 });
  expect(progress).toMatchObject({ accepted: 3, rejectedRecords: 2, bytes: 60, stopped: null });
});

test('not more a second than wanted', async () => {
  const { sentAtMs } = await run(5, [ACCEPTED], { perSecond: 10 });
  expect(sentAtMs).toEqual([0, 100, 200, 300, 400]);
});

test('never more at a time than wanted', async () => {
  let current = 0;
  let most = 0;
  const send = async (): Promise<SendOutcome> => {
    current += 1;
    most = Math.max(most, current);
    await new Promise((resolve) => setImmediate(resolve));
    current -= 1;
    return ACCEPTED;
  };
  await run(20, [], { upstream: { send }, concurrency: 3 });
  expect(most).toBe(3);
});

test('what is not available is tried again, not before Retry-After', async () => {
  const { progress, sentAtMs } = await run(2, [away(7000), away(null), ACCEPTED]);
  expect(progress).toMatchObject({ accepted: 2, retries: 2, retryReason: '503', stopped: null });
  const [first = 0, second = 0, third = 0] = sentAtMs;
  expect(second - first).toBeGreaterThanOrEqual(7000);
  expect(third - second).toBeGreaterThanOrEqual(500);
});

test('a server that stays away ends the replay', async () => {
  const { progress, nowMs } = await run(3, [away(null)], { concurrency: 2 });
  expect(progress).toMatchObject({ accepted: 0, stopped: 'unavailable' });
  expect(progress.faults[0]).toMatchObject({ status: '503' });
  expect(nowMs).toBeGreaterThanOrEqual(GIVE_UP_MS);
});

test('a body that is refused does not stop the others', async () => {
  const answer = { status: 400, body: { message: 'no JSON' } };
  const { progress } = await run(3, [ACCEPTED, { kind: 'refused', answer }, ACCEPTED]);
  expect(progress).toMatchObject({ accepted: 2, refused: 1, stopped: null });
  expect(progress.faults).toEqual([{ place: 'f:2', status: '400', message: 'no JSON' }]);
});

test('a wrong key stops everything', async () => {
  const answer = { status: 401, body: null };
  const { progress, sentAtMs } = await run(9, [{ kind: 'denied', answer }]);
  expect(sentAtMs).toHaveLength(1);
  expect(progress).toMatchObject({ accepted: 0, stopped: 'denied' });
});

test('an interruption stops after what is being sent', async () => {
  const stop = new AbortController();
  const send = async (): Promise<SendOutcome> => {
    stop.abort();
    return ACCEPTED;
  };
  const settings = { upstream: { send }, interruption: stop.signal };
  const { progress } = await run(9, [], settings);
  expect(progress).toMatchObject({ accepted: 1, stopped: 'interrupted' });
});

test('a file that turns out to be wrong is an error', async () => {
  const wrong = async function* (): AsyncGenerator<ReplayBody> {
    yield* bodies(1);
    throw new Error('line 2');
  };
  const settings = {
    upstream: { send: async () => ACCEPTED },
    concurrency: 3,
    perSecond: null,
    interruption: new AbortController().signal,
    wait: async () => {},
  };
  const progress = startProgress();
  await expect(sendBodies(wrong(), settings, progress)).rejects.toThrow('line 2');
  expect(progress.accepted).toBe(1);
});
