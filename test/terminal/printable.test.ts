/** What terminals get of names: no escape sequence but the colours of `paint`. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { plain, printable } from '../../src/terminal/output.ts';

const HOSTILE = 'a\u001b[2Jb\u202ec\u009bd\u0007e\u2028f';
const SHOWN = 'a⟨U+001B⟩[2Jb⟨U+202E⟩c⟨U+009B⟩d⟨U+0007⟩e⟨U+2028⟩f';

/** Prints a red word and a hostile name, where standard output is a terminal. */
const IN_TERMINAL = `
  process.stdout.isTTY = true;
  const { paint } = await import('./src/terminal/output.ts');
  const { printable } = await import('./src/terminal/output.ts');
  process.stdout.write(printable(paint.red('red') + '\\n' + ${JSON.stringify(HOSTILE)}));
`;

test('a name is one line, with its invisible characters by name', () => {
  expect(plain(HOSTILE)).toBe(SHOWN);
  expect(plain('one\r\n\ttwo')).toBe('one two');
  expect(plain('\u001b[31mred')).toBe('⟨U+001B⟩[31mred');
});

test('a text keeps its lines and, in a terminal, its colours', () => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', IN_TERMINAL],
    {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, TERM: 'xterm', FORCE_COLOR: '1', TSX_DISABLE_CACHE: '1' },
    },
  );
  expect(stderr).toBe('');
  expect(stdout).toBe(`\u001b[31mred\u001b[39m\n${SHOWN}`);
});

test('where there are no colours, no escape sequence is one', () => {
  expect(printable(`\u001b[31mred\n${HOSTILE}`)).toBe(`⟨U+001B⟩[31mred\n${SHOWN}`);
});
