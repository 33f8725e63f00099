/** Whatever a handler puts into a header, it stays one header. */
import { afterEach, expect, test } from 'vitest';
import type { HeaderList } from '../../../src/http/transport/exchange.ts';
import { type Listener, openListener } from '../../../src/http/transport/server.ts';
import { openSocket, type RawSocket } from '../../support/sockets.ts';

let listener: Listener | null = null;
let socket: RawSocket | null = null;
afterEach(async () => {
  socket?.socket.destroy();
  await listener?.close();
});

async function headOf(headers: HeaderList): Promise<string> {
  const answer = { status: 200, contentType: 'text/plain', headers, body: 'body' };
  listener = await openListener(
    {
      setting: 'PORT',
      host: '127.0.0.1',
      port: 0,
      sites: new Map([
        ['', [{ method: 'GET', path: '/x', handler: (exchange) => exchange.answer(answer) }]],
      ]),
    },
    { requestFailed: () => {}, requestUnavailable: () => {} },
  );
  socket = await openSocket(listener.port);
  await socket.send('GET /x HTTP/1.1\r\nhost: a\r\n\r\n');
  const text = await socket.until('body');
  return text.slice(0, text.indexOf('\r\n\r\n'));
}

test.each([
  ['/app\r\nset-cookie: a=b', '/appset-cookie: a=b'],
  ['/app\r\n\r\n<script>', '/app<script>'],
  ['/app\nx: y', '/appx: y'],
  ['/app\rx: y', '/appx: y'],
  ['/app\0x', '/appx'],
  // As UTF-8: what is received is kept as one character for each byte.
  ['/app/é', '/app/\xc3\xa9'],
  ['/app/é€', '/app/\xc3\xa9\xe2\x82\xac'],
])('%j stays one value', async (value, written) => {
  const head = await headOf([['location', value]]);
  expect(head.split('\r\n')).toContain(`location: ${written}`);
  expect(head).not.toMatch(/^(set-cookie|x):/im);
});
