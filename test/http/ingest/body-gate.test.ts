/**
 * When bodies may be read: at once if there is room and little to decode, else in order, for a
 * limited time.
 */
import { expect, test } from 'vitest';
import { BodyGate } from '../../../src/http/ingest/body-gate.ts';
import { ByteBudget } from '../../../src/http/ingest/byte-budget.ts';

const LONG_MS = 60_000;

/** Notes the order in which bodies may be read. */
function gateOf(bytesMax: number, settings: { waitMs?: number; waitingMax?: number } = {}) {
  const gate = new BodyGate(new ByteBudget(bytesMax), {
    undecodedBytesMax: 100,
    waitMs: LONG_MS,
    ...settings,
  });
  const order: string[] = [];
  const enter = async (workspaceId: number, name: string, bytes: number) => {
    const account = await gate.enter(workspaceId, bytes);
    order.push(name);
    return account;
  };
  return { order, enter };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('bodies of a workspace with enough to decode wait, in order; those of others do not', async () => {
  const { order, enter } = gateOf(10_000);
  const first = await enter(1, 'a', 500);
  const waiting = [enter(1, 'b', 10), enter(1, 'c', 10)];
  await enter(2, 'other', 10);
  await turn();
  expect(order).toEqual(['a', 'other']);
  first.decoded();
  await Promise.all(waiting);
  expect(order).toEqual(['a', 'other', 'b', 'c']);
});

test('bodies without room wait until any workspace gives some back', async () => {
  const { order, enter } = gateOf(900);
  const first = await enter(1, 'a', 500);
  const second = await enter(2, 'b', 400);
  first.decoded();
  const waiting = enter(1, 'c', 100);
  await turn();
  expect(order).toEqual(['a', 'b']);
  second.release();
  const third = await waiting;
  first.release();
  third.release();
  expect(order).toEqual(['a', 'b', 'c']);
});

test('bodies that wait too long, or beyond the limit, are refused, and those behind them are not', async () => {
  const { enter } = gateOf(10_000, { waitMs: 30, waitingMax: 2 });
  const first = await enter(1, 'first', 100);
  const waiting = [enter(1, 'a', 10), enter(1, 'b', 10)];
  const settled = Promise.allSettled(waiting);
  await expect(enter(1, 'c', 10)).rejects.toMatchObject({ code: 'overloaded' });
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const later = enter(1, 'd', 10);
  first.release();
  (await later).release();
});

test('a body that gives up makes room for a smaller one behind it', async () => {
  const gate = new BodyGate(new ByteBudget(1000), { waitMs: 30 });
  const first = await gate.enter(1, 600);
  first.decoded();
  const large = gate.enter(2, 900);
  const small = gate.enter(2, 100);
  await expect(large).rejects.toMatchObject({ code: 'overloaded' });
  (await small).release();
  first.release();
});
