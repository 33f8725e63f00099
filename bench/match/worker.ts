/** One worker of the matching benchmark: makes the matcher from tables, matches when it is told to. */

import { createPatternCompiler } from '../../src/engine/matcher/pattern.ts';
import { createFastMatcher } from '../../src/engine/prefilter/fast-matcher.ts';
import type { Order, Report } from './workers.ts';

const SETTINGS = { enabled: () => true, capBytes: 65_536 };
/** Turns that compile what the texts ask for, and let V8 compile the matcher. */
const TURNS_BEFORE = 3;

const tell = (report: Report) => process.send?.(report);
let turn = () => {};
let turnBytes = 0;

process.on('message', (order: Order) => {
  if (order.kind === 'match') {
    const startedAt = performance.now();
    let turns = 0;
    for (; performance.now() - startedAt < order.forMs; turns += 1) turn();
    const seconds = (performance.now() - startedAt) / 1000;
    tell({ kind: 'matched', mbPerSecond: (turnBytes * turns) / 1e6 / seconds });
    return;
  }
  const { rules, tables, texts } = order;
  const startedAt = performance.now();
  const matcher = createFastMatcher(rules, createPatternCompiler(), tables);
  const buildMs = performance.now() - startedAt;
  turnBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  turn = () => {
    for (const text of texts) matcher.match([{ step: 0, surface: 'tool_result', text }], SETTINGS);
  };
  for (let count = 0; count < TURNS_BEFORE; count += 1) turn();
  tell({ kind: 'ready', buildMs, residentMb: process.memoryUsage().rss / 2 ** 20 });
});
process.on('disconnect', () => process.exit());
