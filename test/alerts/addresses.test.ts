/** Which addresses alerts may reach: the table of what server-side request forgery aims at. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { createAddressPolicy, faultOfUrl } from '../../src/alerts/addresses.ts';
import { anyCharacter } from '../support/cases.ts';

const NONE = createAddressPolicy([]);

const PRIVATE = [
  ...['127.0.0.1', '127.255.255.254', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255'],
  ...['192.168.1.1', '169.254.169.254', '100.64.0.1', '100.127.255.255', '192.0.0.1', '192.0.2.1'],
  ...['198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1'],
  ...['255.255.255.255', '::', '::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:7f00:1'],
  ...['::127.0.0.1', 'fe80::1', 'fc00::1', 'fd12:3456::1', 'fec0::1', 'ff02::1', '2001:db8::1'],
  ...[
    '4000::1',
    '1fff::1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '2002:7f00:1::',
    '2001::1',
    '100::1',
    '5f00::1',
  ],
];
const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '172.32.0.1',
  '100.128.0.1',
  '::ffff:8.8.8.8',
  '2606:4700::1',
];

test.each(PRIVATE)('%s is refused', (address) => {
  expect(NONE.kindOf(address)).toBe('refused');
});

test.each(PUBLIC)('%s is public', (address) => {
  expect(NONE.kindOf(address)).toBe('public');
});

test('what the setting lists is allowed, and nothing beside it', () => {
  const policy = createAddressPolicy(['10.1.0.0/16', '::1/128']);
  expect(policy.kindOf('10.1.2.3')).toBe('listed');
  expect(policy.kindOf('::ffff:10.1.2.3')).toBe('listed');
  expect(policy.kindOf('::1')).toBe('listed');
  expect(policy.kindOf('10.2.0.1')).toBe('refused');
  expect(policy.kindOf('127.0.0.1')).toBe('refused');
});

test.each(['', 'localhost', '1.1.1.1 ', 'example.com', '1.1.1.1/32'])(
  '"%s" is no address',
  (text) => {
    expect(NONE.kindOf(text)).toBe('refused');
  },
);

describe('URLs', () => {
  const REFUSED = [
    ...['http://example.com/', 'ftp://example.com/', 'file:///etc/passwd', 'javascript:alert(1)'],
    ...[
      'example.com',
      '',
      'https://',
      'https://user:password@example.com/',
      'https://u@example.com',
      'https://:password@example.com',
    ],
    ...['https://example.com:22/', 'https://example.com:25/', 'https://example.com:1023/'],
    ...['https://127.0.0.1/', 'https://127.1/', 'https://0x7f.0.0.1/', 'https://2130706433/'],
    ...['https://0177.0.0.1/', 'https://[::1]/', 'https://[::ffff:169.254.169.254]/', 'https://0/'],
    ...['https://169.254.169.254/latest/meta-data', 'https://①②⑦.0.0.1/', 'https://10.0.0.1:8443/'],
  ];
  test.each(REFUSED)('%s is refused', (url) => {
    expect(faultOfUrl(url, NONE)).toMatch(/^must /);
  });

  test.each([
    ...['https://hooks.slack.com/services/T/B/x', 'https://example.com:8443/a?b#c'],
    ...['https://example.com:80/', 'https://example.com:443/', 'https://example.com:1024/'],
  ])('%s is taken', (url) => {
    expect(faultOfUrl(url, NONE)).toBeNull();
  });

  test('http is taken where private addresses are listed', () => {
    const policy = createAddressPolicy(['127.0.0.0/8']);
    expect(faultOfUrl('http://127.0.0.1:9000/', policy)).toBeNull();
    expect(faultOfUrl('http://10.0.0.1/', policy)).toMatch(/private/);
  });

  test('whatever is written: what is taken is https with a name or a public address', () => {
    const url = fc
      .tuple(
        fc.constantFrom('https:', 'https:', 'http:', 'ftp:'),
        fc.constantFrom('', '', 'user@', 'user:secret@'),
        fc.domain(),
        fc.constantFrom('', ':8443'),
        fc.string({ unit: anyCharacter }).map(encodeURIComponent),
      )
      .map(([scheme, user, domain, port, path]) => `${scheme}//${user}${domain}${port}/${path}`);
    const text = fc.oneof(
      fc.string(),
      url,
      fc.ipV4().map((ip) => `https://${ip}/`),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          fc.ipV6().map((ip) => `https://[${ip}]/`),
        ),
        (written) => {
          if (faultOfUrl(written, NONE) !== null) return;
          const { protocol, hostname, username } = new URL(written);
          expect([protocol, username]).toEqual(['https:', '']);
          const literal = /^\[(.*)\]$/.exec(hostname)?.[1] ?? hostname;
          if (/^[\d.]+$|:/.test(literal)) expect(NONE.kindOf(literal)).toBe('public');
        },
      ),
    );
  });
});
