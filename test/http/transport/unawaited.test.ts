/** When an exchange says that nobody awaits its answer any more, over real sockets. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { json } from '../../../src/http/transport/answers.ts';
import type { Exchange } from '../../../src/http/transport/exchange.ts';
import { type Listener, openListener } from '../../../src/http/transport/server.ts';
import { head, openSocket, type RawSocket } from '../../support/sockets.ts';

let listener: Listener;
let client: RawSocket;
let exchange: Exchange | null;
const onUnawaited = vi.fn<() => void>();

beforeEach(async () => {
  exchange = null;
  onUnawaited.mockClear();
  const handler = (arrived: Exchange): void => {
    exchange = arrived;
  };
  const sites = new Map([['', [{ method: 'POST', path: '/', handler } as const]]]);
  listener = await openListener(
    { setting: 'PORT', host: '127.0.0.1', port: 0, sites },
    { requestFailed: () => {}, requestUnavailable: () => {} },
  );
  client = await openSocket(listener.port);
});

afterEach(async () => {
  client.abort();
  listener.drain();
  await listener.close();
});

async function eventually(condition: () => boolean): Promise<void> {
  await vi.waitUntil(condition, { timeout: 20_000, interval: 5 });
}

/** The exchange of a request, which reads its body of 5 bytes; `sent` of it arrives. */
async function arrived(sent: string): Promise<Exchange> {
  await client.send(`${head('POST', '/', 'Content-Length: 5')}${sent}`);
  await eventually(() => exchange !== null);
  if (exchange === null) throw new Error('no request arrived');
  void exchange.readBody({ bytesMax: 5, deadlineMs: 60_000, reserve: () => true });
  return exchange;
}

test.each(['hello', 'hel'])('once its client leaves, after %j', async (sent) => {
  const open = await arrived(sent);
  open.whenUnawaited(onUnawaited);
  expect(onUnawaited).not.toHaveBeenCalled();
  client.abort();
  await eventually(() => !open.isOpen);
  open.answer(json('late'));
  expect(onUnawaited).toHaveBeenCalledTimes(1);
});

test.each(['hello', 'hel'])('once it is answered, after %j', async (sent) => {
  const open = await arrived(sent);
  open.whenUnawaited(onUnawaited);
  open.answer(json('first'));
  expect(onUnawaited).toHaveBeenCalledTimes(1);
  open.answer(json('second'));
  await client.until('first');
  client.abort();
  await eventually(() => !open.isOpen);
  expect(onUnawaited).toHaveBeenCalledTimes(1);
});

test('at once when that was before, and to the latest listener only', async () => {
  const open = await arrived('hello');
  open.whenUnawaited(() => expect.unreachable('it was replaced'));
  open.whenUnawaited(onUnawaited);
  client.abort();
  await eventually(() => !open.isOpen);
  open.whenUnawaited(onUnawaited);
  expect(onUnawaited).toHaveBeenCalledTimes(2);
});
