/** One batch of a preview over stored runs, with a clock of CPU time that the test moves. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMatcher } from '../../../src/engine/matcher/matcher.ts';
import { previewRuns } from '../../../src/pool/preview/preview-batch.ts';
import { tinyRule } from '../../engine/tiny-rules.ts';
import { hex16, resourceRow, spanRow } from '../../support/rows.ts';
import { openStoredRun, RUN, type StoredRun } from '../../support/stored-runs.ts';

const RUNS = Array.from({ length: 4 }, (_, at) => ({ ...RUN, runId: hex16(at + 1) }));
const matcher = createMatcher([tinyRule({ conditions: [['content', 'secret']] })]);

let stored: StoredRun;

beforeAll(async () => {
  stored = await openStoredRun();
  await stored.store({
    resources: [resourceRow()],
    spans: RUNS.map(({ runId }) =>
      spanRow({ traceId: runId, attributes: '{"gen_ai.input.messages":"hello"}' }),
    ),
  });
});
afterAll(() => stored.scratch.close());

/** @param cpuMs of each run */
async function batchOf(cpuMs: number) {
  let used = 0;
  return await previewRuns(RUNS, () => true, {
    database: stored.scratch.database,
    matcher,
    settings: { surfaceCapBytes: 1000, excerptChars: 20 },
    cpuMs: () => used,
    work: async (evaluation) => {
      const isDone = evaluation.work(() => {
        used += cpuMs;
        return false;
      });
      return isDone;
    },
  });
}

test('a batch that has used up a second of CPU time ends with the run at hand', async () => {
  const { tally, ...short } = await batchOf(1);
  expect(short.runs).toBe(4);
  // Every run reads the clock equally often.
  const readings = tally.cpuMs / 4;
  expect((await batchOf(333 / readings)).runs).toBe(4);
  expect(await batchOf(334 / readings)).toMatchObject({ runs: 3, tally: { read: 3 } });
  expect(await batchOf(1000 / readings)).toMatchObject({ runs: 1, tally: { read: 1 } });
});
