/** What `sluice doctor` reports about Node.js and its C library, of cores, memory and DATA_DIR. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

import {
  dataDirCheck,
  resourceChecks,
  runtimeCheck,
} from '../../../src/cli/doctor/machine-checks.ts';
import { readConfig } from '../../../src/config/config.ts';
import { explainLoadFailure, runtimeFault } from '../../../src/terminal/node-runtime.ts';

const GIB = 1024 ** 3;

test.each([
  ['24.4.0', '2.41', 'ok', null],
  ['22.20.0', '2.38', 'ok', null],
  ['22.20.0', '2.36', 'problem', 'Node.js 22 needs glibc 2.38'],
  ['24.4.0', '2.36', 'problem', 'or use Node.js 20 here'],
  ['24.4.0', '2.17', 'problem', 'Debian 13 or Ubuntu 24.04.'],
  ['20.20.2', '2.36', 'warning', 'support ended'],
  ['20.18.1', '2.36', 'problem', '20.19'],
  ['18.20.0', '2.36', 'problem', '20.19'],
  ['25.1.0', '2.41', 'warning', 'not tested'],
  ['24.4.0', null, 'problem', 'glibc'],
])('Node.js %s with glibc %s is %s', (version, glibc, state, advice) => {
  const check = runtimeCheck({ version, glibc, platform: 'linux', arch: 'x64' });
  expect(check.state).toBe(state);
  if (advice === null) expect(check.change).toBeNull();
  else expect(check.change).toContain(advice);
});

test('macOS has no glibc and needs none', () => {
  const mac = { version: '24.4.0', glibc: null, platform: 'darwin', arch: 'arm64' };
  expect(runtimeCheck(mac).state).toBe('ok');
});

test('on Node.js 20 there, some requests are not answered', () => {
  const mac = { version: '20.20.2', glibc: null, platform: 'darwin', arch: 'arm64' };
  expect(runtimeCheck(mac)).toMatchObject({
    state: 'warning',
    change: expect.stringContaining('X_Foo'),
  });
  expect(runtimeFault({ version: '22.0.0', platform: 'darwin' })).toBeNull();
  expect(runtimeFault({ version: '20.20.2', platform: 'linux' })).toBeNull();
});

test('threads beyond the cores and bodies beyond the memory are warnings', () => {
  const states = (settings: Record<string, string>, cores: number, bytes: number) =>
    resourceChecks(readConfig(settings), cores, bytes).map(({ state }) => state);
  const settings = { MATCH_THREADS: '4', MAX_INFLIGHT_BYTES: String(GIB) };
  expect(states(settings, 4, 2 * GIB)).toEqual(['ok', 'ok']);
  expect(states(settings, 3, 2 * GIB - 1)).toEqual(['warning', 'warning']);
});

describe('DATA_DIR', () => {
  const mayNot = () => 'cannot be written to: EACCES';

  test('may be made by the server where the folder above can be written to', () => {
    expect(dataDirCheck(join(tmpdir(), 'not', 'there', 'yet'), true).state).toBe('ok');
  });

  test('that cannot be written to keeps the embedded database from starting', () => {
    const check = dataDirCheck('/var/lib/sluice', true, mayNot);
    expect(check.state).toBe('problem');
    expect(check.found).toContain('EACCES');
    expect(dataDirCheck('/var/lib/sluice', false, mayNot).state).toBe('warning');
  });

  test('below a file is not a folder', () => {
    const check = dataDirCheck(join(fileURLToPath(import.meta.url), 'data'), true);
    expect(check).toMatchObject({
      state: 'problem',
      found: expect.stringContaining('is not a folder'),
    });
  });
});

describe('a program that could not be loaded', () => {
  const linux = { platform: 'linux', arch: 'x64' };
  const glibc = new Error("libc.so.6: version `GLIBC_2.38' not found (required by uws_linux.node)");
  const abi = new Error('was compiled against another NODE_MODULE_VERSION 115');

  test('Node.js 24 on Debian 12 is named, with what to do', () => {
    const text = explainLoadFailure(glibc, { ...linux, version: '24.21.0', glibc: '2.36' });
    expect(text).toMatch(/24\.21\.0 with glibc 2\.36[\s\S]*Debian 13[\s\S]*or use Node\.js 20/);
  });

  test('modules of another Node.js are to be installed again', () => {
    const text = explainLoadFailure(abi, { ...linux, version: '24.21.0', glibc: '2.41' });
    expect(text).toContain('npm ci');
  });

  test('other errors are left as they are', () => {
    expect(explainLoadFailure(new Error('fault'))).toBeNull();
    expect(explainLoadFailure('fault')).toBeNull();
  });
});
