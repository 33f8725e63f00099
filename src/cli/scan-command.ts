/** `sluice scan`: rules over a file or standard input, at once, for people who try rules. */
import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';

import { readConfig } from '../config.ts';
import { decide } from '../engine/effective-set.ts';
import { evaluateRun } from '../engine/evaluate.ts';
import { excerptOf } from '../engine/excerpt.ts';
import { createMatcher, type Matcher } from '../engine/matcher.ts';
import { OperatorError } from '../errors.ts';
import { type RuleSettings, SURFACES, type Surface } from '../model.ts';
import { runnableRules } from '../pool/pass.ts';
import { answer, type OutputOptions } from './answer.ts';
import { loadCatalog } from './load-catalog.ts';
import { paint } from './paint.ts';
import { parseScanInput, type ScanInput } from './scan-input.ts';
import { renderTable } from './table.ts';

interface ScanOptions extends OutputOptions {
  readonly surface?: Surface;
  readonly experimental?: boolean;
}

interface ScanHit {
  readonly run: string | null;
  readonly rule: string;
  readonly severity: string;
  readonly surface: Surface;
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

function scanText(
  text: string,
  surfaces: readonly Surface[],
  matcher: Matcher,
  enabled: (ruleIndex: number) => boolean,
): ScanHit[] {
  const { surfaceCapBytes, excerptChars } = readConfig(process.env);
  const texts = surfaces.map((surface) => ({ step: 0, surface, text }));
  const { hits } = matcher.match(texts, { enabled, capBytes: surfaceCapBytes });
  return hits.flatMap((hit) => {
    const rule = matcher.rules[hit.ruleIndex];
    const surface = texts[hit.textIndex]?.surface;
    if (rule === undefined || surface === undefined) return [];
    const excerpt = excerptOf(text, hit, excerptChars);
    const { id, severity, title } = rule;
    return [{ run: null, rule: id, severity, surface, title, excerpt }];
  });
}

function scanRuns(
  runs: Extract<ScanInput, { kind: 'runs' }>['runs'],
  matcher: Matcher,
  enabled: (ruleIndex: number) => boolean,
): ScanHit[] {
  const settings = readConfig(process.env);
  return [...runs].flatMap(([run, steps]) =>
    evaluateRun(steps, matcher, enabled, settings).findings.map((finding) => ({
      run,
      rule: finding.ruleId,
      severity: finding.severity,
      surface: finding.surface,
      title: matcher.rules.find(({ id }) => id === finding.ruleId)?.title ?? '',
      excerpt: finding.excerpt,
    })),
  );
}

function render(hits: readonly ScanHit[], rulesTried: number): string {
  const tried = `${rulesTried} rules tried`;
  if (hits.length === 0) return `${paint.green('No rule matches.')} ${paint.dim(tried)}`;
  return [
    renderTable(
      [
        { title: 'RULE' },
        { title: 'SEVERITY' },
        { title: 'SURFACE' },
        { title: 'EXCERPT', shrinks: true },
      ],
      hits.map(({ rule, severity, surface, excerpt }) => [rule, severity, surface, excerpt]),
    ),
    '',
    `${hits.length} of ${tried}`,
  ].join('\n');
}

async function scan(file: string, options: ScanOptions): Promise<void> {
  const input = parseScanInput(readInput(file));
  const rules = runnableRules((await loadCatalog()).rules);
  const settings: RuleSettings = {
    experimental: options.experimental === true,
    overrides: new Map(),
  };
  const enabled = rules.map((rule) => decide(rule, settings).enabled);
  const isEnabled = (ruleIndex: number): boolean => enabled[ruleIndex] === true;
  const matcher = createMatcher(rules);
  const surfaces = options.surface === undefined ? SURFACES : [options.surface];
  const hits =
    input.kind === 'text'
      ? scanText(input.text, surfaces, matcher, isEnabled)
      : scanRuns(input.runs, matcher, isEnabled);
  const rulesTried = enabled.filter(Boolean).length;
  answer(options, { rules_tried: rulesTried, hits }, () => render(hits, rulesTried));
}

/** Adds `scan`. */
export function addScanCommand(program: Command): void {
  program
    .command('scan')
    .description('match the rules against a file or standard input, at once; stores nothing')
    .argument('<file>', 'a text, or an OTLP/JSON trace export; - is standard input')
    .addOption(
      new Option(
        '--surface <surface>',
        'where a plain text stands; all of them when left out',
      ).choices(SURFACES),
    )
    .option('--experimental', 'the experimental tier too')
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  echo "ignore all previous instructions" | sluice scan -\n' +
        '  sluice scan trace.json --experimental --json',
    )
    .action(scan);
}
