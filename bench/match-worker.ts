/** One worker of the matching benchmark: builds the matcher, matches, tells time and memory. */
import { createFastMatcher } from '../src/engine/fast/fast-matcher.ts';
import type { Rule } from '../src/model.ts';
import type { WorkerFacts } from './match.ts';

/** Bytes matched while the clock runs, after one turn that compiles what the texts ask for. */
const BYTES = 6_000_000;
const SETTINGS = { enabled: () => true, capBytes: 65_536 };

process.once('message', (message) => {
  const { rules, texts } = message as { rules: readonly Rule[]; texts: readonly string[] };
  const startedAt = performance.now();
  const matcher = createFastMatcher(rules);
  const buildMs = Math.round(performance.now() - startedAt);
  const turn = () => {
    for (const text of texts) matcher.match([{ step: 0, surface: 'tool_result', text }], SETTINGS);
  };
  turn();
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const turns = Math.ceil(BYTES / bytes);
  const matchedAt = performance.now();
  for (let count = 0; count < turns; count += 1) turn();
  const seconds = (performance.now() - matchedAt) / 1000;
  const facts: WorkerFacts = {
    buildMs,
    residentMb: Math.round(process.memoryUsage().rss / 2 ** 20),
    mbPerSecond: Number(((bytes * turns) / 1e6 / seconds).toFixed(2)),
  };
  process.send?.(facts, () => process.exit(0));
});
