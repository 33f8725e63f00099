/** How far a replay came: only bodies that were answered, and all before them, are not sent again. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { ReplayState } from '../../../src/cli/replay/replay-state.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-replay-state-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('it continues after the first bodies that were all answered, with the same ids and times', async () => {
  const path = join(folder, 'one.json');
  const state = await ReplayState.open(path, 'files', 'salt');
  expect(state).toMatchObject({ answered: 0, refused: 0, shift: null });
  state.shift = -(2n ** 70n);
  for (const number of [1, 0, 4, 2]) state.note(number, number === 4);
  expect(state.answered).toBe(3);
  await state.end(false);
  const again = await ReplayState.open(path, 'files', 'another');
  expect(again).toMatchObject({ answered: 3, refused: 1, shift: -(2n ** 70n), salt: 'salt' });
  again.note(3, false);
  // It was answered before, but that was not recorded.
  expect(again.answered).toBe(4);
  await again.end(true);
  expect(existsSync(path)).toBe(false);
});

test.each(['{', '{"version":2}', '{"version":1,"answered":-1}'])('%s is refused', async (text) => {
  const path = join(folder, 'other.json');
  writeFileSync(path, text);
  await expect(ReplayState.open(path, 'files', '')).rejects.toThrow('of a replay of other files');
});

test('the state of other files is refused', async () => {
  const path = join(folder, 'third.json');
  await (await ReplayState.open(path, 'files', '')).write();
  await expect(ReplayState.open(path, 'others', '')).rejects.toThrow('of other files');
});

test('without a file nothing is recorded', async () => {
  const state = await ReplayState.open(null, 'files', '');
  state.note(0, false);
  await state.end(false);
  expect(state.answered).toBe(1);
});
