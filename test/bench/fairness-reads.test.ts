/** What the benchmark of reads beside reads writes: its table, and whether its target is reached. */
import { expect, test } from 'vitest';
import type { FairnessReadsResult, ReadLoad } from '../../bench/fairness/reads.ts';
import { fairnessReadsParts } from '../../bench/fairness/reads-page.ts';

const MACHINE = {
  cpu: 'a CPU',
  cores: 2,
  memoryGib: 8,
  kernel: '6.1',
  node: 'v20.0.0',
  loadBefore: 0.1,
  at: '2026-11-21T10:00:00.000Z',
  commit: '0123456789',
};

const load = (p99: number, refused = 0): ReadLoad => ({
  latency: { p50: 2, p95: 3, p99, max: p99, count: 100 },
  refused,
});

function textOf(besides: readonly ReadLoad[]): string {
  const result: FairnessReadsResult = {
    name: 'fairness-reads',
    machine: MACHINE,
    rounds: besides.length,
    seconds: 8,
    findings: 200_000,
    quietFindings: 20_000,
    exportsAtOnce: 4,
    searchesAtOnce: 30,
    measured: besides.map((beside) => ({
      alone: load(10),
      beside,
      searches: load(100),
      exports: load(1000),
    })),
  };
  return fairnessReadsParts(result).get('fairness-reads') ?? '';
}

test('the target is reached at five times, and missed above it or with one refusal', () => {
  expect(textOf([load(50)])).toContain('5.0 times, 0 refused, reached.');
  expect(textOf([load(51)])).toContain('5.1 times, 0 refused, **missed**.');
  expect(textOf([load(50), load(20), load(30, 1)])).toContain('3.0 times, 1 refused, **missed**.');
});

test('the table has a line for each kind of read', () => {
  const text = textOf([load(50), load(30)]);
  expect(text).toContain('| the quiet one, beside the others | 200 | 2.0 | 40 | 40 | 0 | 50 30 |');
  expect(text).toContain(
    '| 4 exports that match nothing | 200 | 2.0 | 1000 | 1000 | 0 | 1000 1000 |',
  );
});
