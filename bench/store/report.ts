/** What the storage benchmark prints and writes: tables, JSON, docs/decisions/0010-storage.md. */
import { readFileSync, writeFileSync } from 'node:fs';

import { renderTable } from '../../src/cli/table.ts';
import type { MachineFacts } from '../machine.ts';
import type { Answer } from './rounds.ts';
import type { RowParts } from './rows.ts';

const MEASURED = /(<!-- measured[^>]*-->\n)[\s\S]*(<!-- \/measured -->)/;

export interface StoreResult {
  readonly name: 'store';
  readonly question: string;
  readonly machine: MachineFacts;
  /** versions; the second is the one that has lz4, null where there is none */
  readonly servers: { readonly embedded: string; readonly withLz4: string | null };
  /** how the migrations keep documents, by server */
  readonly migrated: Readonly<Record<string, string>>;
  /** bytes of an ordinary row */
  readonly rowParts: RowParts;
  readonly answers: readonly Answer[];
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(value);
}

function figuresOf({ variants }: Answer): string[] {
  return [...new Set(variants.flatMap(({ medians }) => Object.keys(medians)))];
}

function cells(answer: Answer): string[][] {
  return answer.variants.map(({ name, medians }) => [
    name,
    ...figuresOf(answer).map((figure) => {
      const value = medians[figure];
      return value === undefined ? '–' : shown(value);
    }),
  ]);
}

function markdown(answer: Answer): string[] {
  const row = (list: readonly string[]) => `| ${list.join(' | ')} |`;
  const figures = figuresOf(answer);
  return [
    `${answer.question}; medians of ${answer.rounds} rounds.`,
    '',
    row(['', ...figures]),
    `|---|${figures.map(() => '---:|').join('')}`,
    ...cells(answer).map(row),
    '',
  ];
}

function machineLine({ machine, servers }: StoreResult): string {
  const lz4 =
    servers.withLz4 === null ? 'no server with lz4' : `with lz4 PostgreSQL ${servers.withLz4}`;
  return (
    `${machine.at.slice(0, 10)}, ${machine.cores} cores (${machine.cpu}), Node ${machine.node}, load before ` +
    `${machine.loadBefore}; embedded PostgreSQL ${servers.embedded}, ${lz4}.`
  );
}

function partsLine({ rowParts }: StoreResult): string {
  const { onDisk, documents, texts, rest, index, resource } = rowParts;
  return (
    `An ordinary row takes ${onDisk} bytes on disk: ${documents} of documents, ${texts} of texts, ${rest} of times, ` +
    `ids, numbers and header, ${index} of index. Its resource and scope would be ${resource} more.`
  );
}

function migratedLine({ migrated }: StoreResult): string {
  const list = Object.entries(migrated).map(([server, how]) => `${how} on ${server}`);
  return `Migration 0007 keeps documents ${list.join(', ')}.`;
}

function writeDecision(result: StoreResult): void {
  const path = new URL('../../docs/decisions/0010-storage.md', import.meta.url);
  const lines = [
    machineLine(result),
    '',
    ...result.answers.flatMap(markdown),
    partsLine(result),
    migratedLine(result),
  ];
  const page = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    page.replace(MEASURED, (_, start, end) => `${start}${lines.join('\n')}\n${end}`),
  );
}

/** Prints a result for people, and writes it as JSON and into the decision. */
export function reportStore(result: StoreResult): void {
  const out = [result.question, machineLine(result), ''];
  for (const answer of result.answers) {
    const columns = [
      { title: answer.name.toUpperCase() },
      ...figuresOf(answer).map((title) => ({ title, align: 'right' as const })),
    ];
    out.push(answer.question, renderTable(columns, cells(answer)), '');
  }
  out.push(partsLine(result), migratedLine(result), '');
  process.stdout.write(out.join('\n'));
  const path = new URL('../results/store.json', import.meta.url);
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`);
  writeDecision(result);
}
