/** Every `sluice` command line in README and docs names a command that exists, with options that it has. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';

const PAGES = [
  'README.md',
  'corpus/README.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

interface Written {
  readonly page: string;
  readonly line: string;
  readonly words: readonly string[];
}

/** The command lines of the page's code blocks. */
function commandLines(page: string): Written[] {
  const blocks = readFileSync(page, 'utf8').matchAll(/^```\w*\n([\s\S]*?)^```/gm);
  return [...blocks].flatMap(([, block = '']) =>
    block
      .replaceAll('\\\n', ' ')
      .split('\n')
      .flatMap((line) => {
        const [, rest] = /(?:^|[|&(;$] ?|^\S+=\S+ |npx )sluice ([a-z-][^|#>)]*)/.exec(line) ?? [];
        return rest === undefined ? [] : [{ page, line, words: rest.trim().split(/\s+/) }];
      }),
  );
}

/** The command that the words lead to, and the words after it. */
function follow(words: readonly string[]): { command: Command; rest: readonly string[] } {
  let command: Command = createProgram();
  for (const [index, word] of words.entries()) {
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) return { command, rest: words.slice(index) };
    command = next;
  }
  return { command, rest: [] };
}

/** Commands that a sentence names, often without their arguments. */
function namedCommands(page: string): Written[] {
  const named = readFileSync(page, 'utf8').matchAll(/`(?:npx )?sluice ([a-z][^`…|]*)/g);
  return [...named].map(([line, rest = '']) => ({ page, line, words: rest.trim().split(/\s+/) }));
}

const WRITTEN = PAGES.flatMap(commandLines);
const NAMED = PAGES.flatMap(namedCommands);

test('both are found', () => {
  expect(WRITTEN.length).toBeGreaterThan(5);
  expect(NAMED.length).toBeGreaterThan(20);
});

test.each(NAMED)('$page names $line', ({ words }) => {
  const { command, rest } = follow(words);
  expect(createProgram().commands.map((one) => one.name())).toContain(words[0]);
  const known = command.options.flatMap(({ long }) => long ?? []);
  for (const option of rest.filter((word) => word.startsWith('--'))) {
    expect(known).toContain(option.replace(/=.*/, ''));
  }
  // A command with commands of its own may be named alone.
  if (command.commands.length > 0) expect(rest).toEqual([]);
});

test.each(WRITTEN)('$page: $line', ({ words }) => {
  const { command, rest } = follow(words);
  expect(command.commands, `${words.join(' ')} names no command`).toEqual([]);
  const known = command.options.flatMap(({ long, short }) => [long, short]);
  for (const option of rest.filter((word) => word.startsWith('--'))) {
    expect([...known, '--help']).toContain(option.replace(/=.*/, ''));
  }
  const required = command.registeredArguments.filter((one) => one.required).length;
  expect(rest.length).toBeGreaterThanOrEqual(required);
});
