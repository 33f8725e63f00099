/**
 * The queue on disk: what was acknowledged comes out once, in order, whole, also after a restart, and
 * whatever a killed process left behind.
 */
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DiskQueue, type QueuedRequest, QueueFull } from '../../../src/relay/queue/disk-queue.ts';
import { HEADER_BYTES, type QueueRecord } from '../../../src/relay/queue/queue-files.ts';
import { casesOf, someOf } from '../../support/cases.ts';

const MIB = 1024 * 1024;

let folder: string;
let damaged: number[];
let incomplete: number[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-relay-queue-'));
  damaged = [];
  incomplete = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function openQueue(bytesMax = MIB, at = folder, takenBytesMax?: number): DiskQueue<string> {
  const events = {
    queueDamaged: (bytes: number) => void damaged.push(bytes),
    incompleteRecordDropped: (bytes: number) => void incomplete.push(bytes),
  };
  return new DiskQueue<string>(at, bytesMax, events, takenBytesMax);
}

function request(text: string): QueueRecord {
  return {
    signal: 'traces',
    body: Buffer.from(text),
    deduplicates: true,
    acceptedAtMs: 1_763_640_000_123.5,
  };
}

/** Takes the oldest request, and removes it. */
function removeNext(queue: DiskQueue<string>): void {
  const oldest = queue.next();
  if (oldest === null) throw new Error('nothing is queued');
  queue.take();
  queue.remove(oldest);
}

/** Takes everything out. */
function drain(queue: DiskQueue<string>): string[] {
  const texts: string[] = [];
  for (let next = queue.next(); next !== null; next = queue.next()) {
    texts.push(next.body.toString());
    removeNext(queue);
  }
  return texts;
}

const files = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.queue'));
const pathOf = (index: number): string => join(folder, files().sort()[index] ?? '');

test('requests come out whole and in order, and the files go with them', async () => {
  const queue = openQueue();
  expect(queue.next()).toBeNull();
  expect(queue.isEmpty).toBe(true);
  await Promise.all(['a', 'b', 'c'].map((text) => queue.append(request(text))));
  await queue.append({ ...request('d'), signal: 'logs' });
  expect(queue.bytes).toBe(4 * (HEADER_BYTES + 1));
  expect(queue.next()).toMatchObject(request('a'));
  expect(queue.oldestAtMs).toBe(1_763_640_000_123.5);
  expect(drain(queue)).toEqual(['a', 'b', 'c', 'd']);
  expect(queue.bytes).toBe(0);
  expect(queue.isEmpty).toBe(true);
  expect(files()).toEqual([]);
  await queue.append(request('e'));
  expect(drain(queue)).toEqual(['e']);
  await queue.close();
});

test('the oldest is the same until it is taken', async () => {
  const queue = openQueue();
  await queue.append(request('a'));
  expect(queue.next()).toBe(queue.next());
  queue.take();
  expect(queue.next()).toBeNull();
  expect(queue.isEmpty).toBe(false);
  await queue.close();
});

test('several are taken and removed in any order; after a restart the oldest left begins', async () => {
  const first = openQueue();
  for (const text of ['a', 'b', 'c', 'd']) {
    await first.append({ ...request(text), acceptedAtMs: text.charCodeAt(0) });
  }
  const [a, b, c] = ['a', 'b', 'c'].map(() => {
    const next = first.next();
    first.take();
    return next ?? expect.unreachable();
  });
  if (a === undefined || b === undefined || c === undefined) return expect.unreachable();
  first.remove(a);
  first.remove(c);
  expect(() => first.remove(c)).toThrow('not taken');
  expect(first.oldestAtMs).toBe('b'.charCodeAt(0));
  await first.close();
  const second = openQueue();
  expect(drain(second)).toEqual(['b', 'c', 'd']);
  await second.close();
});

test('the bytes that are taken at a time are bounded; a larger request is taken alone', async () => {
  const queue = openQueue(MIB, folder, 64 * 1024);
  const sizes = [40, 20, 10, 70, 1];
  for (const kib of sizes) await queue.append({ ...request(''), body: Buffer.alloc(kib * 1000) });
  const batches: number[][] = [];
  for (let next = queue.next(); next !== null; next = queue.next()) {
    const batch = [];
    for (let fits = queue.next(); fits !== null; fits = queue.next()) {
      queue.take();
      batch.push(fits);
    }
    batches.push(batch.map(({ body }) => body.length / 1000));
    for (const taken of batch) queue.remove(taken);
  }
  expect(batches).toEqual([[40, 20], [10], [70], [1]]);
  expect(queue.isEmpty).toBe(true);
  await queue.close();
});

test('what is attached is there when the request is, and not after a restart', async () => {
  const queue = openQueue();
  await Promise.all([
    queue.append(request('a'), 'first'),
    queue.append(request('b')),
    queue.append(request('c'), 'third'),
  ]);
  expect(queue.next()?.attached).toBe('first');
  removeNext(queue);
  expect(queue.next()?.attached).toBeNull();
  removeNext(queue);
  await queue.close();
  const next = openQueue();
  expect(next.next()).toMatchObject({ attached: null });
  await next.close();
});

test('only the user of the relay may read the files', async () => {
  const queue = openQueue();
  await queue.append(request('secret'));
  for (const name of someOf(readdirSync(folder))) {
    expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o600);
  }
  await queue.close();
});

describe('a restart', () => {
  test('continues behind what was sent', async () => {
    const first = openQueue();
    for (const text of ['a', 'b', 'c']) await first.append(request(text));
    removeNext(first);
    await first.close();
    const second = openQueue();
    expect(second.bytes).toBe(2 * (HEADER_BYTES + 1));
    await second.append(request('d'));
    expect(drain(second)).toEqual(['b', 'c', 'd']);
    expect(files()).toEqual([]);
    await second.close();
  });

  test('sends everything again when the mark of what was sent is lost or not whole', async () => {
    const first = openQueue();
    for (const text of ['a', 'b']) await first.append(request(text));
    removeNext(first);
    await first.close();
    writeFileSync(join(folder, 'sent'), '00000001 0000');
    const second = openQueue();
    expect(drain(second)).toEqual(['a', 'b']);
    await second.close();
  });

  test('after everything was sent begins with an empty queue and a new file', async () => {
    const first = openQueue();
    await first.append(request('a'));
    drain(first);
    await first.close();
    const second = openQueue();
    expect(second.next()).toBeNull();
    await second.append(request('b'));
    await second.close();
    const third = openQueue();
    expect(drain(third)).toEqual(['b']);
    await third.close();
  });
});

describe('a process that was killed while it wrote', () => {
  test('leaves an incomplete record, which is dropped, at whatever byte it ends', async () => {
    const queue = openQueue();
    await queue.append(request('acknowledged'));
    await queue.append(request('cut'));
    await queue.close();
    const whole = readFileSync(pathOf(0));
    const begin = HEADER_BYTES + 'acknowledged'.length;
    for (let end = begin; end < whole.length; end += 1) {
      rmSync(join(folder, 'sent'), { force: true });
      for (const name of files()) rmSync(join(folder, name));
      writeFileSync(join(folder, '00000001.queue'), whole.subarray(0, end));
      incomplete = [];
      const next = openQueue();
      expect(drain(next), `${end} bytes`).toEqual(['acknowledged']);
      expect(incomplete).toEqual(end === begin ? [] : [end - begin]);
      await next.close();
    }
    expect(damaged).toEqual([]);
  });

  test('or of the machine, zeros at the end of the file', async () => {
    const queue = openQueue();
    await queue.append(request('a'));
    await queue.close();
    appendFileSync(pathOf(0), Buffer.alloc(100));
    const next = openQueue();
    await next.append(request('b'));
    expect(drain(next)).toEqual(['a', 'b']);
    expect(incomplete).toEqual([100]);
    await next.close();
  });
});

test('a damaged record is reported and left out, its neighbours are not', async () => {
  const queue = openQueue();
  for (const text of ['first', 'second', 'third']) await queue.append(request(text));
  await queue.close();
  const bytes = readFileSync(pathOf(0));
  bytes.writeUInt8(0, bytes.indexOf('second'));
  writeFileSync(pathOf(0), bytes);
  const next = openQueue();
  expect(drain(next)).toEqual(['first', 'third']);
  expect(damaged).toEqual([HEADER_BYTES + 'second'.length]);
  await next.close();
});

test('a damaged last record counts as damaged: all of its bytes are there', async () => {
  const queue = openQueue();
  await queue.append(request('last'));
  await queue.close();
  const bytes = readFileSync(pathOf(0));
  bytes.writeUInt8(0, bytes.length - 1);
  writeFileSync(pathOf(0), bytes);
  const next = openQueue();
  expect(drain(next)).toEqual([]);
  expect(damaged).toEqual([HEADER_BYTES + 'last'.length]);
  await next.close();
});

describe('the limit', () => {
  const half = 'x'.repeat(MIB / 2 - HEADER_BYTES);

  test('counts what is on the disk and what is being written; space comes back', async () => {
    const queue = openQueue();
    const results = await Promise.allSettled(
      ['1', '2', '3'].map(() => queue.append(request(half))),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    await expect(queue.append(request('small'))).rejects.toThrow(QueueFull);
    removeNext(queue);
    await queue.append(request('small'));
    expect(drain(queue)).toEqual([half, 'small']);
    await queue.close();
  });

  test('holds after a restart too', async () => {
    const first = openQueue();
    await first.append(request(half));
    await first.append(request(half));
    await first.close();
    const second = openQueue();
    await expect(second.append(request('small'))).rejects.toThrow(QueueFull);
    expect(drain(second)).toEqual([half, half]);
    await second.append(request('small'));
    await second.close();
  });
});

test('a write that fails is not acknowledged; the next one goes to another file', async () => {
  const queue = openQueue();
  await queue.append(request('a'));
  // The next file cannot be created while a folder has its name.
  rmSync(folder, { recursive: true });
  writeFileSync(folder, '');
  await expect(queue.append(request('x'.repeat(MIB / 4)))).rejects.toThrow();
  rmSync(folder);
  await queue.close();
});

test('appends, removals, restarts and torn writes in any order lose and reorder nothing', async () => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.nat({ max: 3000 }).map((size) => ({ kind: 'append', size }) as const),
    },
    { weight: 4, arbitrary: fc.constant({ kind: 'take' } as const) },
    {
      weight: 4,
      arbitrary: fc.nat({ max: 7 }).map((index) => ({ kind: 'remove', index }) as const),
    },
    {
      weight: 1,
      arbitrary: fc.nat({ max: 60 }).map((bytes) => ({ kind: 'kill', bytes }) as const),
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const at = mkdtempSync(join(folder, 'fuzz-'));
      // So small that records take turns in many files.
      let queue = openQueue(16 * 1024, at);
      let made = 0;
      let waiting: string[] = [];
      /** in order; `request` is null once it is removed */
      let taken: { text: string; request: QueuedRequest<string> | null }[] = [];
      const forgetSent = (): void => {
        while (taken[0]?.request === null) taken.shift();
      };
      for (const one of steps) {
        if (one.kind === 'append') {
          const text = `${made}${'x'.repeat(one.size)}`;
          made += 1;
          const isTaken = await queue.append(request(text)).then(
            () => true,
            (error: unknown) => {
              if (error instanceof QueueFull) return false;
              throw error;
            },
          );
          if (isTaken) waiting.push(text);
        } else if (one.kind === 'take') {
          const next = queue.next();
          expect(next?.body.toString()).toBe(waiting[0]);
          const text = waiting.shift();
          if (text === undefined) continue;
          queue.take();
          taken.push({ text, request: next });
        } else if (one.kind === 'remove') {
          const chosen = taken.filter((part) => part.request !== null)[one.index];
          if (chosen === undefined || chosen.request === null) continue;
          queue.remove(chosen.request);
          chosen.request = null;
          forgetSent();
        } else {
          await queue.close();
          tearLastFile(at, one.bytes);
          queue = openQueue(16 * 1024, at);
          waiting = [...taken.map(({ text }) => text), ...waiting];
          taken = [];
        }
      }
      expect(drain(queue)).toEqual(waiting);
      for (const { request: left } of taken) if (left !== null) queue.remove(left);
      expect(queue.next()).toBeNull();
      expect(queue.isEmpty).toBe(true);
      expect(damaged).toEqual([]);
      await queue.close();
    }),
    { numRuns: casesOf(60, 4) },
  );
});

/** A new file with the beginning of a record, as a killed process leaves it. */
function tearLastFile(at: string, bytes: number): void {
  const last = readdirSync(at)
    .filter((name) => name.endsWith('.queue'))
    .sort()
    .at(-1);
  if (last === undefined || bytes === 0) return;
  const path = join(at, last);
  const { size } = statSync(path);
  appendFileSync(path, Buffer.concat([Buffer.from('SLQ1'), Buffer.alloc(100, 0xff)]));
  truncateSync(path, size + bytes);
}
