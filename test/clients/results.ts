/** Keeps the suite's results in results.json, and writes them as the table of docs/instrumentations.md. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { CLIENTS } from './clients.ts';
import type { Outcome, Place } from './outcome.ts';
import { NODE } from './run-client.ts';

const FILE = join(import.meta.dirname, 'results.json');
const PAGE = join(import.meta.dirname, '../../docs/instrumentations.md');

interface Result {
  readonly version: string;
  readonly node: string;
  readonly date: string;
  readonly runs: number;
  /** the surfaces on which each plant was read */
  readonly surfaces: Outcome['surfaces'];
  readonly wrong: readonly string[];
  readonly missing: readonly Place[];
  /** null where no text was missing; with `off`, when the client's text was switched off */
  readonly shown: boolean | null;
  readonly off: boolean | null;
}

type Results = Record<string, Result>;

const readResults = (): Results =>
  existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Results) : {};

const nodeVersion = (): string =>
  execFileSync(join(NODE, 'node'), ['--version'], { encoding: 'utf8' }).trim().slice(1);

/** Results are kept in the order of the list; those of clients that left it are dropped. */
export function keepResult(
  name: string,
  version: string,
  sent: Outcome,
  off: Outcome | undefined,
): void {
  const result: Result = {
    version,
    node: nodeVersion(),
    date: new Date().toISOString().slice(0, 10),
    runs: sent.runs.length,
    surfaces: sent.surfaces,
    wrong: [...sent.wrong, ...(off?.wrong ?? [])],
    missing: sent.missing,
    shown: sent.missing.length === 0 ? null : sent.shown,
    off: off === undefined ? null : off.shown,
  };
  const results = { ...readResults(), [name]: result };
  const kept = CLIENTS.flatMap(({ name: one }) =>
    results[one] === undefined ? [] : [[one, results[one]] as const],
  );
  const lines = kept.map(([one, value]) => `${JSON.stringify(one)}: ${JSON.stringify(value)}`);
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`);
  writeTable(Object.fromEntries(kept));
}

const PLACES: Readonly<Record<Place, string>> = {
  user: 'user input',
  toolArgs: 'tool arguments',
  toolResult: 'tool result',
  answer: 'answer',
  system: 'system prompt',
  description: 'tool description',
};

function row(name: string, page: string, result: Result): string {
  const { version, node, date, wrong, missing, shown, off } = result;
  const absent = missing.map((place) => PLACES[place]).join(', ');
  const right = wrong.length > 0 ? `**${wrong.join(', ')}**` : 'yes';
  const gapsShown = [shown, off].filter((one) => one !== null);
  const gaps = gapsShown.length === 0 ? '–' : gapsShown.every(Boolean) ? 'yes' : '**no**';
  const cells = [`[${name}](send/${page}.md)`, version, node, right, absent || '–', gaps, date];
  return `| ${cells.join(' | ')} |`;
}

function writeTable(results: Results): void {
  const rows = CLIENTS.flatMap(({ name, page }) => {
    const result = results[name];
    return result === undefined ? [] : [row(name, page, result)];
  });
  const table = [
    '| client | version | Node | text right | not sent | gaps shown | date |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
  const marks = /(<!-- clients: begin -->\n)[\s\S]*?(<!-- clients: end -->)/;
  const page = readFileSync(PAGE, 'utf8');
  if (!marks.test(page)) throw new Error('docs/instrumentations.md has no place for the table');
  const written = page.replace(
    marks,
    (_whole, begin: string, end: string) => `${begin}\n${table}\n\n${end}`,
  );
  writeFileSync(PAGE, written);
}
