/** Where a request comes from, and how little of it is kept. */
import { afterEach, describe, expect, test } from 'vitest';
import { createCookieJar } from '../../../src/http/dashboard/sign-in/session-cookie.ts';
import { json } from '../../../src/http/transport/answers.ts';
import {
  abridgeUserAgent,
  type BrowserHead,
  clientAddress,
  networkOf,
} from '../../../src/http/transport/browser-head.ts';
import type { Exchange } from '../../../src/http/transport/exchange.ts';
import { type Listener, openListener } from '../../../src/http/transport/server.ts';
import { openSocket, type RawSocket } from '../../support/sockets.ts';

const head = (peerAddress: string, forwardedFor = ''): BrowserHead => ({
  cookie: '',
  origin: '',
  fetchSite: '',
  userAgent: '',
  forwardedFor,
  peerAddress,
});

describe('the client’s address', () => {
  test.each([
    ['203.0.113.9', '', 0, '203.0.113.9'],
    // Without a proxy of ours, anybody can write the header.
    ['203.0.113.9', '198.51.100.1', 0, '203.0.113.9'],
    ['10.0.0.1', '198.51.100.1', 1, '198.51.100.1'],
    ['10.0.0.1', '6.6.6.6, 198.51.100.1', 1, '198.51.100.1'],
    ['10.0.0.1', '6.6.6.6, 198.51.100.1, 10.0.0.2', 2, '198.51.100.1'],
    ['10.0.0.1', '198.51.100.1', 5, '198.51.100.1'],
    ['10.0.0.1', '', 1, '10.0.0.1'],
    ['10.0.0.1', 'nonsense', 1, 'unknown'],
    ['10.0.0.1', '<b>, \n', 1, 'unknown'],
    ['0000:0000:0000:0000:0000:ffff:7f00:0001', '', 0, '127.0.0.1'],
    ['10.0.0.1', '::ffff:198.51.100.1', 1, '198.51.100.1'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '', 0, '2001:0db8:0000:0000:0000:0000:0000:0001'],
    ['', '', 0, 'unknown'],
  ])('peer %s, header "%s", %d of ours: %s', (peer, forwardedFor, hops, expected) => {
    expect(clientAddress(head(peer, forwardedFor), hops)).toBe(expected);
  });
});

describe('as it comes', () => {
  let listener: Listener | null = null;
  let socket: RawSocket | null = null;
  afterEach(async () => {
    socket?.socket.destroy();
    await listener?.close();
  });

  /** What a route answers to a request with these header lines. */
  async function answerFor(lines: string[], tell: (head: BrowserHead) => string): Promise<string> {
    const handler = (exchange: Exchange): void => {
      if (exchange.browser === null) throw new Error('no path for browsers');
      exchange.answer(json(`<${tell(exchange.browser)}>`));
    };
    const sites = new Map([['', [{ method: 'GET', path: '/app', handler }] as const]]);
    const settings = { setting: 'PORT', host: '127.0.0.1', port: 0, sites };
    listener = await openListener(settings, {
      requestFailed: () => {},
      requestUnavailable: () => {},
    });
    socket = await openSocket(listener.port);
    const headers = lines.map((line) => `${line}\r\n`).join('');
    await socket.send(`GET /app HTTP/1.1\r\nhost: a\r\n${headers}\r\n`);
    return /<(.*)>/.exec(await socket.until('>'))?.[1] ?? '';
  }

  /** The address of a request that came through one proxy of ours with these lines. */
  const addressOf = (...lines: string[]): Promise<string> =>
    answerFor(
      lines.map((line) => `X-Forwarded-For: ${line}`),
      (one) => clientAddress(one, 1),
    );

  test('a planted session in front of many cookies does not hide the one behind them', async () => {
    const [planted, own] = ['A'.repeat(43), 'B'.repeat(43)];
    const padding = `x=${'x'.repeat(5000)}`;
    const line = `Cookie: sluice_session=${planted}; ${padding}; sluice_session=${own}`;
    const cookies = createCookieJar('sluice', false);
    expect(await answerFor([line], ({ cookie }) => String(cookies.readSession(cookie)))).toBe(
      'null',
    );
    await listener?.close();
    const honest = `Cookie: ${padding}; sluice_session=${own}`;
    expect(await answerFor([honest], ({ cookie }) => String(cookies.readSession(cookie)))).toBe(
      own,
    );
  });

  test('a proxy that adds a line of its own counts, not the line a client wrote', async () => {
    expect(await addressOf('6.6.6.6', '198.51.100.1')).toBe('198.51.100.1');
    expect(await addressOf('6.6.6.6', '7.7.7.7, 198.51.100.1')).toBe('198.51.100.1');
  });

  test('however long the line is, what the proxy added at its end is read', async () => {
    // Cut at its first 4,096 characters, it would end with an address the client chose.
    const padding = 'x'.repeat(4096 - ', 6.6.6.6'.length);
    expect(await addressOf(`${padding}, 6.6.6.6, 198.51.100.1`)).toBe('198.51.100.1');
  });
});

describe('its network', () => {
  test.each([
    ['203.0.113.9', 3, '203.0.113.0/24'],
    ['203.0.113.9', 4, '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', 3, '2001:db8:1::/48'],
    ['2001:db8:1:2:3:4:5:6', 4, '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002:0000:0000:0000:0001', 4, '2001:db8:1:2::/64'],
    ['2001:db8::1', 4, '2001:db8:0:0::/64'],
    ['::1', 3, '0:0:0::/48'],
    ['unknown', 3, 'unknown'],
  ] as const)('%s to %d: %s', (address, parts, expected) => {
    expect(networkOf(address, parts, parts)).toBe(expected);
  });
});

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) ' +
      'Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0',
    'Edge on Windows',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 ' +
      '(KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
    'Safari on iOS',
  ],
  ['curl/8.5.0', 'curl'],
  ['<script>alert(1)</script>', 'another program'],
  ['', 'another program'],
])('%s is kept as %s', (userAgent, expected) => {
  expect(abridgeUserAgent(userAgent)).toBe(expected);
});
