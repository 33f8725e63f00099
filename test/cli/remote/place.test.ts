/** Which server a command uses, as its note says: names of a server hide nothing in the terminal. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { chooseServer } from '../../../src/cli/remote/logins.ts';

const SERVER = 'https://sluice.test';
const LOGIN = {
  token: 'secret',
  email: 'ann\u202e\u200b@mail.test',
  workspace: 'crew\u001b[2J\nUsing the local database.',
  expires_at: '2026-11-20T12:00:00Z',
};

let config: string;
let written: string;
beforeEach(() => {
  config = mkdtempSync(join(tmpdir(), 'sluice-config-'));
  mkdirSync(join(config, 'sluice'));
  const logins = { default: SERVER, servers: { [SERVER]: LOGIN } };
  writeFileSync(join(config, 'sluice', 'logins.json'), JSON.stringify(logins), { mode: 0o600 });
  vi.stubEnv('XDG_CONFIG_HOME', config);
  written = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(config, { recursive: true });
});

test('the note is one line, with invisible characters by name', () => {
  expect(chooseServer({ server: SERVER })).toEqual({ server: SERVER, ...LOGIN });
  expect(written).toBe(
    `Using ${SERVER}, workspace "crew⟨U+001B⟩[2J Using the local database.", ` +
      'as ann⟨U+202E⟩⟨U+200B⟩@mail.test.\n',
  );
});
