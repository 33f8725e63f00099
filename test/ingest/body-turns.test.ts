/**
 * Workspaces beside each other in the processes that decode large bodies: a body that takes long
 * delays no other workspace's, and one that nobody awaits any more makes room for it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';

import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import type { Receipt } from '../../src/db/telemetry/receipts.ts';
import {
  createLargeBodies,
  GIANT_BYTES,
  LargeBodies,
  type LargeBodiesSettings,
  type LargeBodyContext,
  type LargeBodyResult,
} from '../../src/ingest/large-bodies.ts';
import { hex16, NOON_MS } from '../support/rows.ts';
import { decodeProcessesOf, stop } from './decode-processes.ts';

const BODY = Buffer.from('{"resourceSpans":[]}');
/** A record with a session, for which the process needs what its parent knows. */
const SESSION_BODY = Buffer.from(
  JSON.stringify({
    resourceLogs: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'codex' } }] },
        scopeLogs: [
          {
            logRecords: [
              {
                eventName: 'codex.user_prompt',
                timeUnixNano: '1',
                attributes: [
                  { key: 'conversation.id', value: { stringValue: 's' } },
                  { key: 'lone surrogate', value: { stringValue: '\ud800' } },
                ],
              },
            ],
          },
        ],
      },
    ],
  }),
);
const RECEIPT: Receipt = { bodyHash: hex16(1), answer: null };
const findNone = (): Promise<null> => Promise.resolve(null);
const UNAWAITED = { code: 'answer_timeout' };

let bodies: Pick<LargeBodies, 'decode' | 'close'>;
afterEach(() => bodies.close());

/** A body waits as long as a slow machine needs. */
function open(settings: Partial<LargeBodiesSettings> = {}): LargeBodies {
  const opened = new LargeBodies({ waitMs: 120_000, ...settings });
  bodies = opened;
  return opened;
}

/** What awaits an answer, until `leave`. */
function client(): Pick<LargeBodyContext, 'whenUnawaited'> & { readonly leave: () => void } {
  let onUnawaited = (): void => {};
  return {
    whenUnawaited: (listener) => {
      onUnawaited = listener;
    },
    leave: () => onUnawaited(),
  };
}

function decode(
  workspaceId: number,
  { whenUnawaited }: Pick<LargeBodyContext, 'whenUnawaited'> = client(),
  body: Buffer = BODY,
  findReceipt: LargeBodyContext['findReceipt'] = findNone,
): Promise<LargeBodyResult> {
  const request = { workspaceId, arrivedAtMs: NOON_MS, logRuns: new LogRuns() };
  const context = { ...request, whenUnawaited, findReceipt };
  return bodies.decode('traces', body, context);
}

const processes = (): number[] => decodeProcessesOf(process.pid);

/**
 * Sends a body of each workspace twice: the first ones start the processes, the second ones are not
 * decoded until `resume`.
 */
async function hold(
  workspaceIds: readonly number[],
  send: (workspaceId: number) => Promise<LargeBodyResult> = decode,
) {
  const before = processes();
  await Promise.all(workspaceIds.map((id) => send(id)));
  const pids = processes().filter((pid) => !before.includes(pid));
  expect(pids).toHaveLength(workspaceIds.length);
  const { resume } = stop(pids);
  return { pids, resume, results: Promise.all(workspaceIds.map((id) => send(id))) };
}

/** As `hold`, for one workspace, whose client leaves with `leave`. */
async function holdOne(workspaceId: number) {
  const own = client();
  return { ...(await hold([workspaceId], (id) => decode(id, own))), leave: own.leave };
}

test('a body that takes long delays no body of another workspace', async () => {
  open();
  const slow = await hold([1]);
  for (const workspaceId of [2, 3, 2])
    expect(await decode(workspaceId)).toMatchObject({ ok: true });
  slow.resume();
  expect(await slow.results).toMatchObject([{ ok: true }]);
});

test('a workspace uses one process at a time', async () => {
  const { processesRunning } = open();
  expect(processesRunning).toBe(0);
  const slow = await hold([1]);
  const next = decode(1);
  expect(processes()).toEqual(slow.pids);
  slow.resume();
  expect(await slow.results).toMatchObject([{ ok: true }]);
  expect(await next).toMatchObject({ ok: true });
  expect(processes()).toEqual(slow.pids);
});

describe.each([
  ['up to 4 MiB', GIANT_BYTES, GIANT_BYTES + 1],
  ['above 4 MiB', GIANT_BYTES + 1, GIANT_BYTES],
])('bodies %s', (_, ownBytes, otherBytes) => {
  const padded = (bytes: number): Buffer => Buffer.concat([BODY], bytes).fill(' ', BODY.length);

  test('have processes of their own', async () => {
    bodies = createLargeBodies();
    const slow = await hold([1, 2], (id) => decode(id, client(), padded(ownBytes)));
    expect(await decode(3, client(), padded(otherBytes))).toMatchObject({ ok: true });
    // One of the same kind waits.
    const third = client();
    const waiting = decode(3, third, padded(ownBytes));
    third.leave();
    await expect(waiting).rejects.toMatchObject(UNAWAITED);
    slow.resume();
    expect(await slow.results).toMatchObject([{ ok: true }, { ok: true }]);
  });
});

describe('a body that was sent before', () => {
  test('is looked up when its turn begins, and not decoded if it is stored', async () => {
    open();
    const slow = await hold([1]);
    let isStored = false;
    const again = decode(1, client(), BODY, async () => {
      // The first one is offered to the writer in the turn in which it is decoded.
      await nextTurn();
      return isStored ? RECEIPT : null;
    });
    const first = slow.results.then(() => {
      isStored = true;
    });
    // Another workspace's free process is none for it.
    expect(await decode(2)).toMatchObject({ ok: true });
    slow.resume();
    await first;
    expect(await again).toEqual({ ok: true, receipt: RECEIPT });
  });

  test('is decoded if it is not stored; a look-up that fails is its answer', async () => {
    open();
    expect(await decode(1)).toHaveProperty('request');
    const away = new Error('the database is away');
    await expect(decode(1, client(), BODY, () => Promise.reject(away))).rejects.toBe(away);
    expect(await decode(1)).toHaveProperty('request');
  });

  test('gives way while it is looked up, and is not decoded after that', async () => {
    open({ processes: 1 });
    const own = client();
    let answer = (_receipt: null): void => {};
    const lookUp = new Promise<null>((resolve) => {
      answer = resolve;
    });
    const slow = decode(1, own, BODY, () => lookUp);
    own.leave();
    const other = decode(2);
    answer(null);
    await expect(slow).rejects.toMatchObject(UNAWAITED);
    expect(await other).toMatchObject({ ok: true });
  });
});

describe('a body that nobody awaits any more', () => {
  test('is dropped while it waits', async () => {
    open({ waitingMax: 1 });
    const slow = await hold([1]);
    const second = client();
    const waiting = decode(1, second);
    second.leave();
    await expect(waiting).rejects.toMatchObject(UNAWAITED);
    // Its place is free, and its client leaves in vain.
    const third = decode(1);
    second.leave();
    slow.resume();
    expect(await slow.results).toMatchObject([{ ok: true }]);
    expect(await third).toMatchObject({ ok: true });
  });

  test('is decoded to its end where no other workspace needs its process', async () => {
    open();
    const slow = await holdOne(1);
    slow.leave();
    const [own, other] = [decode(1), decode(2)];
    expect(await other).toMatchObject({ ok: true });
    slow.resume();
    expect(await slow.results).toMatchObject([{ ok: true }]);
    expect(await own).toMatchObject({ ok: true });
  });

  test.each([
    ['a body of another workspace waits', true],
    ['a body of another workspace comes', false],
  ])('loses its process when %s', async (_, isFirst) => {
    open();
    const slow = await holdOne(1);
    const other = await hold([2]);
    const early = isFirst ? decode(3) : null;
    slow.leave();
    const late = early ?? decode(3);
    await expect(slow.results).rejects.toMatchObject(UNAWAITED);
    expect(await late).toMatchObject({ ok: true });
    expect(await decode(1)).toMatchObject({ ok: true });
    expect(processes()).not.toContain(slow.pids[0]);
    // The body that is awaited keeps its process.
    other.resume();
    expect(await other.results).toMatchObject([{ ok: true }]);
  });

  test('sends nothing more to the process, which decodes the next body', async () => {
    open({ processes: 1 });
    const own = client();
    let next: Promise<LargeBodyResult> | null = null;
    const logRuns = new LogRuns();
    const marksOf: LogRuns['marksOf'] = (...called) => {
      own.leave();
      next = decode(2);
      return LogRuns.prototype.marksOf.apply(logRuns, called);
    };
    const context = {
      workspaceId: 1,
      arrivedAtMs: NOON_MS,
      logRuns: Object.assign(logRuns, { marksOf }),
      whenUnawaited: own.whenUnawaited,
      findReceipt: findNone,
    };
    await expect(bodies.decode('logs', SESSION_BODY, context)).rejects.toMatchObject(UNAWAITED);
    expect(await next).toMatchObject({ ok: true });
    expect(processes()).toHaveLength(1);
  });
});
