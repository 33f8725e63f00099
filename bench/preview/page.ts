/** The measured part of docs/performance.md about previews. Pure. */
import { PREVIEW_RUNS_MAX } from '../../src/model/previews.ts';
import { median } from '../harness.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import type { PreviewPlace, PreviewResult, PreviewRound } from '../preview.ts';

const MINUTES_MAX = 10;
const INGEST_SHARE_MIN = 0.95;

const whole = (value: number): string => Math.round(value).toLocaleString('en');
const minutesOf = (runsPerSecond: number): number => PREVIEW_RUNS_MAX / runsPerSecond / 60;
const coresText = (cores: number): string => (cores === 1 ? 'one core' : `${cores} cores`);

function aloneRow(where: string, rules: string, rounds: readonly PreviewRound[]): string[] {
  const of = (name: keyof PreviewRound): number => median(rounds.map((one) => one[name]));
  return [
    where,
    rules,
    whole(of('runsPerSecond')),
    minutesOf(of('runsPerSecond')).toFixed(1),
    of('serverMs').toFixed(2),
    of('matchingMs').toFixed(2),
    of('postgresMs').toFixed(2),
  ];
}

/** The median of the pairs, which the same minute of the machine has seen. */
const shareOf = ({ ingest }: PreviewPlace): number =>
  median(ingest.map(({ alone, beside }) => beside / alone));

function besideRow(place: PreviewPlace): string[] {
  const { cores, ingest } = place;
  const previewed = median(ingest.map((one) => one.previewed));
  return [
    coresText(cores),
    ingest.map(({ alone, beside }) => `${whole(alone)} → ${whole(beside)}`).join(', '),
    shareOf(place).toFixed(3),
    whole(previewed),
    minutesOf(previewed).toFixed(0),
  ];
}

const verdict = (isReached: boolean): string => (isReached ? 'reached' : 'missed');

export function previewParts(result: PreviewResult): Map<string, string> {
  const { machine, runs, rules, seconds, places } = result;
  const alone = places.flatMap(({ cores, tier, oneRule }) => [
    aloneRow(coresText(cores), `experimental tier, ${rules}`, tier),
    aloneRow(coresText(cores), 'one', oneRule),
  ]);
  const [one] = places;
  const minutes = minutesOf(median((one?.tier ?? []).map(({ runsPerSecond }) => runsPerSecond)));
  const share = Math.min(...places.map(shareOf));
  const page = [
    `${machineLine(machine)}; ${whole(runs)} runs of 4 spans. On one core: server and database together.`,
    markdownTable(
      [
        'with',
        'rules',
        'runs/s',
        `min for ${whole(PREVIEW_RUNS_MAX)}`,
        'server, CPU ms a run',
        'of it matching',
        'PostgreSQL, CPU ms a run',
      ],
      alone,
    ),
    `Beside ingest at its full rate, ${seconds} s alone and ${seconds} s beside a preview of the tier, in turn:`,
    markdownTable(
      [
        'with',
        'spans/s, alone → beside',
        'share, median of pairs',
        'runs/s of the preview',
        `min for ${whole(PREVIEW_RUNS_MAX)}`,
      ],
      places.map(besideRow),
    ),
    `Targets: ${whole(PREVIEW_RUNS_MAX)} runs of the tier within ${MINUTES_MAX} minutes on one core, nothing beside it: ` +
      `${minutes.toFixed(1)}, ${verdict(minutes <= MINUTES_MAX)}; ingest keeps ${INGEST_SHARE_MIN}: ` +
      `${share.toFixed(3)}, ${verdict(share >= INGEST_SHARE_MIN)}.`,
  ];
  return new Map([['preview', page.join('\n\n')]]);
}
