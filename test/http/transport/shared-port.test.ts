/**
 * One port for several listeners: tried before, so that nobody else has it, and shared from then on.
 * Linux only: elsewhere the setting that needs it is refused.
 */
import { createServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';

import { OperatorError } from '../../../src/errors.ts';
import { json } from '../../../src/http/transport/problem.ts';
import { type Listener, openListener, reservePorts } from '../../../src/http/transport/server.ts';
import { findFreePort } from '../../support/free-port.ts';

const HOST = '127.0.0.1';
const events = { requestFailed: () => {}, requestUnavailable: () => {} };
const listeners: Listener[] = [];
afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.close();
});

/** A listener that says its name at `/who`. */
async function listen(name: string, port: number, isShared: boolean): Promise<Listener> {
  const handler = (exchange: { answer: (answer: ReturnType<typeof json>) => void }) =>
    exchange.answer(json(name));
  const sites = new Map([['', [{ method: 'GET' as const, path: '/who', handler }]]]);
  const settings = { setting: 'PORT', host: HOST, port, sites, isShared };
  const listener = await openListener(settings, events);
  listeners.push(listener);
  return listener;
}

async function ask(port: number): Promise<unknown> {
  const response = await fetch(`http://${HOST}:${port}/who`, { headers: { connection: 'close' } });
  return await response.json();
}

const taken = (setting: string, port: number) =>
  new OperatorError(
    `Port ${port} on ${HOST} is taken or not allowed: set ${setting} to a free port.`,
  );

describe.runIf(process.platform === 'linux')('a port of several listeners', () => {
  test('free ports are found, differ, and can be listened on at once', async () => {
    const [base = 0, observe = 0] = await reservePorts([
      { setting: 'PORT', host: HOST, port: 0 },
      { setting: 'OBSERVE_PORT', host: HOST, port: 0 },
    ]);
    expect(base).toBeGreaterThan(0);
    expect(observe).not.toBe(base);
    expect((await listen('one', base, true)).port).toBe(base);
  });

  test('connections are spread over them; the others go on when one is closed', async () => {
    const port = await findFreePort();
    const first = await listen('one', port, true);
    await listen('two', port, true);
    const many = async () =>
      new Set(await Promise.all(Array.from({ length: 40 }, () => ask(port))));
    expect(await many()).toEqual(new Set(['one', 'two']));
    first.drain();
    await first.close();
    expect(await many()).toEqual(new Set(['two']));
  });

  test('one that is shared can neither be taken alone nor probed as free', async () => {
    const port = await findFreePort();
    await listen('one', port, true);
    await expect(listen('two', port, false)).rejects.toEqual(taken('PORT', port));
    await expect(reservePorts([{ setting: 'OBSERVE_PORT', host: HOST, port }])).rejects.toEqual(
      taken('OBSERVE_PORT', port),
    );
    expect(await ask(port)).toBe('one');
  });

  test('a port of another program is named, and none of the tried ones stays taken', async () => {
    const free = await findFreePort();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, HOST, resolve));
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const both = [
      { setting: 'PORT', host: HOST, port: free },
      { setting: 'OBSERVE_PORT', host: HOST, port },
    ];
    await expect(reservePorts(both)).rejects.toEqual(taken('OBSERVE_PORT', port));
    await new Promise((resolve) => other.close(resolve));
    expect(await reservePorts(both)).toEqual([free, port]);
  });
});

test('cut closes connections whatever is under way, once', async () => {
  const listener = await listen('one', 0, false);
  expect(await ask(listener.port)).toBe('one');
  listener.cut();
  listener.cut();
  await expect(ask(listener.port)).rejects.toThrow();
});
