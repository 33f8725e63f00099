import type { Profiler } from 'node:inspector';
import { expect, it } from 'vitest';
import { barsOf, samplesByStage } from '../../bench/stages.ts';

function node(id: number, functionName: string, url: string, children: number[] = []) {
  const callFrame = { functionName, url, scriptId: '', lineNumber: 0, columnNumber: 0 };
  return { id, callFrame, children } satisfies Profiler.ProfileNode;
}

it('a sample counts for the innermost file that has a stage; idle ones count for none', () => {
  const nodes = [
    node(1, '(root)', '', [2, 6, 7, 8]),
    node(2, 'evaluate', 'file:///x/src/engine/evaluate.ts', [3]),
    node(3, 'prepareText', 'file:///x/src/engine/matcher/prepared-text.ts', [4, 5]),
    node(4, 'from', 'node:buffer'),
    node(5, 'wasm-function[0]', 'wasm://wasm/ae068a02'),
    node(6, '(idle)', ''),
    node(7, '(garbage collector)', ''),
    node(8, 'run', 'file:///x/bench/stages.ts'),
  ];
  const profile = { nodes, samples: [2, 3, 4, 4, 5, 6, 6, 7, 8], startTime: 0, endTime: 1 };
  expect([...samplesByStage(profile)]).toEqual([
    ['rules, hits, places', 1],
    ['fold: UTF-8, normalised text', 3],
    ['literals', 1],
    ['garbage collection', 1],
    ['other', 1],
  ]);
});

it('the longest bar is that of the most expensive stage, which comes first', () => {
  const bars = barsOf([
    { name: 'RE2', micros: 0.01 },
    { name: 'surfaces', micros: 80 },
    { name: 'literals', micros: 40 },
  ]);
  expect(bars).toBe(
    `${'surfaces'.padEnd(30)}    80.0 µs  ${'█'.repeat(40)}\n` +
      `${'literals'.padEnd(30)}    40.0 µs  ${'█'.repeat(20)}\n` +
      `${'RE2'.padEnd(30)}     0.0 µs  █\n`,
  );
});
