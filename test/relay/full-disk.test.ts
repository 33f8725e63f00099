/**
 * A relay whose disk is full: it refuses, leaves no file behind, says so once, and takes requests again
 * as soon as there is room. Where nothing may be mounted, the last lines of the run say so.
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRelayObserver } from '../../src/observe/relay-events.ts';
import { Backoff, type Delivery, Forwarder } from '../../src/relay/forwarder.ts';
import { DiskQueue } from '../../src/relay/queue/disk-queue.ts';
import { QueueAge } from '../../src/relay/queue/queue-age.ts';
import type { SendOutcome } from '../../src/relay/upstream.ts';
import { canMount, openSmallDisk, type SmallDisk } from '../support/programs.ts';
import { waitFor } from '../support/wait-for.ts';

const DISK_BYTES = 512 * 1024;
const REQUESTS = 400;
const AWAY: SendOutcome = { kind: 'unavailable', reason: 'ECONNREFUSED', retryAfterMs: null };
const ACCEPTED: SendOutcome = { kind: 'accepted', answer: { status: 200, body: {} } };
const FAILS = 'the queue cannot be written';
const WORKS = 'the queue can be written again';

let disk: SmallDisk;
let queue: DiskQueue<Promise<SendOutcome>>;
let forwarder: Forwarder;
let metrics: () => Promise<string>;
let isAway: boolean;
let sent: string[];
let lines: { readonly msg: string }[];

beforeEach(() => {
  if (!canMount) return;
  disk = openSmallDisk(DISK_BYTES);
  isAway = true;
  sent = [];
  lines = [];
  const state = { queueBytes: 0, queueBytesMax: 0, oldestSeconds: 0, server: 'up' } as const;
  const write = (line: string): void => void lines.push(JSON.parse(line));
  const { events, registry } = createRelayObserver('info', () => state, { write });
  metrics = () => registry.metrics();
  queue = new DiskQueue(disk.folder, 1 << 30, events);
  forwarder = new Forwarder({
    queue,
    age: new QueueAge(Date.now(), () => performance.now()),
    events,
    upstream: {
      send: async ({ body }) => {
        if (isAway) return AWAY;
        sent.push(body.toString());
        return ACCEPTED;
      },
    },
    renewKey: () => false,
    backoff: new Backoff(() => 0),
  });
});
afterEach(async () => {
  if (!canMount) return;
  forwarder.stop();
  await forwarder.idle();
  await queue.close();
  disk.close();
});

const filler = (): string => join(disk.folder, 'filler');
/** Fills what is free. */
function fill(): void {
  expect(() => writeFileSync(filler(), Buffer.alloc(2 * DISK_BYTES))).toThrow('ENOSPC');
}
const files = (): string[] => readdirSync(disk.folder).filter((name) => name.endsWith('.queue'));
const deliver = (text: string): Promise<Delivery> =>
  forwarder.deliver({ signal: 'traces', body: Buffer.from(text), deduplicates: true });
const ofQueue = () => lines.filter(({ msg }) => msg === FAILS || msg === WORKS);

if (canMount) {
  test.each([
    ['one after the other', 1],
    ['many at once', 40],
  ])('refused requests leave no file and one line in the log: %s', async (_what, beside) => {
    expect(await deliver('kept')).toEqual({ kind: 'queued' });
    fill();
    for (let count = 0; count < REQUESTS; count += beside) {
      const all = Array.from({ length: beside }, (_, at) => deliver(`${at} `.repeat(8000)));
      for (const { kind } of await Promise.all(all)) expect(kind).toBe('full');
    }
    expect(files()).toHaveLength(1);
    expect(ofQueue()).toMatchObject([{ msg: FAILS, code: 'ENOSPC' }]);
    expect(await metrics()).toContain(`sluice_relay_faults_total{place="queue"} ${REQUESTS}`);
    rmSync(filler());
    for (const text of ['a', 'b']) expect(await deliver(text)).toEqual({ kind: 'queued' });
    expect(ofQueue()).toMatchObject([{ msg: FAILS }, { msg: WORKS, failures: REQUESTS }]);
    // The second outage is another one.
    fill();
    expect(await deliver('x'.repeat(70_000))).toMatchObject({ kind: 'full' });
    expect(ofQueue()).toHaveLength(3);
    isAway = false;
    await waitFor(() => sent.length === 3, { withinMs: 20_000, what: 'what is queued is sent' });
    expect(sent.toSorted()).toEqual(['a', 'b', 'kept']);
    expect(files()).toEqual([]);
  });

  test('a full disk at the first request leaves no file, and what comes after a restart is sent', async () => {
    fill();
    expect(await deliver('refused')).toMatchObject({ kind: 'full' });
    expect(files()).toEqual([]);
    expect(queue.isEmpty).toBe(true);
    rmSync(filler());
    expect(await deliver('taken')).toEqual({ kind: 'queued' });
    forwarder.stop();
    await forwarder.idle();
    await queue.close();
    const events = { queueDamaged: () => {}, incompleteRecordDropped: () => {} };
    queue = new DiskQueue(disk.folder, 1 << 30, events);
    expect(queue.next()?.body.toString()).toBe('taken');
  });
}
