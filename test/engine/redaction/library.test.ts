/** Every pattern of the library, by texts that it must redact and texts that it must leave. */
import { expect, test } from 'vitest';

import { redactionFaults } from '../../../src/engine/redaction/redactor.ts';
import { LIBRARY } from '../../../src/model/redaction/redaction.ts';
import { redactText } from './redaction.ts';

const word = (letters: number) => 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ'.repeat(10).slice(0, letters);
const lines = Array.from({ length: 3 }, () => word(64)).join('\n');
const pem = (kind: string) =>
  `-----BEGIN ${kind}PRIVATE KEY-----\n${lines}\nabc=\n-----END ${kind}PRIVATE KEY-----`;

/** Parts, joined here so that no scanner of secrets takes this file for a leak. */
const j = (...parts: string[]) => parts.join('');

const EXAMPLES: Readonly<Record<string, { redacted: string[]; left: string[] }>> = {
  'aws-access-key': {
    redacted: [j('AKIA', 'IOSFODNN7EXAMPLE'), j('ASIA', 'IOSFODNN7EXAMPLE')],
    left: ['AKIA', 'AKIAIOSFODNN7', j('akia', 'iosfodnn7example')],
  },
  'github-token': {
    redacted: [j('ghp_', word(36)), j('ghs_', word(40)), j('github_pat_', word(22), '_', word(59))],
    left: ['ghp_short', j('ghx_', word(36))],
  },
  'gitlab-token': { redacted: [j('glpat-', word(20))], left: ['glpat-1'] },
  'slack-token': {
    redacted: [
      j('xoxb-', '123456789012-', word(24)),
      j('xapp-', '1-A0123456789-', word(12)),
      j('hooks.slack.com', '/services/T00000000/B00000000/', word(24)),
    ],
    left: ['xoxb-1', 'hooks.slack.com/services'],
  },
  'model-api-key': {
    redacted: [j('sk-', word(48)), j('sk-proj-', word(60)), j('sk-ant-api03-', word(60))],
    left: ['task-force-of-the-whole-department-here', 'sk-learn-is-a-library-for-machines'],
  },
  'google-api-key': { redacted: [j('AIza', word(35))], left: ['AIza', j('AIza', word(20))] },
  'stripe-key': {
    redacted: [j('sk_', 'live_', word(24)), j('rk_', 'test_', word(24))],
    left: ['sk_live_1', j('desk_', 'live_', word(24))],
  },
  'npm-token': { redacted: [j('npm_', word(36))], left: ['npm_config_cache'] },
  'private-key': {
    redacted: [
      pem(''),
      pem('RSA '),
      pem('EC ').replaceAll('\n', '\\n'),
      j('-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n', lines, '\n=aB3d'),
      `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n${lines}`,
    ],
    left: [
      '-----BEGIN PRIVATE KEY-----',
      '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----',
      'begins with -----BEGIN PRIVATE KEY----- and then some words',
    ],
  },
  jwt: {
    redacted: [j('eyJhbGciOiJIUzI1NiJ9', '.eyJzdWIiOiIxMjM0In0', '.', word(43))],
    left: ['eyJhbGciOiJIUzI1NiJ9', 'eyJ.eyJ.x'],
  },
  'url-password': {
    redacted: ['://admin:hunter2@', '://u:p%40ss@'],
    left: ['https://example.com:8080/a@b', 'http://host/path'],
  },
  email: {
    redacted: ['ada@example.com', "o'brien+x@mail.example.co.uk"],
    left: ['@ada', 'left-pad@1.3.0', 'a@b'],
  },
  iban: {
    redacted: ['DE89370400440532013000', 'GB82 WEST 1234 5698 7654 32'],
    left: ['DE88370400440532013000', 'AB12', 'ISO8601'],
  },
  'credit-card': {
    redacted: ['4111111111111111', '5500 0055 5555 5559', '3782-822463-10005'],
    left: ['4111111111111112', '1764280000000000000', '4111 1111'],
  },
  phone: {
    redacted: ['+49 30 901820', '+1 (415) 555-2671', '(415) 555-2671', '415.555.2671'],
    left: ['+1', '2026-11-28', '12345678', 'a+b'],
  },
  'us-ssn': { redacted: ['078-05-1120'], left: ['2026-11-28', '078-051-120'] },
};

test('every pattern has examples', () => {
  expect(Object.keys(EXAMPLES)).toEqual(LIBRARY.map(({ name }) => name));
});

test('the whole library can be chosen', () => {
  expect(redactionFaults({ library: LIBRARY.map(({ name }) => name), patterns: [] })).toEqual([]);
});

test.each(Object.entries(EXAMPLES))('%s', (name, { redacted, left }) => {
  const alone = redactText({ library: [name] });
  const whole = redactText({ library: LIBRARY.map((one) => one.name) });
  for (const secret of redacted) {
    const mark = new RegExp(`^\\[redacted:${name}:[0-9a-f]{16}\\]$`);
    expect(alone(secret), secret).toMatch(mark);
    expect(whole(secret), secret).toMatch(mark);
    expect(alone(`see ${secret}, please`)).toMatch(/^see \[redacted:[^ ]+\], please$/);
    expect(alone(`line\n${secret}\n– line`)).toMatch(/^line\n\[redacted:\S+\]\n– line$/);
    const inJson = JSON.stringify({ text: `line\n${secret}\n–`, more: [1] });
    expect(JSON.parse(alone(inJson)).text).toMatch(/^line\n\[redacted:\S+\]\n–$/);
  }
  for (const text of left) {
    expect(alone(text)).toBe(text);
    expect(alone(`see ${text}, please`)).toBe(`see ${text}, please`);
  }
});
