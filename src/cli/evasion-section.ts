/**
 * The part of `docs/rules-coverage.md` about the corpus's evasion tests and lists of false positives:
 * how many of them the rules that run find. Generated, as the page; holds no text of the corpus.
 */
import { CATEGORIES, type Measured, type Rule } from '../model/rules.ts';
import { table } from './markdown-table.ts';

type Kind = keyof Rule['measured'];
const KINDS: readonly Kind[] = ['caughtEvasions', 'otherEvasions', 'falsePositives'];
const TITLES = ['marked as found', 'marked as not found', 'harmless texts'];

/** @param rules of the catalogue; only rules that run were measured */
export function evasionSection(rules: readonly Rule[]): string[] {
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
        return some.length === 0 ? [] : [[category, ...KINDS.map((kind) => cell(sum(some, kind)))]];
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
        .map((rule) => [rule.id, ...KINDS.map((kind) => cell(rule.measured[kind]))]),
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

function cell({ texts, found }: Measured): string {
  return texts === 0 ? '–' : `${found} of ${texts}`;
}
