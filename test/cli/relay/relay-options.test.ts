/** The options of `sluice relay`: what they mean, and every mistake reported at once. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import {
  LISTEN_DEFAULT,
  parseBytes,
  parseListen,
  QUEUE_MAX_DEFAULT,
  readKeyFile,
  relaySetup,
} from '../../../src/cli/relay/relay-options.ts';

const OPTIONS = { listen: LISTEN_DEFAULT, queueMax: QUEUE_MAX_DEFAULT, allowHost: [] };
const ENV = { SLUICE_URL: 'https://sluice.example.org/', SLUICE_API_KEY: 'sluice_live_k' };

test('url and key are enough', () => {
  const { readKey, ...setup } = relaySetup(OPTIONS, { ...ENV, XDG_STATE_HOME: '/state' });
  expect(readKey()).toBe('sluice_live_k');
  expect(setup).toEqual({
    host: '127.0.0.1',
    port: 4318,
    allowedHosts: [],
    url: 'https://sluice.example.org',
    queueFolder: '/state/sluice/relay',
    queueBytesMax: 256 * 1024 * 1024,
    logLevel: 'info',
  });
});

test('options replace the environment', () => {
  const options = { ...OPTIONS, url: 'http://localhost:4318', queueDir: '/q', queueMax: '1GB' };
  expect(relaySetup(options, ENV)).toMatchObject({
    url: 'http://localhost:4318',
    queueFolder: '/q',
    queueBytesMax: 1e9,
  });
});

test('--allow-host adds names, as they are compared', () => {
  const allowHost = ['Host.Docker.Internal', '::1'];
  const { allowedHosts } = relaySetup({ ...OPTIONS, allowHost }, ENV);
  expect(allowedHosts).toEqual(['host.docker.internal', '[::1]']);
});

test('all mistakes are reported together, and the key in none of them', () => {
  const options = { listen: 'nowhere', queueMax: '5', allowHost: ['a.example:80'] };
  const fail = () => relaySetup(options, { SLUICE_API_KEY: 'two words' });
  expect(fail).toThrow(/SLUICE_URL.*SLUICE_API_KEY.*--listen.*--queue-max.*--allow-host/s);
  expect(fail).not.toThrow(/two words/);
  expect(() => relaySetup(OPTIONS, {})).toThrow(/SLUICE_API_KEY or --key-file/);
});

test.each(['ftp://x', 'sluice.example.org', 'https://u:p@x', 'https://x/?q', 'https://x/#f'])(
  'the URL %s is refused',
  (url) => {
    expect(() => relaySetup({ ...OPTIONS, url }, ENV)).toThrow(/URL of the server/);
  },
);

test('without TLS only this machine, or what --allow-http names', () => {
  const url = 'http://sluice.example.org';
  expect(() => relaySetup({ ...OPTIONS, url }, ENV)).toThrow(/unencrypted/);
  expect(relaySetup({ ...OPTIONS, url, allowHttp: true }, ENV).url).toBe(url);
  expect(relaySetup({ ...OPTIONS, url: 'http://127.0.0.1:1' }, ENV).url).toBe('http://127.0.0.1:1');
});

test('a key file is read at each call, holds one key, and errors do not repeat it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-relay-key-'));
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, 'first\n');
  const { readKey } = relaySetup({ ...OPTIONS, keyFile }, { SLUICE_URL: ENV.SLUICE_URL });
  expect(readKey()).toBe('first');
  writeFileSync(keyFile, 'second');
  expect(readKey()).toBe('second');
  writeFileSync(keyFile, 'two\nlines');
  expect(() => readKeyFile(keyFile)).toThrow(/one agent key/);
  expect(() => readKeyFile(keyFile)).not.toThrow(/lines/);
  rmSync(folder, { recursive: true });
  expect(() => readKeyFile(keyFile)).toThrow(/cannot be read/);
});

test.each([
  ['1048576', 1024 ** 2],
  ['256MiB', 256 * 1024 ** 2],
  ['1 GiB', 1024 ** 3],
  ['5MB', 5e6],
  ['', null],
  ['-1', null],
  ['1.5GiB', null],
  ['1TiB', null],
])('the size %j is %j bytes', (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes);
});

test.each([
  ['127.0.0.1:4318', { host: '127.0.0.1', port: 4318 }],
  ['localhost:0', { host: 'localhost', port: 0 }],
  ['[::1]:4318', { host: '::1', port: 4318 }],
  ['4318', null],
  ['127.0.0.1', null],
  ['127.0.0.1:70000', null],
])('the address %s is %j', (text, listen) => {
  expect(parseListen(text)).toEqual(listen);
});
