/**
 * Agent runs as `bench/agent-runs/` makes them, for a pass: whole runs in each request, and the findings
 * that the same steps have here, without server and database.
 */

import { parseScanInput } from '../../src/cli/scan-input.ts';
import type { RunData } from '../agent-runs/data.ts';
import { spansPerRun, wholeRunsBody } from '../agent-runs/runs.ts';
import { type BenchRuns, createJudge } from './runs.ts';

interface Amount {
  readonly bodies: number;
  readonly runsPerBody: number;
}

/** Some 50 MB of requests of each data, of service requests 15 MB. */
const AMOUNTS: Readonly<Record<RunData, Amount>> = {
  plain: { bodies: 60, runsPerBody: 50 },
  conv3: { bodies: 72, runsPerBody: 15 },
  conv10: { bodies: 48, runsPerBody: 5 },
  conv30: { bodies: 36, runsPerBody: 1 },
};

/** @returns the share of the usual amount that has so many runs */
export const shareOf = (data: RunData, runs: number): number =>
  runs / (AMOUNTS[data].bodies * AMOUNTS[data].runsPerBody);

/** @param share of the usual amount */
export function agentRuns(data: RunData, share: number, judge = createJudge()): BenchRuns {
  const { bodies: all, runsPerBody } = AMOUNTS[data];
  const bodies = Array.from({ length: Math.ceil(all * share) }, (_, seed) =>
    wholeRunsBody(data, seed, runsPerBody),
  );
  let textBytes = 0;
  const findings = bodies.flatMap((body) => {
    const input = parseScanInput(body);
    if (input.kind !== 'runs') throw new Error('a body is no export');
    return [...input.runs].flatMap(([runId, steps]) => {
      const { bytes, ruleIds } = judge(steps);
      textBytes += bytes;
      return ruleIds.map((ruleId) => `${runId}, ${ruleId}`);
    });
  });
  const runs = bodies.length * runsPerBody;
  return {
    runs,
    spans: runs * spansPerRun(data),
    planted: 0,
    hit: new Set(findings.map((one) => one.slice(0, 32))).size,
    bodies,
    textBytes,
    findings: findings.sort(),
  };
}
