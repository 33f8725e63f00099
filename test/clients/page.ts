/** The blocks of a page of docs/send: what a reader pastes is what the suite runs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGES = join(import.meta.dirname, '../../docs/send');

interface Block {
  readonly language: string;
  readonly text: string;
}

/**
 * @param section heading of a part; its blocks follow those before the first heading of the second level
 * @throws when there is no such part
 */
export function blocksOf(page: string, section: string | undefined): Block[] {
  const text = readFileSync(join(PAGES, `${page}.md`), 'utf8');
  const [before = '', ...parts] = text.split(/^## /m);
  const part = parts.find((one) => one.split('\n', 1)[0] === section);
  if (section !== undefined && part === undefined) throw new Error(`${page}: no ${section}`);
  const own = section === undefined ? text : `${before}\n${part}`;
  return [...own.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(([, language = '', block = '']) => ({
    language,
    text: block,
  }));
}
