/** `sluice completion`: bash completes what the program has. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

import { CLI_COMMANDS } from '../support/cli-commands.ts';
import { runCommand } from '../support/command.ts';
import { ROOT } from '../support/server.ts';

/** What bash offers after these words; the last may be begun. */
function offered(...words: string[]): string[] {
  const script = [
    'source <(node bin/sluice.js completion bash)',
    'COMP_WORDS=(sluice "$@"); COMP_CWORD=$#',
    '_sluice',
    `printf "%s\\n" "\${COMPREPLY[@]}"`,
    'complete -p sluice >&2',
  ].join('\n');
  const { PATH = '', HOME = '' } = process.env;
  const result = spawnSync('bash', ['--norc', '-c', script, 'bash', ...words], {
    cwd: ROOT,
    env: { PATH, HOME },
    encoding: 'utf8',
  });
  expect(result).toMatchObject({ status: 0, stderr: 'complete -o default -F _sluice sluice\n' });
  return result.stdout.split('\n').filter((line) => line !== '');
}

test('commands, then their commands, then their options and values', () => {
  const names = [...new Set(CLI_COMMANDS.map(([name]) => name))];
  expect(offered('').filter((word) => !word.startsWith('-'))).toEqual(names);
  expect(offered('k')).toEqual(['key']);
  expect(offered('key', 'c')).toEqual(['create']);
  expect(offered('key', 'create', '--k')).toEqual(['--kind']);
  expect(offered('key', 'create', '--kind', '')).toEqual(['agent', 'workspace']);
  expect(offered('rules', 'list', '--status', 's')).toEqual(['stable']);
  expect(offered('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
});

test('the value of an option, and a file, are left to the shell', () => {
  expect(offered('key', 'create', '--name', '')).toEqual([]);
  expect(offered('scan', 'README')).toEqual([]);
});

test.each(['bash', 'zsh', 'fish'])('%s: the script names every command', async (shell) => {
  const { stdout, code } = await runCommand(['completion', shell]);
  expect(code).toBe(0);
  for (const word of CLI_COMMANDS.flat()) expect(stdout).toContain(word);
});

test('a shell that is not known is refused', async () => {
  expect(await runCommand(['completion', 'cmd'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('bash, zsh, fish'),
  });
});
