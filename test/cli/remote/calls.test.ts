/** What a command takes as an answer of a server of another version. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parts } from '../../../src/cli/remote/calls.ts';

const schema = z.object({
  runs: z.array(
    z.object({
      id: z.string().regex(/^[0-9a-f]+$/),
      state: z.enum(['open', 'over']),
      kind: z.literal('run'),
      steps: z.int().min(0),
      note: z.string().nullable(),
      by_day: z.partialRecord(z.enum(['low', 'high']), z.int()).optional(),
    }),
  ),
});

test('later servers may have other words and further members, earlier ones lack what may be null', () => {
  const run = { id: 'x', state: 'paused', kind: 'chat', steps: 1.5, by_day: { worse: 2 }, more: 1 };
  expect(parts(schema, { runs: [run], total: 1 })).toEqual({
    runs: [{ ...run, note: null }],
    total: 1,
  });
});

test.each([
  ['a missing member', { runs: [{ id: 'a', state: 'open', kind: 'run' }] }],
  ['a member of another type', { runs: 'none' }],
  ['no object', null],
])('%s is an error that names it', (_what, body) => {
  expect(() => parts(schema, body)).toThrow(/not what this version of sluice expects:\n✖ /);
});
