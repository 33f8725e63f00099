/** The measured part of docs/matching.md about single texts. Pure. */
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import type { MatchMeasured, MatchResult } from '../match.ts';

const TITLES = ['texts', 'plain MB/s', 'fast MB/s', 'ratio', 'hits'];
const BAR_CHARS = 40;

function barsOf(kinds: readonly MatchMeasured[]): string {
  const most = Math.max(...kinds.map(({ ratio }) => ratio));
  const bars = kinds.map(({ kind, ratio }) => {
    const bar = '█'.repeat(Math.max(1, Math.round((ratio / most) * BAR_CHARS)));
    return `${kind.padEnd(28)} ${bar} ${ratio.toFixed(0)}×`;
  });
  return ['```text', ...bars, '```'].join('\n');
}

/** The other engine's figures; nothing without them. */
function besideOf(kinds: readonly MatchMeasured[]): string[] {
  const other = kinds.find(({ beside = null }) => beside !== null)?.beside ?? null;
  if (other === null) return [];
  const rows = kinds.flatMap(({ kind, fast, beside }) =>
    beside === null
      ? []
      : [
          [
            kind,
            fast.toFixed(1),
            beside.mbPerSecond.toFixed(1),
            (fast / beside.mbPerSecond).toFixed(1),
          ],
        ],
  );
  return [
    `${other.engine}, which accepts ${other.patterns} of the patterns, on the same texts in turn:`,
    markdownTable(['texts', 'Sluice MB/s', `${other.engine} MB/s`, 'ratio'], rows),
  ];
}

/** The slowest texts that were found; nothing without them. */
function worstOf(worst: MatchResult['worst']): string[] {
  if (worst.length === 0) return [];
  const rows = worst.map(({ name, rules, mbPerSecond, raw, hits, tried }) => [
    name,
    String(rules),
    mbPerSecond.toFixed(2),
    raw.join(' '),
    String(hits),
    String(tried),
  ]);
  return [
    'The slowest text of 64 KiB that hill climbing over the literals of the patterns finds:',
    markdownTable(['', 'rules', 'MB/s', 'each order', 'hits', 'tried'], rows),
  ];
}

export function matchParts({
  machine,
  rules,
  patterns,
  kinds,
  distinctBytes,
  reference,
  workers,
  // Older results have none.
  worst = [],
}: MatchResult): Map<string, string> {
  const rows = kinds.map(({ kind, plain, fast, ratio, hits }) => [
    kind,
    plain.toFixed(2),
    fast.toFixed(1),
    ratio.toFixed(0),
    String(hits),
  ]);
  const texts =
    distinctBytes === null
      ? 'twelve texts of each kind, again and again, by the clock'
      : `${(distinctBytes / 1e6).toFixed(0)} MB of other text of each kind in every round for the fast ` +
        'matcher, twelve texts of them for the plain one, by CPU time; hits are those of twelve texts';
  const page = [
    `${machineLine(machine)}; ${rules} rules, ${patterns} patterns; ${texts}.`,
    markdownTable(TITLES, rows),
    barsOf(kinds),
    ...besideOf(kinds),
    ...worstOf(worst),
    `The corpus's reference engine (JavaScript's own regular expressions) on ${reference.texts} ` +
      `texts of 2 KB and the ${reference.rules} rules that run as written: ` +
      `${reference.reference} MB/s; Sluice ${reference.fast} MB/s, ${reference.ratio} times as ` +
      `much, with the same ${reference.foundByBoth} findings.`,
    `The tables are built once, with the catalogue, in ${workers.tablesMs} ms. A worker builds ` +
      `its matcher from them in ${workers.buildMs} ms and uses ${workers.residentMb} MB after ` +
      `matching all 2 KB kinds, tables included. Alone it matches ${workers.alone} MB/s; two ` +
      `workers on ${machine.cores} cores match ${workers.together}, ${workers.scaling} times as ` +
      'much (medians, alternating).',
  ];
  return new Map([['match', page.join('\n\n')]]);
}
