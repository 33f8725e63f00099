/**
 * The texts that agent runs are made of: this project's documentation as prose, its source as code, and
 * its package files as JSON. Read once, when a run is made first. The same checkout gives the same texts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { JsonObject } from '../../src/model/json.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PROSE_CHARS_MIN = 60;
const PROSE_CHARS_MAX = 600;
/** A paragraph that begins with a letter: no heading, list, table or block of code. */
const PROSE = /^[A-Z][^|]*[.:]$/;
const COMPOUND_NAME = /\b[a-z]+[A-Z]\w{3,}/g;
export const FOUND_LINES = { min: 3, max: 16 };

export interface TextFile {
  /** from the repository's root */
  readonly path: string;
  readonly text: string;
}

export interface Package {
  readonly name: string;
  readonly facts: JsonObject;
}

/** A line of source code, as a search finds it. */
export interface FoundLine extends JsonObject {
  path: string;
  line: number;
  content: string;
}

/** A compound name (`spansPerRun`), and the lines that hold it. */
export interface Search {
  readonly query: string;
  readonly lines: readonly FoundLine[];
}

interface Material {
  readonly documents: readonly TextFile[];
  readonly sources: readonly TextFile[];
  readonly searches: readonly Search[];
  readonly paragraphs: readonly string[];
  readonly packages: readonly Package[];
  readonly scripts: JsonObject;
}

const readText = (path: string): TextFile => ({
  path,
  text: readFileSync(join(ROOT, path), 'utf8'),
});

/** All files of a folder whose names have this end, in an order that no locale changes. */
function filesIn(folder: string, end: string): TextFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .sort()
    .map(readText);
}

function paragraphsOf({ text }: TextFile): string[] {
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replaceAll(/\s+/g, ' ').trim())
    .filter(({ length }) => length >= PROSE_CHARS_MIN && length <= PROSE_CHARS_MAX)
    .filter((paragraph) => PROSE.test(paragraph));
}

function searchesIn(sources: readonly TextFile[]): Search[] {
  const found = new Map<string, FoundLine[]>();
  for (const { path, text } of sources) {
    for (const [index, content] of text.split('\n').entries()) {
      for (const name of new Set(content.match(COMPOUND_NAME))) {
        const lines = found.get(name) ?? [];
        if (lines.length < FOUND_LINES.max) lines.push({ path, line: index + 1, content });
        found.set(name, lines);
      }
    }
  }
  return [...found]
    .map(([query, lines]) => ({ query, lines }))
    .filter(({ lines }) => lines.length >= FOUND_LINES.min);
}

function load(): Material {
  const pages = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'README.md'].map(readText);
  const documents = [...pages, ...filesIn('docs', '.md')];
  const manifest = JSON.parse(readText('package.json').text) as { scripts: JsonObject };
  const lock = JSON.parse(readText('package-lock.json').text) as {
    packages: Record<string, JsonObject>;
  };
  const packages = Object.entries(lock.packages)
    .filter(([path]) => path !== '')
    .map(([path, facts]) => ({ name: path.replace(/^.*node_modules\//, ''), facts }));
  const sources = filesIn('src', '.ts');
  return {
    documents,
    sources,
    searches: searchesIn(sources),
    paragraphs: documents.flatMap(paragraphsOf),
    packages,
    scripts: manifest.scripts,
  };
}

let loaded: Material | null = null;

export function material(): Material {
  loaded ??= load();
  return loaded;
}
