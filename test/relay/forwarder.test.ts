/** Requests are sent at once, queued, tried again or dropped; against a fake server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRelayObserver } from '../../src/observe/relay-events.ts';
import {
  Backoff,
  Forwarder,
  type ForwarderOptions,
  rejectedRecords,
} from '../../src/relay/forwarder.ts';
import { DiskQueue } from '../../src/relay/queue/disk-queue.ts';
import { QueueAge } from '../../src/relay/queue/queue-age.ts';
import type { RelayedRequest } from '../../src/relay/queue/queue-files.ts';
import type { SendOutcome } from '../../src/relay/upstream.ts';
import { waitFor } from '../support/wait-for.ts';

const DAY_MS = 24 * 3_600_000;
const ACCEPTED: SendOutcome = { kind: 'accepted', answer: { status: 200, body: {} } };
const REFUSED: SendOutcome = { kind: 'refused', answer: { status: 400, body: {} } };
const DENIED: SendOutcome = { kind: 'denied', answer: { status: 401, body: {} } };
const AWAY: SendOutcome = { kind: 'unavailable', reason: 'ECONNREFUSED', retryAfterMs: null };

let folder: string;
let queue: DiskQueue<Promise<SendOutcome>>;
let metrics: () => Promise<string>;
/** bodies that were sent, in order */
let sent: string[];
/** milliseconds by which the clock of the relay is ahead */
let aged: number;
let answer: (text: string) => SendOutcome | Promise<SendOutcome>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-relay-forwarder-'));
  sent = [];
  aged = 0;
  answer = () => ACCEPTED;
});
afterEach(async () => {
  await queue.close();
  rmSync(folder, { recursive: true, force: true });
});

function open(options: Partial<ForwarderOptions> = {}, queueBytesMax = 1024 * 1024): Forwarder {
  const state = { queueBytes: 0, queueBytesMax, oldestSeconds: 0, server: 'up' } as const;
  const { events, registry } = createRelayObserver('silent', () => state);
  metrics = () => registry.metrics();
  queue = new DiskQueue(folder, queueBytesMax, events);
  return new Forwarder({
    queue,
    age: new QueueAge(Date.now(), () => performance.now() + aged),
    events,
    upstream: {
      send: async ({ body }) => {
        sent.push(body.toString());
        return await answer(body.toString());
      },
    },
    renewKey: () => false,
    // Waits are short, and no test depends on how long they are.
    backoff: new Backoff(() => 0),
    ...options,
  });
}

const request = (text: string): RelayedRequest => ({
  signal: 'traces',
  body: Buffer.from(text),
  deduplicates: true,
});

/** Makes the server wait with its next answer; returns what gives it. */
function holdAnswer(): (outcome: SendOutcome) => void {
  let finish = (_outcome: SendOutcome): void => {};
  const held = new Promise<SendOutcome>((resolve) => {
    finish = resolve;
  });
  answer = () => held;
  return finish;
}

async function whenSent(count: number): Promise<void> {
  await waitFor(() => sent.length >= count, { withinMs: 20_000, what: `${count} sendings` });
}

async function whenEmpty(): Promise<void> {
  await waitFor(() => queue.isEmpty, { withinMs: 20_000, what: 'the queue is empty' });
}

test('what the server accepts or refuses is passed on, nothing is queued', async () => {
  const forwarder = open();
  const partial = { partialSuccess: { rejectedSpans: '2', errorMessage: 'bad_kind' } };
  answer = () => ({ kind: 'accepted', answer: { status: 200, body: partial } });
  expect(await forwarder.deliver(request('a'))).toEqual({
    kind: 'passed-on',
    answer: { status: 200, body: partial },
  });
  answer = () => REFUSED;
  expect(await forwarder.deliver(request('b'))).toMatchObject({ answer: { status: 400 } });
  expect(queue.isEmpty).toBe(true);
  const text = await metrics();
  expect(text).toContain('sluice_relay_rejected_records_total{signal="traces"} 2');
  expect(text).toContain('sluice_relay_refused_total{status="400"} 1');
});

test('while the server is away requests are queued, then sent, the same bytes again', async () => {
  const forwarder = open();
  answer = () => AWAY;
  for (const text of ['a', 'b', 'c']) {
    expect(await forwarder.deliver(request(text))).toEqual({ kind: 'queued' });
  }
  expect(forwarder.server).toBe('unavailable');
  answer = () => ACCEPTED;
  await whenEmpty();
  expect(sent.slice(-3).sort()).toEqual(['a', 'b', 'c']);
  expect(forwarder.server).toBe('up');
  expect(await forwarder.deliver(request('d'))).toMatchObject({ kind: 'passed-on' });
});

test('Retry-After of the server is kept to', async () => {
  const forwarder = open();
  answer = () => ({ kind: 'unavailable', reason: '429', retryAfterMs: 100_000 });
  expect(await forwarder.deliver(request('a'))).toEqual({ kind: 'queued' });
  expect(await forwarder.deliver(request('b'))).toEqual({ kind: 'queued' });
  expect(sent).toEqual(['a']);
  forwarder.stop();
  await forwarder.idle();
  expect(sent).toEqual(['a']);
});

test('a request that the server takes long for is queued, and not sent a second time', async () => {
  const forwarder = open({ directMsMax: 1 });
  const finish = holdAnswer();
  expect(await forwarder.deliver(request('a'))).toEqual({ kind: 'queued' });
  expect(queue.isEmpty).toBe(false);
  finish(ACCEPTED);
  await whenEmpty();
  expect(sent).toEqual(['a']);
});

test('one that ends badly after that is sent again', async () => {
  const forwarder = open({ directMsMax: 1 });
  const finish = holdAnswer();
  expect(await forwarder.deliver(request('a'))).toEqual({ kind: 'queued' });
  answer = () => ACCEPTED;
  finish(AWAY);
  await whenEmpty();
  expect(sent).toEqual(['a', 'a']);
});

test('a queued request that the server refuses is dropped and counted, the next one is sent', async () => {
  const forwarder = open();
  answer = () => AWAY;
  await forwarder.deliver(request('poison'));
  await forwarder.deliver(request('good'));
  answer = async (text) => {
    // If it is sent for ever, this test must still come to its limit.
    await nextTurn();
    return text === 'poison' ? REFUSED : ACCEPTED;
  };
  await whenEmpty();
  expect(sent.slice(-2).sort()).toEqual(['good', 'poison']);
  expect(await metrics()).toContain('sluice_relay_dropped_total{reason="refused"} 1');
});

test('while the key is refused clients see it, and the queue is kept until it is right', async () => {
  const forwarder = open();
  answer = () => AWAY;
  await forwarder.deliver(request('queued'));
  answer = () => DENIED;
  await waitFor(() => forwarder.server === 'denied', { withinMs: 20_000, what: 'a denial' });
  expect(await forwarder.deliver(request('new'))).toEqual({
    kind: 'passed-on',
    answer: { status: 401, body: {} },
  });
  expect(queue.isEmpty).toBe(false);
  answer = () => ACCEPTED;
  expect(await forwarder.deliver(request('later'))).toMatchObject({ answer: { status: 200 } });
  await whenEmpty();
  expect(sent.at(-1)).toBe('queued');
});

test('a key that was replaced is used at once', async () => {
  let isRight = false;
  const forwarder = open({
    renewKey: () => {
      isRight = true;
      return true;
    },
  });
  answer = () => (isRight ? ACCEPTED : DENIED);
  expect(await forwarder.deliver(request('a'))).toMatchObject({ answer: { status: 200 } });
  expect(sent).toEqual(['a', 'a']);
});

test('a full queue refuses, and says when to come back', async () => {
  const forwarder = open({}, 200);
  answer = () => ({ kind: 'unavailable', reason: '503', retryAfterMs: 50_000 });
  expect(await forwarder.deliver(request('x'.repeat(100)))).toEqual({ kind: 'queued' });
  const full = await forwarder.deliver(request('x'.repeat(100)));
  expect(full.kind).toBe('full');
  expect(full.kind === 'full' && full.retryAfterMs).toBeGreaterThan(1000);
  forwarder.stop();
  await forwarder.idle();
});

test('a request is tried after its time too, and dropped only when that fails', async () => {
  const forwarder = open();
  answer = () => AWAY;
  await forwarder.deliver(request('refused'));
  aged = 8 * DAY_MS;
  await whenEmpty();
  expect(sent).toEqual(['refused', 'refused']);
  expect(await metrics()).toContain('sluice_relay_dropped_total{reason="expired"} 1');
  await queue.append({ ...request('old'), acceptedAtMs: Date.now() });
  aged += 8 * DAY_MS;
  answer = () => ACCEPTED;
  forwarder.start();
  await whenEmpty();
  expect(sent.at(-1)).toBe('old');
  expect(await metrics()).toContain('sluice_relay_dropped_total{reason="expired"} 1');
});

test('eight requests of the queue are sent at a time, each once, whichever ends first', async () => {
  const texts = Array.from({ length: 20 }, (_, index) => `${index}`);
  const forwarder = open();
  for (const text of texts) await queue.append({ ...request(text), acceptedAtMs: Date.now() });
  const ends: (() => void)[] = [];
  answer = () => new Promise((resolve) => ends.push(() => resolve(ACCEPTED)));
  forwarder.start();
  await whenSent(8);
  expect(sent).toEqual(texts.slice(0, 8));
  while (sent.length < texts.length || ends.length > 0) {
    const before = sent.length;
    ends.pop()?.();
    if (before < texts.length) await whenSent(before + 1);
  }
  await whenEmpty();
  expect(sent).toEqual(texts);
});

test('after a failure one request is tried, and the others once the server answers', async () => {
  const forwarder = open();
  for (const text of ['a', 'b', 'c']) {
    await queue.append({ ...request(text), acceptedAtMs: Date.now() });
  }
  const finish = holdAnswer();
  const held = answer;
  answer = (text) => (sent.length <= 3 ? AWAY : held(text));
  forwarder.start();
  await whenSent(4);
  expect(sent).toHaveLength(4);
  answer = () => ACCEPTED;
  finish(ACCEPTED);
  await whenEmpty();
  expect(sent.slice(4).sort()).toEqual(['a', 'b', 'c'].filter((text) => text !== sent[3]));
});

test('a stop queues what is being sent, waits for its end and leaves the rest on the disk', async () => {
  const forwarder = open();
  const finish = holdAnswer();
  const delivery = forwarder.deliver(request('being sent'));
  await whenSent(1);
  forwarder.stop();
  expect(await delivery).toEqual({ kind: 'queued' });
  expect(await forwarder.deliver(request('after'))).toEqual({ kind: 'queued' });
  finish(ACCEPTED);
  await forwarder.idle();
  expect(sent).toEqual(['being sent']);
  expect(queue.next()?.body.toString()).toBe('after');
});

test.each([
  [null, 0n],
  [{}, 0n],
  [{ partialSuccess: null }, 0n],
  [{ partialSuccess: { errorMessage: 'a warning' } }, 0n],
  [{ partialSuccess: { rejectedSpans: '3' } }, 3n],
  [{ partialSuccess: { rejectedDataPoints: 4 } }, 4n],
  [{ partialSuccess: { rejectedLogRecords: '-1' } }, 0n],
])('a partial success %j has %d rejected records', (body, count) => {
  open();
  expect(rejectedRecords({ status: 200, body })).toBe(count);
});
