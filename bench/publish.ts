/** Prints results, and writes them: to bench/results/ as JSON, and into the documentation. */
import { readFileSync, writeFileSync } from 'node:fs';

import { documentsOf, markdownOf, type ResultName, type Results } from './pages.ts';

const ROOT = new URL('../', import.meta.url);

const readText = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

function writeText(path: string, text: string): void {
  writeFileSync(new URL(path, ROOT), text);
}

/** A JSON object with one line per member: small, and a diff shows which member changed. */
function compactJson(result: object): string {
  const members = Object.entries(result).map(
    ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  );
  return `{\n${members.join(',\n')}\n}\n`;
}

export function printResult<N extends ResultName>(name: N, result: Results[N]): void {
  process.stdout.write(`\n${markdownOf(name, result)}\n`);
}

let isWriting = true;

/** From here on results are printed and nothing is written. */
export function printOnly(): void {
  isWriting = false;
}

/** Prints a result, writes it to bench/results/, and writes the documents that show it. */
export function publish<N extends ResultName>(name: N, result: Results[N]): void {
  printResult(name, result);
  if (!isWriting) return;
  writeText(`bench/results/${name}.json`, compactJson(result));
  for (const [path, text] of documentsOf(name, result, readText)) writeText(path, text);
}
