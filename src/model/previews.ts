/**
 * Previews: what rules would have found in runs that are stored already. A preview writes no finding
 * and changes no run.
 *
 *   queued ──► running ──► done
 *     └───────────┴──────► cancelled, failed
 */
import type { Hex16 } from './json.ts';
import type { Rule, RuleBook, RuleSettings } from './rules.ts';
import type { Surface } from './steps.ts';

const PREVIEW_KINDS = ['rule', 'experimental'] as const;
export type PreviewKind = (typeof PREVIEW_KINDS)[number];

type PreviewState = 'queued' | 'running' | 'done' | 'cancelled' | 'failed';

export const PREVIEW_DAYS_DEFAULT = 7;
export const PREVIEW_DAYS_MAX = 90;
/** Runs that a preview matches; of more, a sample by the hash of their ids. */
export const PREVIEW_RUNS_MAX = 100_000;
const PREVIEW_EXAMPLES_MAX = 3;
/** A sample is counted in ten-thousandths of the runs. */
export const SAMPLE_WHOLE = 10_000;

/** Where a rule would match: never the text itself, which the run's page shows or redacts. */
export interface PreviewExample {
  readonly runId: Hex16;
  /** number of the step in its run, from 1 */
  readonly step: number;
  readonly surface: Surface;
}

/** The findings that one rule would have had: one for each run. */
export interface RuleTally {
  readonly runs: number;
  readonly examples: readonly PreviewExample[];
}

/** Counts of a preview; those of a part of it add up. */
export interface PreviewTally {
  readonly read: number;
  /** of these, runs that at least one rule matches */
  readonly found: number;
  /** runs that are larger than a preview reads */
  readonly skipped: number;
  /** runs that were not matched whole: their time was used up, a pattern failed, or a block could not be read */
  readonly cut: number;
  /** CPU time of reading texts and matching */
  readonly cpuMs: number;
  readonly rules: Readonly<Record<string, RuleTally>>;
}

export const EMPTY_TALLY: PreviewTally = {
  read: 0,
  found: 0,
  skipped: 0,
  cut: 0,
  cpuMs: 0,
  rules: {},
};

/** The sum of two parts; of each rule the first examples are kept. */
export function addTallies(a: PreviewTally, b: PreviewTally): PreviewTally {
  const rules = { ...a.rules };
  for (const [id, { runs, examples }] of Object.entries(b.rules)) {
    const before = rules[id] ?? { runs: 0, examples: [] };
    rules[id] = {
      runs: before.runs + runs,
      examples: [...before.examples, ...examples].slice(0, PREVIEW_EXAMPLES_MAX),
    };
  }
  return {
    read: a.read + b.read,
    found: a.found + b.found,
    skipped: a.skipped + b.skipped,
    cut: a.cut + b.cut,
    cpuMs: a.cpuMs + b.cpuMs,
    rules,
  };
}

export interface Preview {
  readonly id: Hex16;
  readonly kind: PreviewKind;
  readonly ruleIds: readonly string[];
  readonly days: number;
  readonly requestedBy: string;
  readonly requestedAt: Date;
  readonly state: PreviewState;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly failure: string | null;
  readonly corpusVersion: string;
  /** 40 hexadecimal digits */
  readonly corpusIdentity: string;
  /** evaluated runs of those days; null before the start */
  readonly runsInRange: number | null;
  /** how many days before the request the oldest of them arrived; null before the start and without runs */
  readonly oldestDays: number | null;
  /** of how many in `SAMPLE_WHOLE` the steps are matched */
  readonly sample: number | null;
  /** runs that are looked at, about */
  readonly runsPlanned: number | null;
  readonly tally: PreviewTally;
}

/** The days that the runs of a preview are spread over: an hour at least, and at most those requested. */
export function coveredDays(oldest: number | null, requested: number): number {
  return oldest === null ? requested : Math.min(requested, Math.max(oldest, 1 / 24));
}

export function isOpen({ state }: Pick<Preview, 'state'>): boolean {
  return state === 'queued' || state === 'running';
}

/** Findings that a day would have brought, from the part of the runs that was looked at. */
export function findingsPerDay(
  runs: number,
  {
    tally: { read, skipped },
    runsInRange,
    oldestDays,
    days,
  }: Pick<Preview, 'runsInRange' | 'oldestDays' | 'days'> & {
    readonly tally: Pick<PreviewTally, 'read' | 'skipped'>;
  },
): number {
  const looked = read + skipped;
  if (looked === 0 || runsInRange === null) return 0;
  // A preview that was cancelled or sampled saw a part of the runs; a young workspace has fewer days than requested.
  return ((runs / looked) * runsInRange) / coveredDays(oldestDays, days);
}

/** The rules that would have found something, the one with the most runs first. */
export function noisiestOf({ tally }: Pick<Preview, 'tally'>): (RuleTally & { ruleId: string })[] {
  return Object.entries(tally.rules)
    .map(([ruleId, rule]) => ({ ruleId, ...rule }))
    .sort((a, b) => b.runs - a.runs || (a.ruleId < b.ruleId ? -1 : 1));
}

export interface PreviewedRule {
  readonly runs: number;
  /** of 100 runs that were matched */
  readonly percent: number;
  readonly perDay: number;
}

/** A rule in two previews; null in one that did not have it. */
export interface RuleDifference {
  readonly ruleId: string;
  readonly a: PreviewedRule | null;
  readonly b: PreviewedRule | null;
}

function previewedRule(ruleId: string, preview: Preview): PreviewedRule | null {
  if (!preview.ruleIds.includes(ruleId)) return null;
  const runs = preview.tally.rules[ruleId]?.runs ?? 0;
  const { read } = preview.tally;
  const percent = read === 0 ? 0 : (100 * runs) / read;
  return { runs, percent, perDay: findingsPerDay(runs, preview) };
}

/**
 * The rules that matched different shares of the runs in two previews, the greatest difference first, and
 * how many rules matched the same share in both. A rule that matched nothing wherever it was is neither.
 */
export function comparePreviews(
  a: Preview,
  b: Preview,
): { readonly differing: readonly RuleDifference[]; readonly equal: number } {
  const ids = new Set([...Object.keys(a.tally.rules), ...Object.keys(b.tally.rules)]);
  const found = [...ids].map((ruleId) => {
    return { ruleId, a: previewedRule(ruleId, a), b: previewedRule(ruleId, b) };
  });
  const gap = (one: RuleDifference): number =>
    Math.abs((one.b?.percent ?? 0) - (one.a?.percent ?? 0));
  const differing = found
    .filter((one) => gap(one) > 0)
    .sort((x, y) => gap(y) - gap(x) || (x.ruleId < y.ruleId ? -1 : 1));
  return { differing, equal: found.length - differing.length };
}

/** The rules that the experimental tier switches on in a workspace. */
export function tierRules({ rules, decide }: RuleBook, { overrides }: RuleSettings): Rule[] {
  const on = { experimental: true, overrides };
  return rules.filter((rule) => {
    const { enabled, decidedBy } = decide(rule, on);
    return rule.status === 'experimental' && enabled && decidedBy === 'tier';
  });
}

/** Most rules that are suggested to be left off, and that one form leaves off. */
export const LEAVE_OFF_MAX = 50;
/** Share of the runs from which on a rule is suggested. */
const NOISY_PERCENT = 1;
/** With fewer runs, one attack looks like noise. */
export const PREVIEW_RUNS_ENOUGH = 100;

/** A rule that matched often in a preview. */
export interface NoisyRule {
  readonly ruleId: string;
  readonly runs: number;
  readonly percentOfRuns: number;
}

/** The rules that match at least one in a hundred runs of a preview; none of a preview of few runs. */
export function noisyRules(
  rules: readonly Pick<Rule, 'id'>[],
  preview: Pick<Preview, 'tally'> | null,
): NoisyRule[] {
  if (preview === null || preview.tally.read < PREVIEW_RUNS_ENOUGH) return [];
  const ids = new Set(rules.map(({ id }) => id));
  return noisiestOf(preview)
    .map(({ ruleId, runs }) => ({
      ruleId,
      runs,
      percentOfRuns: (100 * runs) / preview.tally.read,
    }))
    .filter(({ ruleId, percentOfRuns }) => ids.has(ruleId) && percentOfRuns >= NOISY_PERCENT)
    .slice(0, LEAVE_OFF_MAX);
}

export function percentDone({ runsPlanned, tally, state }: Preview): number {
  if (state === 'done') return 100;
  if (runsPlanned === null) return 0;
  const looked = tally.read + tally.skipped;
  return Math.min(99, Math.floor((100 * looked) / Math.max(1, runsPlanned)));
}
