/**
 * The page `docs/rules-coverage.md`: which rules of the pinned corpus can run on this engine, and why
 * the others cannot. Generated; a test compares the file with the current output.
 *
 * Holds ids, titles and our own reasons, never a rule's patterns or description.
 */
import type { Catalog } from '../engine/rules/catalog.ts';
import { runnableRules, supportCounts } from '../engine/rules/effective-set.ts';
import {
  CATEGORIES,
  hasNoExamples,
  type Measured,
  RULE_STATUSES,
  type Rule,
  SUPPORT_LABELS,
  SUPPORTS,
  type Support,
} from '../model/rules.ts';
import { reasonsOf } from './verdict.ts';

const BAR_CHARS = 40;

export function coveragePage({ snapshot, rules }: Catalog): string {
  const counts = supportCounts(rules);
  const total = rules.length;
  const can = supportCounts(runnableRules(rules));
  const runnable = can.as_written + can.degraded;
  const supported = counts.as_written + counts.degraded;
  return [
    '# Which rules of the corpus can run',
    '',
    `Written by \`npx sluice corpus refresh\`. Snapshot ${snapshot.version} of ${snapshot.date}, ` +
      `identity \`${snapshot.identity}\`, ${snapshot.files} files, sha256 \`${snapshot.sha256}\`.`,
    '',
    `**${runnable} of ${total} rules can run**: ${can.as_written} are fully supported, ${can.degraded} partly. ` +
      `The engine supports ${supported} rules; ${supported - runnable} of these are draft or deprecated in ` +
      'the corpus, and such rules never run. Which of the others run is decided by each workspace: stable rules ' +
      'are on by default, experimental ones off.',
    '',
    'Only patterns run here, by RE2: in time linear in the text, without look-around and back-references. A rule ' +
      'that needs any one of its conditions is partly supported when it lost some of them; a rule that needs all of ' +
      'its conditions is not supported when it lost one. What is left of a rule must still pass every test its ' +
      'author gave it, or it never runs for anyone.',
    '',
    'By support, including draft and deprecated rules:',
    '',
    '```text',
    ...SUPPORTS.map((support) => bar(SUPPORT_LABELS[support], counts[support], total)),
    '```',
    '',
    '## By status',
    '',
    ...countTable('status', RULE_STATUSES, rules, ({ status }) => status),
    '',
    '## By category',
    '',
    ...countTable('category', CATEGORIES, rules, ({ category }) => category),
    '',
    '## Conditions that cannot run, by reason',
    '',
    ...reasonTable(rules),
    '',
    '## Partly supported rules',
    '',
    ...ruleTable(rules, 'degraded', lostConditions),
    '',
    '## Rules that fail their own tests',
    '',
    'Most of them lost conditions to the engine, and fail the tests that those conditions were for. The others have ' +
      'tests that are descriptions of a tool, which no run has.',
    '',
    ...ruleTable(rules, 'fails_own_examples', failedExamples),
    '',
    '## Rules that are not supported',
    '',
    ...ruleTable(rules, 'unsupported', reasonsOf),
    '',
    ...evasionSection(rules),
  ].join('\n');
}

function bar(words: string, count: number, total: number): string {
  const filled = Math.round((count / total) * BAR_CHARS);
  const drawn = '█'.repeat(Math.max(filled, count > 0 ? 1 : 0)).padEnd(BAR_CHARS, '░');
  return `${words.padEnd(24)} ${drawn} ${count}`;
}

function countTable<Value extends string>(
  title: string,
  values: readonly Value[],
  rules: readonly Rule[],
  bucketOf: (rule: Rule) => Value,
): string[] {
  const rows = values.flatMap((value) => {
    const matching = rules.filter((rule) => bucketOf(rule) === value);
    if (matching.length === 0) return [];
    const counts = supportCounts(matching);
    return [
      [value, String(matching.length), ...SUPPORTS.map((support) => String(counts[support]))],
    ];
  });
  return table([title, 'rules', ...SUPPORTS.map((support) => SUPPORT_LABELS[support])], rows);
}

function reasonTable(rules: readonly Rule[]): string[] {
  const byCode = new Map<string, { conditions: number; rules: Set<string>; example: string }>();
  for (const rule of rules) {
    for (const { reason } of rule.conditions) {
      if (reason === null) continue;
      const known = byCode.get(reason.code) ?? {
        conditions: 0,
        rules: new Set(),
        example: reason.message,
      };
      known.conditions += 1;
      known.rules.add(rule.id);
      byCode.set(reason.code, known);
    }
  }
  const rows = [...byCode].sort((a, b) => b[1].conditions - a[1].conditions);
  return table(
    ['reason', 'conditions', 'rules', 'for one'],
    rows.map(([code, one]) => [
      `\`${code}\``,
      String(one.conditions),
      String(one.rules.size),
      cell(one.example),
    ]),
  );
}

function ruleTable(
  rules: readonly Rule[],
  support: Support,
  why: (rule: Rule) => string,
): string[] {
  const supported = rules.filter((rule) => rule.support === support);
  return table(
    ['rule', 'status', 'title', 'why'],
    supported.map((rule) => [rule.id, rule.status, cell(rule.title), cell(why(rule))]),
  );
}

function lostConditions(rule: Rule): string {
  const lost = rule.conditions.filter(({ supported }) => !supported).length;
  return `${lost} of ${rule.conditions.length} conditions lost: ${reasonsOf(rule)}`;
}

function failedExamples(rule: Rule): string {
  const { truePositives, trueNegatives, failed } = rule.ownExamples;
  const cases = truePositives + trueNegatives;
  if (hasNoExamples(rule.ownExamples)) return 'ships no tests';
  const whys = [...new Set(failed.map(({ why }) => why))].join('; ');
  const cause = rule.unsupportedReasons.length === 0 ? whys : lostConditions(rule);
  return `fails ${failed.length} of ${cases} tests; ${cause}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
}

type Kind = keyof Rule['measured'];
const KINDS: readonly Kind[] = ['caughtEvasions', 'otherEvasions', 'falsePositives'];
const TITLES = ['marked as found', 'marked as not found', 'harmless texts'];

/** How many of the evasion tests and lists of false positives the rules that run find. */
function evasionSection(rules: readonly Rule[]): string[] {
  const measured = rules.filter(({ measured: by }) => KINDS.some((kind) => by[kind].texts > 0));
  const caught = sum(measured, 'caughtEvasions');
  const other = sum(measured, 'otherEvasions');
  const harmless = sum(measured, 'falsePositives');
  return [
    '## Evasion tests',
    '',
    'Authors add disguised attacks to their rules, and mark each as one that the rule finds or does not find. Of those of ' +
      `the rules that run here, ${caught.found} of ${caught.texts} that are marked as found are found, and ${other.found} ` +
      `of ${other.texts} that are not. They also describe harmless texts that may match by mistake: ${harmless.found} of ` +
      `${harmless.texts} descriptions match. None of this decides whether a rule runs.`,
    '',
    ...table(
      ['category', ...TITLES],
      CATEGORIES.flatMap((category) => {
        const some = measured.filter((rule) => rule.category === category);
        return some.length === 0
          ? []
          : [[category, ...KINDS.map((kind) => share(sum(some, kind)))]];
      }),
    ),
    '',
    'Rules with evasion tests, or with a description that matches:',
    '',
    ...table(
      ['rule', ...TITLES],
      measured
        .filter(
          ({ measured: by }) =>
            by.caughtEvasions.texts + by.otherEvasions.texts + by.falsePositives.found > 0,
        )
        .map((rule) => [rule.id, ...KINDS.map((kind) => share(rule.measured[kind]))]),
    ),
    '',
  ];
}

function sum(rules: readonly Rule[], kind: Kind): Measured {
  return rules.reduce(
    ({ texts, found }, { measured }) => ({
      texts: texts + measured[kind].texts,
      found: found + measured[kind].found,
    }),
    { texts: 0, found: 0 },
  );
}

function share({ texts, found }: Measured): string {
  return texts === 0 ? '–' : `${found} of ${texts}`;
}

export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)];
}
