/** The results of a run, as the table of docs/reliability.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { type MachineFacts, machineLine } from '../../bench/machine.ts';
import { markdownTable, replaceMeasured } from '../../bench/markdown.ts';
import type { Verdict } from './checker.ts';
import { FAULTS, type Fault } from './schedule.ts';

export const RESULTS = fileURLToPath(new URL('./results.json', import.meta.url));
const PAGE = fileURLToPath(new URL('../../docs/reliability.md', import.meta.url));

export interface Result {
  readonly seed: number;
  readonly rounds: number;
  readonly seconds: number;
  /** how often each fault came */
  readonly faults: Readonly<Record<string, number>>;
  readonly verdict: Verdict;
  readonly failures: readonly string[];
  readonly bodiesGivenUp: number;
  /** by status; `none` where the connection broke or the exporter waited no longer */
  readonly answers: Readonly<Record<string, number>>;
  readonly longestAnswerMs: number;
  readonly longestRecoveryMs: number;
  readonly machine: MachineFacts;
}

const count = (number: number): string => number.toLocaleString('en-US');
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** The tables and the sentences about them. */
export function markdownOf(result: Result): string {
  const { verdict, faults } = result;
  const outcome = markdownTable(
    ['what', 'result'],
    [
      ['faults', count(result.rounds)],
      ['rows acknowledged', count(verdict.rowsAcknowledged)],
      ['of them lost', count(verdict.rowsLost)],
      ['stored twice', count(verdict.rowsTwice)],
      ['stored differently from what was sent', count(verdict.recordsChanged)],
      ['not named by the places of their run', count(verdict.recordsMisplaced)],
      ['requests stored in parts', count(verdict.bodiesInParts)],
      ['findings expected', count(verdict.findingsExpected)],
      ['of them missing', count(verdict.findingsMissing)],
      ['findings twice, or on harmless runs', count(verdict.findingsTwice + verdict.findingsFalse)],
      [
        'runs whose evaluation failed or did not come',
        count(verdict.runsFailed + verdict.runsPending),
      ],
      ['requests that exporters gave up after eight attempts', count(result.bodiesGivenUp)],
      ['longest answer of a running server', seconds(result.longestAnswerMs)],
      ['longest time until all servers acknowledged again', seconds(result.longestRecoveryMs)],
    ],
  );
  const kinds = markdownTable(
    ['fault', 'times'],
    (Object.keys(FAULTS) as Fault[]).map((kind) => [
      `\`${kind}\`: ${FAULTS[kind]}`,
      count(faults[kind] ?? 0),
    ]),
  );
  const failed =
    result.failures.length === 0
      ? ''
      : `\n\n**The run failed:**\n\n${result.failures.map((failure) => `- ${failure}`).join('\n')}`;
  return (
    `Seed ${result.seed}, ${count(Math.round(result.seconds / 60))} minutes; ` +
    `${machineLine(result.machine)}.\n\n${outcome}${failed}\n\n${kinds}`
  );
}

/** Writes the tables into docs/reliability.md. */
export function writePage(result: Result): void {
  const page = readFileSync(PAGE, 'utf8');
  writeFileSync(PAGE, replaceMeasured(page, 'chaos', markdownOf(result)));
}
