/**
 * `sluice rules preview`: what rules would have found in stored runs, matched by this command. It writes
 * nothing; the result is not kept. Also of another corpus than the pinned one, from a folder.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Database } from '../../db/database.ts';
import { readRuleSettings } from '../../db/findings/rule-settings.ts';
import { findWorkspace } from '../../db/people/workspaces.ts';
import {
  countPreviewRuns,
  lastDays,
  type PreviewCursor,
  type PreviewRange,
  readPreviewRuns,
} from '../../db/previews/preview-queue.ts';
import { buildManifest, verifyCorpus } from '../../engine/corpus/corpus.ts';
import { createPatternCompiler } from '../../engine/matcher/pattern.ts';
import { createFastMatcher, tablesOf } from '../../engine/prefilter/fast-matcher.ts';
import { createCatalog } from '../../engine/rules/catalog.ts';
import { createRuleBook } from '../../engine/rules/rule-book.ts';
import { OperatorError } from '../../errors.ts';
import { pinnedCorpus } from '../../main/corpus-location.ts';
import {
  addTallies,
  EMPTY_TALLY,
  findingsPerDay,
  noisiestOf,
  PREVIEW_DAYS_DEFAULT,
  PREVIEW_DAYS_MAX,
  type PreviewTally,
  tierRules,
} from '../../model/previews.ts';
import type { Rule, RuleBook, RuleSettings } from '../../model/rules.ts';
import { loadKeptCatalog } from '../../pool/kept-catalog.ts';
import { previewRuns } from '../../pool/preview/preview-batch.ts';
import { createThreadClock } from '../../pool/thread-cpu.ts';
import { note } from '../../terminal/output.ts';
import { answer, type OutputOptions, renderTable } from '../answer.ts';
import { ruleIdArgument, wholeNumber } from '../command.ts';
import { falsePositives } from '../rule-text.ts';
import { withDatabase } from '../with-database.ts';

interface PreviewOptions extends OutputOptions {
  readonly rule?: string;
  readonly experimental?: boolean;
  readonly corpus?: string;
  readonly days: number;
  readonly workspace?: string;
}

const PAGE_RUNS = 64;
const PROGRESS_MS = 2000;
/** A folder has no archive whose integrity could be compared; what it holds is only counted. */
const NO_INTEGRITY = `sha512-${'A'.repeat(86)}==`;

/** The rules of a folder: an unpacked package, classified and tried here. Takes seconds. */
function corpusOf(folder: string): RuleBook {
  if (!existsSync(join(folder, 'package.json')) || !existsSync(join(folder, 'rules'))) {
    throw new OperatorError(`${folder} is no unpacked corpus: it needs package.json and rules/`);
  }
  return createRuleBook(createCatalog(verifyCorpus(folder, buildManifest(folder, NO_INTEGRITY))));
}

function wantedRules(
  book: RuleBook,
  settings: RuleSettings,
  { rule: id, corpus }: PreviewOptions,
): readonly Rule[] {
  if (id !== undefined) {
    const rule = book.find(id);
    if (rule === null) {
      throw new OperatorError(`Corpus ${book.snapshot.version} has no rule ${id}`);
    }
    const refused = book.refusal(rule);
    if (refused !== null) throw new OperatorError(refused.detail);
    return [rule];
  }
  if (corpus === undefined) return tierRules(book, settings);
  return book.rules.filter((rule) => book.decide(rule, settings).enabled);
}

async function matchAll(
  database: Database,
  range: PreviewRange,
  sample: number,
  batch: (runs: Parameters<typeof previewRuns>[0]) => ReturnType<typeof previewRuns>,
  onProgress: (tally: PreviewTally) => void,
): Promise<PreviewTally> {
  let tally = EMPTY_TALLY;
  let cursor: PreviewCursor | null = null;
  for (;;) {
    const runs = await readPreviewRuns(database, range, sample, cursor, PAGE_RUNS);
    if (runs.length === 0) return tally;
    const done = await batch(runs);
    const last = runs[done.runs - 1];
    if (last === undefined) throw new RangeError('a batch of a preview did nothing');
    cursor = { atMicros: last.atMicros, runId: last.runId };
    tally = addTallies(tally, done.tally);
    onProgress(tally);
  }
}

/** Writes a line on standard error, every few seconds at most. */
function createProgress(planned: number): (tally: PreviewTally) => void {
  let shownAtMs = performance.now();
  return ({ read, skipped }) => {
    if (performance.now() - shownAtMs < PROGRESS_MS) return;
    shownAtMs = performance.now();
    note(`${read + skipped} of ${planned} runs`);
  };
}

const percent = (part: number, whole: number): number =>
  whole === 0 ? 0 : Number(((100 * part) / whole).toFixed(2));

async function preview(options: PreviewOptions): Promise<void> {
  await withDatabase(async ({ database }, config) => {
    const { id, slug } = await findWorkspace(database, options.workspace ?? null);
    const settings = await readRuleSettings(database, id);
    const pinned = createRuleBook(loadKeptCatalog(pinnedCorpus()));
    const book = options.corpus === undefined ? pinned : corpusOf(options.corpus);
    const rules = wantedRules(book, settings, options);
    const compile = createPatternCompiler();
    const matcher = createFastMatcher(rules, compile, tablesOf(rules));
    const cpuMs = createThreadClock();
    const range = await lastDays(database, id, options.days);
    const { inRange, oldestDays, sample, planned } = await countPreviewRuns(database, range);
    const tally = await matchAll(
      database,
      range,
      sample,
      (runs) =>
        previewRuns(runs, () => true, {
          database,
          matcher,
          settings: config,
          cpuMs,
          work: async (evaluation, cpuMaxMs) => {
            const until = performance.now() + cpuMaxMs;
            return evaluation.work(() => performance.now() >= until);
          },
        }),
      createProgress(planned),
    );
    report(options, { slug, book, pinned, settings, inRange, oldestDays, planned, tally, rules });
  });
}

interface Report {
  readonly slug: string;
  readonly book: RuleBook;
  readonly pinned: RuleBook;
  readonly settings: RuleSettings;
  readonly inRange: number;
  readonly oldestDays: number | null;
  readonly planned: number;
  readonly tally: PreviewTally;
  readonly rules: readonly Rule[];
}

function report(options: PreviewOptions, facts: Report): void {
  const { slug, book, pinned, settings, inRange, oldestDays, planned, tally, rules } = facts;
  const running = new Set(
    pinned.rules.filter((rule) => pinned.decide(rule, settings).enabled).map(({ id }) => id),
  );
  const spread = { tally, runsInRange: inRange, oldestDays, days: options.days };
  const perDay = (runs: number) => Number(findingsPerDay(runs, spread).toFixed(2));
  const found = noisiestOf({ tally }).flatMap(({ ruleId, runs, examples }) => {
    const rule = book.find(ruleId);
    if (rule === null) return [];
    const facts = { percent_of_runs: percent(runs, tally.read), findings_per_day: perDay(runs) };
    return [{ rule, runs, examples, facts, runsNow: running.has(ruleId) }];
  });
  const answered = {
    workspace: slug,
    corpus: book.snapshot.version,
    rules_matched: rules.length,
    days: options.days,
    runs_in_range: inRange,
    runs_planned: planned,
    runs_read: tally.read,
    runs_with_finding: tally.found,
    runs_too_large: tally.skipped,
    runs_not_finished: tally.cut,
    cpu_ms: Math.round(tally.cpuMs),
    rules: found.map(({ rule, runs, examples, facts, runsNow }) => ({
      id: rule.id,
      title: rule.title,
      severity: rule.severity,
      runs,
      ...facts,
      runs_now: runsNow,
      examples: examples.map(({ runId, step, surface }) => ({ run_id: runId, step, surface })),
    })),
  };
  answer(options, answered, () =>
    [
      renderTable(found, [
        { title: 'RULE', cell: ({ rule }) => rule.id },
        { title: 'SEVERITY', cell: ({ rule }) => rule.severity },
        { title: 'RUNS', align: 'right', cell: ({ runs }) => String(runs) },
        { title: 'SHARE', align: 'right', cell: ({ facts }) => `${facts.percent_of_runs}%` },
        { title: 'A DAY', align: 'right', cell: ({ facts }) => String(facts.findings_per_day) },
        {
          title: 'FALSE POS',
          align: 'right',
          cell: ({ rule }) => falsePositives(rule.quality.wildFpRate),
        },
        { title: 'NOW', cell: ({ runsNow }) => (runsNow ? 'on' : 'off') },
        { title: 'TITLE', shrinks: true, cell: ({ rule }) => rule.title },
      ]),
      '',
      `${rules.length} rules matched against ${tally.read} of ${inRange} runs of ${options.days} days; ` +
        `${tally.found} (${percent(tally.found, tally.read)}%) would have a finding`,
      ...(tally.skipped === 0 ? [] : [`${tally.skipped} runs are too large and were left out`]),
      ...(tally.cut === 0 ? [] : [`${tally.cut} runs were matched in part`]),
    ].join('\n'),
  );
}

export function addPreviewCommand(rules: Command): void {
  rules
    .command('preview')
    .description('what rules would have found in stored runs; nothing is stored')
    .option('--rule <id>', 'one rule', ruleIdArgument)
    .option('--experimental', 'the experimental tier; this is the default')
    .option('--corpus <folder>', 'the rules of an unpacked package that would run here')
    .option(
      '--days <number>',
      'evaluated runs of the last days',
      wholeNumber(PREVIEW_DAYS_MAX),
      PREVIEW_DAYS_DEFAULT,
    )
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nProgress goes to standard error. Of more than 100,000 runs a sample is matched.\n\n' +
        'Examples:\n  sluice rules preview --days 30\n' +
        '  sluice rules preview --rule ATR-2026-00061\n' +
        '  sluice rules preview --corpus ./agent-threat-rules-5.0.0 --json',
    )
    .action(async (options: PreviewOptions) => {
      if (options.experimental === true && (options.rule ?? options.corpus) !== undefined) {
        throw new OperatorError('--experimental goes with neither --rule nor --corpus');
      }
      await preview(options);
    });
}
