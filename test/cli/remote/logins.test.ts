/** The file of logins is kept in a folder that only its user can change. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { readLogins, removeLogin, saveLogin } from '../../../src/cli/remote/logins.ts';
import { OperatorError } from '../../../src/errors.ts';

const LOGIN = {
  server: 'https://sluice.example',
  token: 'token',
  email: 'a@sluice.example',
  workspace: 'default',
  expires_at: '2026-12-01T00:00:00Z',
};
const OTHER = { ...LOGIN, server: 'https://other.example' };

let root: string;
let folder: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-logins-')));
  folder = join(root, 'config', 'sluice');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const modeOf = (path: string): number => statSync(path).mode & 0o777;

test('a new folder and its file are private', () => {
  saveLogin(folder, LOGIN);
  expect(modeOf(folder)).toBe(0o700);
  expect(modeOf(join(folder, 'logins.json'))).toBe(0o600);
  expect(readLogins(folder).default).toEqual(LOGIN);
});

test.each(['700', '755'])('an existing folder of mode %s is used, and keeps it', (text) => {
  const mode = Number.parseInt(text, 8);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, mode);
  saveLogin(folder, LOGIN);
  expect(modeOf(folder)).toBe(mode);
  expect(readLogins(folder).all).toEqual([LOGIN]);
});

test('a folder behind a symbolic link is used', () => {
  const target = join(root, 'dotfiles');
  mkdirSync(target, { mode: 0o700 });
  mkdirSync(join(root, 'config'));
  symlinkSync(target, folder);
  saveLogin(folder, LOGIN);
  expect(readdirSync(target)).toEqual(['logins.json']);
});

describe.each(['720', '702', '777'])('a folder of mode %s, which others can write to', (text) => {
  const mode = Number.parseInt(text, 8);

  test('gets no login, and keeps its mode', () => {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, mode);
    expect(() => saveLogin(folder, LOGIN)).toThrow(OperatorError);
    expect(modeOf(folder)).toBe(mode);
    expect(existsSync(join(folder, 'logins.json'))).toBe(false);
  });

  test('is neither read nor changed', () => {
    saveLogin(folder, LOGIN);
    saveLogin(folder, OTHER);
    chmodSync(folder, mode);
    expect(() => readLogins(folder)).toThrow(`run chmod go-w ${folder}`);
    expect(() => removeLogin(folder, OTHER.server)).toThrow(OperatorError);
    expect(readdirSync(folder)).toEqual(['logins.json']);
  });
});
