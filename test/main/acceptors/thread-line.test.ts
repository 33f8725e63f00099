/** Calls between two ends of a real message port: answers, errors, time limits, a line that is cut. */
import { MessageChannel } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { OperatorError } from '../../../src/errors.ts';
import { type Handlers, ThreadLine } from '../../../src/main/acceptors/thread-line.ts';

type There = {
  readonly double: { readonly argument: number; readonly answer: number };
  readonly fail: { readonly argument: 'operator' | 'code' | 'text'; readonly answer: undefined };
  readonly hang: { readonly argument: undefined; readonly answer: undefined };
  readonly note: { readonly argument: string; readonly answer: undefined };
};
type Here = Record<never, never>;

const LIMIT_MS = 20_000;
let channel: MessageChannel;
let here: ThreadLine<There, Here>;
let noted: string[];
let onNoted: () => void;

beforeEach(() => {
  channel = new MessageChannel();
  noted = [];
  onNoted = () => {};
  const handlers: Handlers<There> = {
    double: async (value) => value * 2,
    fail: (how) => {
      if (how === 'operator') throw new OperatorError('set PORT');
      if (how === 'code') throw Object.assign(new RangeError('too far'), { code: 'E_FAR' });
      throw 'only text';
    },
    hang: () => new Promise<undefined>(() => {}),
    note: (text) => {
      noted.push(text);
      onNoted();
      return undefined;
    },
  };
  here = new ThreadLine<There, Here>(channel.port1, {});
  new ThreadLine<Here, There>(channel.port2, handlers);
});
afterEach(() => channel.port1.close());

test('many questions at once get each its own answer', async () => {
  const values = Array.from({ length: 100 }, (_, index) => index);
  const answers = await Promise.all(values.map((value) => here.request('double', value, LIMIT_MS)));
  expect(answers).toEqual(values.map((value) => value * 2));
});

test('messages without answers arrive in order', async () => {
  const all = new Promise<void>((resolve) => {
    onNoted = () => {
      if (noted.length === 3) resolve();
    };
  });
  for (const text of ['one', 'two', 'three']) here.notify('note', text);
  await all;
  expect(noted).toEqual(['one', 'two', 'three']);
});

test('an error keeps its class, if it is an OperatorError, name, code and message', async () => {
  const fault = (how: 'operator' | 'code' | 'text') =>
    here.request('fail', how, LIMIT_MS).catch((error: unknown) => error);
  const forPeople = await fault('operator');
  expect(forPeople).toBeInstanceOf(OperatorError);
  expect(forPeople).toMatchObject({ message: 'set PORT' });
  expect(await fault('code')).toMatchObject({
    name: 'RangeError',
    message: 'too far',
    code: 'E_FAR',
  });
  expect(await fault('text')).toMatchObject({ name: 'Error', message: 'only text' });
});

test('a question that is not answered ends at its limit', async () => {
  await expect(here.request('hang', undefined, 20)).rejects.toThrow('not done after 20 ms');
  expect(await here.request('double', 4, LIMIT_MS)).toBe(8);
});

test('a line that is cut ends what waits and what is sent later, with the reason', async () => {
  const waiting = here.request('hang', undefined, LIMIT_MS);
  here.cut(new Error('the thread is gone'));
  here.cut(new Error('and again'));
  await expect(waiting).rejects.toThrow('the thread is gone');
  await expect(here.request('double', 1, LIMIT_MS)).rejects.toThrow('the thread is gone');
});
