/** Names of this machine, and which requests a listener answers by their Host and Origin. */
import { describe, expect, test } from 'vitest';

import {
  type CallerRules,
  createCallerCheck,
  isLoopback,
  parseAddress,
  parseHostName,
} from '../src/local-host.ts';

const SETTING = 'ADMIN_ALLOWED_HOSTS';

/** Names that lead to this machine whatever DNS answers. */
const LOCAL = [
  'localhost',
  'LOCALHOST',
  'LocalHost.',
  '127.0.0.1',
  '127.0.0.1.',
  '127.255.255.254',
  '127.1',
  '0x7f.0.0.1',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000::0001]',
  '[::ffff:127.0.0.1]',
  '[::ffff:127.255.255.254]',
  '[0:0:0:0:0:ffff:7f00:1]',
];

/** Names that others can register or resolve, addresses elsewhere, and what is no name. */
const FOREIGN = [
  'evil.com',
  '127.0.0.1.evil.com',
  'localhost.evil.com',
  'evil.localhost',
  'localhost..',
  'localhos',
  'xlocalhost',
  '127.0.0.1x',
  '127.0.0.256',
  '128.0.0.1',
  '0.0.0.0',
  '10.0.0.7',
  '[::]',
  '[::2]',
  '[::ffff:10.0.0.1]',
  '[::ffff:126.255.255.255]',
  '[::ffff:128.0.0.1]',
  '[::7f00:1]',
  '[::1',
  '::1]',
  '[::1].evil.com',
  '[::1%25lo]',
  '[evil.com]',
  'evil.com@localhost',
  'localhost@evil.com',
  'localhost:80@evil.com',
  'user:pass@127.0.0.1',
  'http://localhost',
  'localhost/evil.com',
  'localhost?evil.com',
  'localhost#evil.com',
  'localhost\\evil.com',
  'localhost%2eevil.com',
  'localhost evil.com',
  'localhost,evil.com',
  'localhost\t',
  ' localhost',
  'ｌｏｃａｌｈｏｓｔ',
  '.',
  '..',
];

describe('a Host header', () => {
  const check = createCallerCheck({ address: '127.0.0.1', allowedHosts: [], setting: SETTING });

  test.each(LOCAL)('%s is answered, with any port', (name) => {
    for (const port of ['', ':', ':0', ':80', ':9464', ':65535']) {
      expect(check(`${name}${port}`, ''), port).toBeNull();
    }
    for (const port of [':x', ':123456', ':80:80', ':80@evil.com', ':80/', '::']) {
      expect(check(`${name}${port}`, '')?.code, port).toBe('unknown_host');
    }
  });

  test.each(FOREIGN)('%j is refused, with a port too', (name) => {
    expect(check(name, '')?.code).toBe('unknown_host');
    expect(check(`${name}:9464`, '')?.code).toBe('unknown_host');
  });

  test('is not repeated in the refusal, which names the setting', () => {
    const message = check('secret.example', '')?.message ?? '';
    expect(message).toContain(SETTING);
    expect(message).not.toContain('secret.example');
  });

  test('that is absent passes', () => {
    expect(check('', '')).toBeNull();
  });
});

describe('by the address of the listener', () => {
  const answers = (rules: Omit<CallerRules, 'setting'>, host: string): boolean =>
    createCallerCheck({ ...rules, setting: SETTING })(host, '') === null;

  test.each(['localhost', '127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])(
    '%s: only this machine',
    (address) => {
      expect(answers({ address, allowedHosts: [] }, 'evil.com')).toBe(false);
      expect(answers({ address, allowedHosts: [] }, 'localhost')).toBe(true);
    },
  );

  test.each(['0.0.0.0', '::', '10.0.0.7', 'fd00::7', 'metrics.example'])(
    '%s: any name, unless names are listed',
    (address) => {
      expect(answers({ address, allowedHosts: [] }, 'evil.com')).toBe(true);
      expect(answers({ address, allowedHosts: [] }, 'a b')).toBe(true);
      expect(answers({ address, allowedHosts: ['a.example'] }, 'evil.com')).toBe(false);
      const own = address.includes(':') ? `[${address}]` : address;
      for (const name of ['a.example', 'A.Example.:80', 'localhost', own]) {
        expect(answers({ address, allowedHosts: ['a.example'] }, name), name).toBe(true);
      }
    },
  );

  test('a listed name is that name only', () => {
    const rules = { address: '127.0.0.1', allowedHosts: ['a.example', '10.0.0.7', '[fd00::7]'] };
    for (const name of ['a.example', 'A.EXAMPLE.:9464', '10.0.0.7:1', '[fd00:0::7]:1']) {
      expect(answers(rules, name), name).toBe(true);
    }
    for (const name of ['b.a.example', 'a.example.evil.com', '10.0.0.8', '[fd00::8]']) {
      expect(answers(rules, name), name).toBe(false);
    }
  });
});

describe('an Origin header', () => {
  const allowedHosts = ['a.example'];
  const check = createCallerCheck({ address: '127.0.0.1', allowedHosts, setting: SETTING });

  test.each([
    ['localhost:9464', 'http://localhost:9464'],
    ['LOCALHOST:9464', 'http://localhost:9464'],
    ['localhost', 'http://localhost'],
    ['localhost:80', 'http://localhost'],
    ['localhost', 'https://localhost'],
    ['[::1]:9464', 'http://[::1]:9464'],
    ['localhost:9464', 'https://a.example'],
    ['localhost:9464', 'http://a.example:3000'],
    ['', 'https://a.example'],
  ])('Host %j is answered to a page of %s', (host, origin) => {
    expect(check(host, origin)).toBeNull();
  });

  test.each([
    ['localhost:9464', 'http://evil.com'],
    ['localhost:9464', 'null'],
    ['localhost:9464', 'file://'],
    ['localhost:9464', 'http://localhost:3000'],
    ['localhost:9464', 'http://localhost'],
    ['localhost:9464', 'http://127.0.0.1:9464'],
    ['localhost:9464', 'http://localhost:9464/'],
    ['localhost:9464', 'http://evil.com@localhost:9464'],
    ['localhost:9464', 'http://localhost:9464, http://evil.com'],
    ['localhost:9464', 'http://localhost:9464.evil.com'],
    ['localhost:9464', 'https://a.example.evil.com'],
    ['localhost:9464', 'ftp://a.example'],
    ['', 'http://localhost:9464'],
  ])('Host %j is not answered to a page of %j', (host, origin) => {
    expect(check(host, origin)?.code).toBe('cross_origin');
  });

  test('of another site is refused on any address', () => {
    const open = createCallerCheck({ address: '0.0.0.0', allowedHosts: [], setting: SETTING });
    expect(open('sluice:9464', 'http://evil.com')?.code).toBe('cross_origin');
    expect(open('sluice:9464', 'http://sluice:9464')).toBeNull();
  });
});

test.each([
  ['Metrics.Example.', 'metrics.example'],
  ['10.0.0.7', '10.0.0.7'],
  ['::1', '[::1]'],
  ['[FD00:0::7]', '[fd00::7]'],
  ['metrics.example:80', null],
  ['[::1]:80', null],
  ['*.example', null],
  ['https://metrics.example', null],
  ['a b', null],
  ['', null],
])('the setting %j names %j', (text, name) => {
  expect(parseAddress(text)).toBe(name);
});

test('a name is at most 254 characters long', () => {
  expect(parseHostName('a'.repeat(254))).toBe('a'.repeat(254));
  expect(parseHostName('a'.repeat(255))).toBeNull();
});

test.each([
  ...LOCAL.map((name) => [name, true] as const),
  ...FOREIGN.map((name) => [name, false] as const),
  ['::1', true],
  ['localhost:80', false],
  ['[::1]:80', false],
] as const)('the address %j is of this machine: %s', (name, isLocal) => {
  expect(isLoopback(name)).toBe(isLocal);
});
