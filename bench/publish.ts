/** Writes results: as JSON to bench/results/, and as Markdown between the markers of a document. */
import { readFileSync, writeFileSync } from 'node:fs';

import { replaceMeasured } from './markdown.ts';

const RESULTS = new URL('results/', import.meta.url);
const ROOT = new URL('../', import.meta.url);

/** A JSON object with one line per member: small, and a diff shows which member changed. */
function compactJson(result: object): string {
  const members = Object.entries(result)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{\n${members.join(',\n')}\n}\n`;
}

/** Writes `bench/results/<name>.json`. */
export function writeResult(result: { readonly name: string }): void {
  writeFileSync(new URL(`${result.name}.json`, RESULTS), compactJson(result));
}

/**
 * Writes the measured parts of a document.
 *
 * @param path from the repository's root
 * @param parts Markdown by the name in the markers
 */
export function writeMeasured(path: string, parts: Iterable<readonly [string, string]>): void {
  const url = new URL(path, ROOT);
  let page = readFileSync(url, 'utf8');
  for (const [name, content] of parts) page = replaceMeasured(page, name, content);
  writeFileSync(url, page);
}
