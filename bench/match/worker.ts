/** One worker of the matching benchmark: builds its matcher from tables, and matches on request. */

import { createPatternCompiler } from '../../src/engine/matcher/pattern.ts';
import { createFastMatcher } from '../../src/engine/prefilter/fast-matcher.ts';
import { answerMessages } from '../child.ts';
import type { WorkerReply, WorkerRequest } from './workers.ts';

const SETTINGS = { enabled: () => true, capBytes: 65_536 };
/** Runs that compile the patterns these texts need, and let V8 compile the matcher. */
const WARM_UP_RUNS = 3;

let matchAll = () => {};
let bytes = 0;

answerMessages<WorkerRequest, WorkerReply>((request) => {
  const startedAt = performance.now();
  if (request.type === 'match') {
    let runs = 0;
    for (; performance.now() - startedAt < request.forMs; runs += 1) matchAll();
    const seconds = (performance.now() - startedAt) / 1000;
    return { type: 'matched', mbPerSecond: (bytes * runs) / 1e6 / seconds };
  }
  const { rules, tables, texts } = request;
  const matcher = createFastMatcher(rules, createPatternCompiler(), tables);
  const buildMs = performance.now() - startedAt;
  bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  matchAll = () => {
    for (const text of texts) matcher.match([{ step: 0, surface: 'tool_result', text }], SETTINGS);
  };
  for (let run = 0; run < WARM_UP_RUNS; run += 1) matchAll();
  return { type: 'ready', buildMs, residentMb: process.memoryUsage().rss / 2 ** 20 };
});
