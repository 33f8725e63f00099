/**
 * What every benchmark writes into the documentation, from its result. Pure.
 */
import { capacityParts } from './capacity/page.ts';
import type { CapacityResult } from './capacity/result.ts';
import { dashboardParts } from './dashboard/page.ts';
import type { DashboardResult } from './dashboard.ts';
import type { FairnessResult } from './fairness/ingest.ts';
import { fairnessParts } from './fairness/ingest-page.ts';
import type { FairnessPassResult } from './fairness/pass.ts';
import { fairnessPassParts } from './fairness/pass-page.ts';
import type { FairnessReadsResult } from './fairness/reads.ts';
import { fairnessReadsParts } from './fairness/reads-page.ts';
import { ingestParts, memoryParts } from './ingest/page.ts';
import type { IngestResult, MemoryResult } from './ingest/result.ts';
import { loopDelayParts } from './loop-delay/page.ts';
import type { LoopDelayResult } from './loop-delay.ts';
import { replaceMeasured } from './markdown.ts';
import { matchParts } from './match/page.ts';
import type { MatchResult } from './match.ts';
import { passParts } from './pass/page.ts';
import type { PassResult } from './pass.ts';

export interface Results {
  readonly ingest: IngestResult;
  readonly 'ingest-memory': MemoryResult;
  readonly fairness: FairnessResult;
  readonly 'fairness-pass': FairnessPassResult;
  readonly 'fairness-reads': FairnessReadsResult;
  readonly 'loop-delay': LoopDelayResult;
  readonly match: MatchResult;
  readonly pass: PassResult;
  readonly dashboard: DashboardResult;
  readonly capacity: CapacityResult;
}

export type ResultName = keyof Results;

interface Page<R> {
  /** the document, from the repository's root */
  readonly path: string;
  /** Markdown by the name in the document's markers */
  readonly parts: (result: R) => ReadonlyMap<string, string>;
}

const PERFORMANCE = 'docs/performance.md';
const MATCHING = 'docs/matching.md';

const PAGES: { readonly [N in ResultName]: Page<Results[N]> } = {
  ingest: { path: PERFORMANCE, parts: ingestParts },
  'ingest-memory': { path: PERFORMANCE, parts: memoryParts },
  fairness: { path: PERFORMANCE, parts: fairnessParts },
  'fairness-pass': { path: PERFORMANCE, parts: fairnessPassParts },
  'fairness-reads': { path: PERFORMANCE, parts: fairnessReadsParts },
  'loop-delay': { path: PERFORMANCE, parts: loopDelayParts },
  dashboard: { path: PERFORMANCE, parts: dashboardParts },
  match: { path: MATCHING, parts: matchParts },
  pass: { path: MATCHING, parts: passParts },
  capacity: { path: 'docs/scaling.md', parts: capacityParts },
};

const INGEST_CODE = [
  'src/otlp',
  'src/ingest',
  'src/http/ingest',
  'src/http/limits',
  'src/http/transport',
  'src/db/telemetry',
  'src/db/pipeline.ts',
  'src/db/migrations',
  'src/main/http',
  'bench/agent-runs',
  'bench/bodies.ts',
  'bench/signal-bodies.ts',
  'bench/row-tables',
  'bench/stored-records.ts',
  'bench/ingest',
];
const MATCH_CODE = ['src/engine', 'package-lock.json', 'bench/match'];
const PASS_CODE = [
  ...MATCH_CODE,
  'src/pool',
  'src/reads',
  'src/db/runs',
  'src/db/findings',
  'bench/agent-runs',
  'bench/pass',
];

/** The files and folders whose changes make a result old: what is measured, and how. */
export const MEASURED_CODE: { readonly [N in ResultName]: readonly string[] } = {
  ingest: [...INGEST_CODE, 'bench/ingest.ts'],
  'ingest-memory': INGEST_CODE,
  fairness: [...INGEST_CODE, 'bench/fairness'],
  'fairness-pass': [...PASS_CODE, 'bench/fairness'],
  'fairness-reads': [
    'src/http/api',
    'src/db/findings',
    'src/db/runs',
    'src/db/connection-turns.ts',
    'src/main/connection-shares.ts',
    'bench/dashboard',
    'bench/fairness',
  ],
  'loop-delay': [...INGEST_CODE, 'bench/loop-delay', 'bench/loop-delay.ts'],
  match: [...MATCH_CODE, 'bench/match.ts'],
  pass: [...PASS_CODE, 'bench/pass.ts'],
  capacity: [...INGEST_CODE, ...PASS_CODE, 'bench/capacity', 'bench/capacity.ts'],
  dashboard: [
    'src/web/app',
    'src/http/dashboard',
    'src/reads',
    'src/db/findings',
    'src/db/runs',
    'bench/dashboard',
  ],
};

export const RESULT_NAMES = Object.keys(PAGES) as ResultName[];

/** The measured parts of a result, as they are printed. */
export function markdownOf<N extends ResultName>(name: N, result: Results[N]): string {
  return [...PAGES[name].parts(result).values()].join('\n\n');
}

/**
 * The document that a result changes, as it is with it.
 *
 * @param read the present text of a file
 */
export function documentOf<N extends ResultName>(
  name: N,
  result: Results[N],
  read: (path: string) => string,
): { readonly path: string; readonly text: string } {
  const { path, parts } = PAGES[name];
  let text = read(path);
  for (const [part, content] of parts(result)) text = replaceMeasured(text, part, content);
  return { path, text };
}
