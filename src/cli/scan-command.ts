/** `sluice scan`: matches the rules against a file or standard input, without a server. */
import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';

import { readConfig } from '../config.ts';
import { evaluateRun } from '../engine/evaluate.ts';
import { excerptOf } from '../engine/matcher/excerpt.ts';
import { createMatcher, type Matcher } from '../engine/matcher/matcher.ts';
import { decide, runnableRules } from '../engine/rules/effective-set.ts';
import { OperatorError } from '../errors.ts';
import { pinnedCorpus } from '../main/corpus-location.ts';
import type { Rule, RuleSettings } from '../model/rules.ts';
import { SURFACES, type Surface } from '../model/steps.ts';
import type { Rejection } from '../model/telemetry.ts';
import { loadKeptCatalog, type RuleChoice } from '../pool/kept-catalog.ts';
import { paint } from '../terminal/paint.ts';
import { answer, type OutputOptions } from './answer.ts';
import { parseScanInput, type ScanInput } from './scan-input.ts';
import { renderTable } from './table.ts';
import { verdictOf } from './verdict.ts';

interface ScanOptions extends OutputOptions {
  readonly surface?: Surface;
  readonly experimental?: boolean;
  readonly rule?: readonly string[];
}

interface ScanHit {
  readonly run: string | null;
  readonly rule: string;
  readonly severity: string;
  readonly surface: Surface;
  /** every surface on which the rule would hit this text */
  readonly surfaces: readonly Surface[];
  readonly title: string;
  readonly excerpt: string;
}

const STANDARD_INPUT = 0;

function readInput(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? STANDARD_INPUT : file);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new OperatorError(`Cannot read ${file}: ${why}`, { cause: error });
  }
}

/** The hits of a scan, and everything that it could not examine. */
interface ScanResult {
  readonly hits: readonly ScanHit[];
  /** rules that could be called neither hit nor clean */
  readonly undecided: readonly string[];
  /** texts longer than SURFACE_CAP_BYTES, examined in part */
  readonly truncated: number;
  readonly rejected: readonly Rejection[];
}

type Enabled = (ruleIndex: number) => boolean;

function scanText(
  text: string,
  surfaces: readonly Surface[],
  matcher: Matcher,
  enabled: Enabled,
): ScanResult {
  const { surfaceCapBytes, excerptChars } = readConfig(process.env);
  const texts = surfaces.map((surface) => ({ step: 0, surface, text }));
  const result = matcher.match(texts, { enabled, capBytes: surfaceCapBytes });
  const hits = result.hits.flatMap((hit) => {
    const rule = matcher.rules[hit.ruleIndex];
    const surface = texts[hit.textIndex]?.surface;
    if (rule === undefined || surface === undefined) return [];
    const excerpt = excerptOf(text, hit, excerptChars);
    const { id, severity, title } = rule;
    const on = surfaces.filter((one) => hitsOn(rule, one, text, surfaceCapBytes));
    return [{ run: null, rule: id, severity, surface, surfaces: on, title, excerpt }];
  });
  const undecided = result.undecided.flatMap(({ ruleIndex }) => matcher.rules[ruleIndex]?.id ?? []);
  return { hits, undecided, truncated: result.truncated, rejected: [] };
}

function scanRuns(
  { runs, rejections }: Extract<ScanInput, { kind: 'runs' }>,
  matcher: Matcher,
  enabled: Enabled,
): ScanResult {
  const settings = readConfig(process.env);
  const titles = new Map(matcher.rules.map(({ id, title }) => [id, title]));
  const evaluations = [...runs].map(([run, steps]) => ({
    run,
    ...evaluateRun(steps, matcher, enabled, settings),
  }));
  return {
    hits: evaluations.flatMap(({ run, findings }) =>
      findings.map(({ ruleId, severity, surface, excerpt }) => {
        const title = titles.get(ruleId) ?? '';
        return { run, rule: ruleId, severity, surface, surfaces: [surface], title, excerpt };
      }),
    ),
    undecided: evaluations.flatMap(({ undecided }) => undecided.map(({ ruleId }) => ruleId)),
    truncated: evaluations.reduce((sum, { truncated }) => sum + truncated, 0),
    rejected: rejections,
  };
}

/** Why a result without hits does not mean that the input is clean. */
function reservations({ undecided, truncated, rejected }: ScanResult): string[] {
  const count = rejected.reduce((sum, one) => sum + one.count, 0);
  return [
    ...(undecided.length > 0
      ? [`${undecided.length} rules undecided: ${undecided.join(', ')}`]
      : []),
    ...(truncated > 0 ? [`${truncated} texts are longer than SURFACE_CAP_BYTES and were cut`] : []),
    ...(count > 0
      ? [`${count} records not read: ${rejected.map((one) => one.reason).join(', ')}`]
      : []),
  ];
}

function render(result: ScanResult, rulesTried: number): string {
  const { hits } = result;
  const tried = `${rulesTried} rules tried`;
  const notes = reservations(result).map((note) => paint.yellow(note));
  if (hits.length === 0) {
    return [`${paint.green('No rule matches.')} ${paint.dim(tried)}`, ...notes].join('\n');
  }
  return [
    renderTable(
      [
        { title: 'RULE' },
        { title: 'SEVERITY' },
        { title: 'SURFACES' },
        { title: 'EXCERPT', shrinks: true },
      ],
      hits.map(({ rule, severity, surfaces, excerpt }) => [
        rule,
        severity,
        surfaces.length === SURFACES.length ? 'all' : surfaces.join(' '),
        excerpt,
      ]),
    ),
    '',
    `${hits.length} of ${tried}`,
    ...notes,
  ].join('\n');
}

/** Whether this rule alone matches the text on this surface. */
function hitsOn(rule: Rule, surface: Surface, text: string, capBytes: number): boolean {
  const texts = [{ step: 0, surface, text }];
  return createMatcher([rule]).match(texts, { enabled: () => true, capBytes }).hits.length > 0;
}

function settingsOf(experimental: boolean | undefined): RuleSettings {
  return { experimental: experimental === true, overrides: new Map() };
}

/** The rules that have to be loaded: parsing the others would take most of the time. */
function choiceOf({ rule: named, experimental }: ScanOptions): RuleChoice {
  const settings = settingsOf(experimental);
  return (kept) => (named === undefined ? decide(kept, settings).enabled : named.includes(kept.id));
}

/** Which rules are tried: the named ones, whatever their tier, or all that would run. */
function enabledBy(
  { rule: named, experimental }: ScanOptions,
  rules: readonly Rule[],
  all: readonly Rule[],
): boolean[] {
  for (const id of named ?? []) {
    const rule = all.find((one) => one.id === id);
    if (rule === undefined) throw new OperatorError(`No rule ${id}: see sluice rules list`);
    if (!rules.includes(rule)) {
      throw new OperatorError(
        `${id} cannot be tried. ${verdictOf(rule)} See sluice rules show ${id}`,
      );
    }
  }
  const settings = settingsOf(experimental);
  return rules.map((rule) =>
    named === undefined ? decide(rule, settings).enabled : named.includes(rule.id),
  );
}

async function scan(file: string, options: ScanOptions): Promise<void> {
  const input = parseScanInput(readInput(file));
  const catalog = loadKeptCatalog(pinnedCorpus(), choiceOf(options));
  const rules = runnableRules(catalog.rules);
  const enabled = enabledBy(options, rules, catalog.rules);
  const isEnabled: Enabled = (ruleIndex) => enabled[ruleIndex] === true;
  const matcher = createMatcher(rules);
  const surfaces = options.surface === undefined ? SURFACES : [options.surface];
  const result =
    input.kind === 'text'
      ? scanText(input.text, surfaces, matcher, isEnabled)
      : scanRuns(input, matcher, isEnabled);
  const rulesTried = enabled.filter(Boolean).length;
  answer(options, { rules_tried: rulesTried, ...result }, () => render(result, rulesTried));
  // A script must not take an incomplete scan for a clean one.
  if (reservations(result).length > 0) process.exitCode = 1;
}

const RULE_ID = /^ATR-\d{4}-\d{5}$/;

function ruleIds(text: string, before: readonly string[] | undefined): string[] {
  if (!RULE_ID.test(text)) throw new InvalidArgumentError('a rule id looks like ATR-2026-00001');
  return [...(before ?? []), text];
}

/** Adds `scan`. */
export function addScanCommand(program: Command): void {
  program
    .command('scan')
    .description('match the rules against a file or standard input; stores nothing')
    .argument('<file>', 'a text, or an OTLP/JSON export of traces or logs; - is standard input')
    .addOption(
      new Option(
        '--surface <surface>',
        'the surface of a plain text; all of them when left out',
      ).choices(SURFACES),
    )
    .option('--experimental', 'the experimental tier too')
    .option('--rule <id...>', 'only these rules, whatever their tier', ruleIds)
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  echo "ignore all previous instructions" | sluice scan -\n' +
        '  sluice scan page.html --surface tool_result --rule ATR-2026-00511\n' +
        '  sluice scan trace.json --experimental --json',
    )
    .action(scan);
}
