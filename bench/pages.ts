/**
 * What every benchmark writes into the documentation, from its result: Markdown and charts. Pure.
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
import { ingestCharts, memoryCharts } from './ingest/figures.ts';
import { ingestParts, memoryParts } from './ingest/page.ts';
import type { IngestResult, MemoryResult } from './ingest/result.ts';
import { limitsParts } from './limits/page.ts';
import type { LimitsResult } from './limits.ts';
import { loopDelayParts } from './loop-delay/page.ts';
import type { LoopDelayResult } from './loop-delay.ts';
import { replaceMeasured } from './markdown.ts';
import { matchParts } from './match/page.ts';
import type { MatchResult } from './match.ts';
import { passParts } from './pass/page.ts';
import type { PassResult } from './pass.ts';
import { peersParts } from './peers/page.ts';
import type { PeersResult } from './peers.ts';
import { previewParts } from './preview/page.ts';
import type { PreviewResult } from './preview.ts';
import { relayParts } from './relay/page.ts';
import type { RelayResult } from './relay.ts';

export interface Results {
  readonly ingest: IngestResult;
  readonly 'ingest-memory': MemoryResult;
  readonly fairness: FairnessResult;
  readonly 'fairness-pass': FairnessPassResult;
  readonly 'fairness-reads': FairnessReadsResult;
  readonly 'loop-delay': LoopDelayResult;
  readonly limits: LimitsResult;
  readonly 'limits-small-exports': LimitsResult;
  readonly match: MatchResult;
  readonly pass: PassResult;
  readonly peers: PeersResult;
  readonly preview: PreviewResult;
  readonly relay: RelayResult;
  readonly dashboard: DashboardResult;
  readonly capacity: CapacityResult;
}

export type ResultName = keyof Results;

interface Page<R> {
  /** the document, from the repository's root */
  readonly path: string;
  /** Markdown by the name in the document's markers */
  readonly parts: (result: R) => ReadonlyMap<string, string>;
  /** SVG by the name of the file in docs/images */
  readonly charts?: (result: R) => ReadonlyMap<string, string>;
}

const PERFORMANCE = 'docs/performance.md';
const MATCHING = 'docs/matching.md';

const PAGES: { readonly [N in ResultName]: Page<Results[N]> } = {
  ingest: { path: PERFORMANCE, parts: ingestParts, charts: ingestCharts },
  'ingest-memory': { path: PERFORMANCE, parts: memoryParts, charts: memoryCharts },
  fairness: { path: PERFORMANCE, parts: fairnessParts },
  'fairness-pass': { path: PERFORMANCE, parts: fairnessPassParts },
  'fairness-reads': { path: PERFORMANCE, parts: fairnessReadsParts },
  'loop-delay': { path: PERFORMANCE, parts: loopDelayParts },
  peers: { path: PERFORMANCE, parts: peersParts },
  preview: { path: PERFORMANCE, parts: previewParts },
  relay: { path: PERFORMANCE, parts: relayParts },
  dashboard: { path: PERFORMANCE, parts: dashboardParts },
  limits: { path: 'docs/limits.md', parts: limitsParts },
  'limits-small-exports': { path: 'docs/limits.md', parts: limitsParts },
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
  peers: [...INGEST_CODE, 'bench/peers', 'bench/peers.ts'],
  limits: ['src/http/limits', 'bench/limits', 'bench/limits.ts'],
  'limits-small-exports': ['src/http/limits', 'bench/limits', 'bench/limits.ts'],
  match: [...MATCH_CODE, 'bench/match.ts'],
  pass: [...PASS_CODE, 'bench/pass.ts'],
  preview: [
    ...MATCH_CODE,
    'src/pool',
    'src/reads',
    'src/db/previews',
    'src/db/runs',
    'bench/preview',
    'bench/preview.ts',
  ],
  capacity: [...INGEST_CODE, ...PASS_CODE, 'bench/capacity', 'bench/capacity.ts'],
  relay: ['src/relay', ...INGEST_CODE, 'bench/relay', 'bench/relay.ts'],
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
 * The files that a result changes, as they are with it.
 *
 * @param read the present text of a file
 * @returns text by path from the repository's root
 */
export function documentsOf<N extends ResultName>(
  name: N,
  result: Results[N],
  read: (path: string) => string,
): Map<string, string> {
  const { path, parts, charts } = PAGES[name];
  let page = read(path);
  for (const [part, content] of parts(result)) page = replaceMeasured(page, part, content);
  const images = [...(charts?.(result) ?? [])].map(
    ([file, svg]) => [`docs/images/${file}`, svg] as const,
  );
  return new Map([[path, page], ...images]);
}
