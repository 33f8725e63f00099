/** What the benchmark of a pass writes. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { RUN_DATA } from '../../bench/agent-runs/data.ts';
import { passParts } from '../../bench/pass/page.ts';
import type { PassResult } from '../../bench/pass.ts';

const { agentRuns: _, ...before } = JSON.parse(
  readFileSync(new URL('../../bench/results/pass.json', import.meta.url), 'utf8'),
) as PassResult;

test('a result from before agent runs were measured says that they are missing', () => {
  expect(passParts(before).get('pass')).toMatch(
    /\[agent runs\]\(\S+\):\n\nNot measured yet: plain, conv3, conv10, conv30\.$/,
  );
});

test('agent runs have a row for each kind, with medians and the rate of every round', () => {
  const agentRuns = RUN_DATA.map((name) => ({
    name,
    runs: 1080,
    spans: 6480,
    findings: 7,
    bodyMegabytes: 43.2,
    textMegabytes: 8.64,
    seconds: [4, 2, 5.4],
  }));
  const part = passParts({ ...before, agentRuns }).get('pass') ?? '';
  for (const name of RUN_DATA) {
    expect(part).toContain(
      `| ${name} | 1,080 | 6 | 40.0 | 8.0 | 7 | 270 | 10.8 | 2.2 | 270 540 200 |`,
    );
  }
  expect(part).not.toContain('Not measured yet');
});
