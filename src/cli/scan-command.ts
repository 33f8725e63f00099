/**
 * `sluice scan`: matches the rules against files or standard input, without a server. Exit code 0 when
 * nothing was found, 1 when something was, 2 when not everything could be checked.
 */
import { type Command, Option } from 'commander';
import { readConfig } from '../config/config.ts';
import { evaluateRun } from '../engine/evaluate.ts';
import { excerptOf } from '../engine/matcher/excerpt.ts';
import { createMatcher, type Matcher } from '../engine/matcher/matcher.ts';
import { decide, runnableRules } from '../engine/rules/effective-set.ts';
import { OperatorError } from '../errors.ts';
import { pinnedCorpus } from '../main/corpus-location.ts';
import { programVersion } from '../main/program-version.ts';
import type { Rule, RuleSettings } from '../model/rules.ts';
import { SURFACES, type Surface } from '../model/steps.ts';
import { loadKeptCatalog, type RuleChoice } from '../pool/kept-catalog.ts';
import { reportFailure } from '../terminal/output.ts';
import { answer, type OutputOptions } from './answer.ts';
import { ruleIdArgument } from './command.ts';
import { listScanFiles, readScanFile, type ScanFile } from './scan/files.ts';
import {
  mergeResults,
  renderReport,
  reservations,
  type ScanFailure,
  type ScanReport,
  type ScanResult,
} from './scan/report.ts';
import { toSarif } from './scan/sarif.ts';
import { parseScanInput, type ScanInput } from './scan-input.ts';
import { verdictOf } from './verdict.ts';

interface ScanOptions extends OutputOptions {
  readonly surface?: Surface;
  readonly experimental?: boolean;
  readonly rule?: readonly string[];
  readonly exitZero?: boolean;
  readonly sarif?: boolean;
}

const FOUND = 1;
/** Not everything could be checked. */
const INCOMPLETE = 2;

type Enabled = (ruleIndex: number) => boolean;

function scanText(
  file: string,
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
    const excerpt = excerptOf(text, hit, excerptChars).text;
    const { id, severity, title } = rule;
    const on = surfaces.filter((one) => hitsOn(rule, one, text, surfaceCapBytes));
    const line = text.slice(0, hit.start).split('\n').length;
    return [{ file, run: null, rule: id, severity, surface, surfaces: on, title, excerpt, line }];
  });
  return {
    hits,
    undecided: result.undecided.flatMap(({ ruleIndex }) => matcher.rules[ruleIndex]?.id ?? []),
    truncated: result.truncated,
    unparsed: 0,
    not_utf8: 0,
    cut: 0,
    unread: 0,
    unread_keys: [],
    unknown_roles: [],
    rejected: [],
    checked: text === '' ? [] : surfaces,
  };
}

function scanRuns(
  file: string,
  { runs, rejections }: Extract<ScanInput, { kind: 'runs' }>,
  matcher: Matcher,
  enabled: Enabled,
): ScanResult {
  const settings = readConfig(process.env);
  const titles = new Map(matcher.rules.map(({ id, title }) => [id, title]));
  const results = [...runs].map(([run, steps]): ScanResult => {
    const evaluation = evaluateRun(steps, matcher, enabled, settings);
    const { findings, undecided, truncated, unparsed, surfaceNames } = evaluation;
    return {
      hits: findings.map(({ ruleId, severity, surface, excerpt }) => {
        const title = titles.get(ruleId) ?? '';
        const surfaces = [surface];
        return { file, run, rule: ruleId, severity, surface, surfaces, title, excerpt, line: null };
      }),
      undecided: undecided.map(({ ruleId }) => ruleId),
      truncated: truncated - unparsed,
      unparsed,
      not_utf8: 0,
      cut: evaluation.cutSteps,
      unread: evaluation.unreadTexts,
      unread_keys: evaluation.unreadKeys,
      unknown_roles: evaluation.unknownRoles,
      rejected: [],
      checked: surfaceNames,
    };
  });
  return { ...mergeResults(results), rejected: rejections };
}

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

const CLEAR_LINE = '\r\u001b[K';

/** Calls with every file; on a terminal, standard error shows how far it is. */
function forEachFile(files: readonly ScanFile[], work: (file: ScanFile) => void): void {
  const shown = process.stderr.isTTY === true && files.length > 1;
  for (const [index, file] of files.entries()) {
    if (shown) process.stderr.write(`${CLEAR_LINE}${index + 1} of ${files.length} files …`);
    work(file);
  }
  if (shown) process.stderr.write(CLEAR_LINE);
}

function scanFiles(args: readonly string[], options: ScanOptions): ScanReport {
  const files = listScanFiles(args);
  const catalog = loadKeptCatalog(pinnedCorpus(), choiceOf(options));
  const rules = runnableRules(catalog.rules);
  const enabled = enabledBy(options, rules, catalog.rules);
  const isEnabled: Enabled = (ruleIndex) => enabled[ruleIndex] === true;
  const matcher = createMatcher(rules);
  const surfaces = options.surface === undefined ? SURFACES : [options.surface];
  const results: ScanResult[] = [];
  const failed: ScanFailure[] = [];
  const incomplete: ScanFailure[] = [];
  let binary = 0;
  forEachFile(files, (file) => {
    const { name } = file;
    try {
      const read = readScanFile(file);
      if (read === null) {
        binary += 1;
        return;
      }
      const input = parseScanInput(read.bytes);
      const result =
        input.kind === 'text'
          ? scanText(name, input.text, surfaces, matcher, isEnabled)
          : scanRuns(name, input, matcher, isEnabled);
      const whole = { ...result, not_utf8: Number(!read.isUtf8Text) };
      results.push(whole);
      for (const why of reservations(whole)) incomplete.push({ file: name, why });
    } catch (error) {
      // The other files are checked all the same.
      if (!(error instanceof OperatorError)) throw error;
      failed.push({ file: name, why: error.message });
    }
  });
  const rulesTried = enabled.filter(Boolean).length;
  const merged = mergeResults(results);
  return { rules_tried: rulesTried, files: files.length, ...merged, binary, failed, incomplete };
}

function scan(args: readonly string[], options: ScanOptions): void {
  try {
    const report = scanFiles(args, options);
    for (const { file, why } of report.failed) {
      reportFailure(new OperatorError(`${file} was not checked: ${why}`));
    }
    if (options.sarif === true) answer({ json: true }, toSarif(report, programVersion()), () => '');
    else answer(options, report, () => renderReport(report));
    if (report.hits.length > 0 && options.exitZero !== true) process.exitCode = FOUND;
    // A script must not take an incomplete scan for a clean one.
    else if (report.failed.length > 0 || reservations(report).length > 0) {
      process.exitCode = INCOMPLETE;
    }
  } catch (error) {
    reportFailure(error);
    process.exitCode = INCOMPLETE;
  }
}

const ruleIds = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ruleIdArgument(text),
];

export function addScanCommand(program: Command): void {
  program
    .command('scan')
    .description('match the rules against files or standard input; stores nothing')
    .argument(
      '<file...>',
      'texts, or OTLP/JSON exports of traces or logs; a folder, a pattern in quotes; - is standard input',
    )
    .addOption(
      new Option(
        '--surface <surface>',
        'the surface of a plain text; all of them when left out',
      ).choices(SURFACES),
    )
    .option('--experimental', 'the experimental tier too')
    .option('--rule <id>', 'only this rule, in any tier; can be repeated', ruleIds)
    .option('--exit-zero', 'exit code 0 even when a rule matches')
    .addOption(new Option('--json', 'print JSON').conflicts('sarif'))
    .option('--sarif', 'print SARIF 2.1.0, for code scanning')
    .addHelpText(
      'after',
      '\nExit codes: 0 no rule matches, 1 a rule matches, 2 not everything could be checked.\n' +
        '\nExamples:\n  echo "ignore all previous instructions" | sluice scan -\n' +
        '  sluice scan page.html --surface tool_result --rule ATR-2026-00511\n' +
        "  sluice scan prompts 'exports/**/*.json' --experimental --json",
    )
    // Mistakes in the arguments are no finding.
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : INCOMPLETE))
    .action(scan);
}
