/** `sluice completion`: bash, zsh and fish complete what the program has. */
import { describe, expect, test } from 'vitest';

import { CLI_COMMANDS } from '../support/cli-commands.ts';
import { runCommand } from '../support/command.ts';
import { shellsFound } from '../support/programs.ts';
import { offeredBy, type Shell } from '../support/shells.ts';

const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish'];

describe.each(SHELLS)('%s', (shell) => {
  test('the script names every command', async () => {
    const { stdout, code } = await runCommand(['completion', shell]);
    expect(code).toBe(0);
    for (const word of CLI_COMMANDS.flat()) expect(stdout).toContain(word);
  });

  describe.runIf(shellsFound.includes(shell))('offers', () => {
    const offered = (line: string): string[] => offeredBy(shell, line);
    /** fish sorts, and offers options only after a dash. */
    const words = (line: string) => offered(line).filter((word) => !word.startsWith('-'));

    test('commands, then their commands, then their options and values', () => {
      const names = [...new Set(CLI_COMMANDS.map(([name]) => name))];
      expect(words('sluice ').toSorted()).toEqual(names.toSorted());
      expect(offered('sluice k')).toEqual(['key']);
      expect(offered('sluice key c')).toEqual(['create']);
      expect(offered('sluice key create --k')).toEqual(['--kind']);
      expect(offered('sluice key create --kind ')).toEqual(['agent', 'workspace']);
      expect(offered('sluice rules list --status s')).toEqual(['stable']);
      expect(words('sluice completion ').toSorted()).toEqual(['bash', 'fish', 'zsh']);
    });

    test('no value of an option that may be any text, and file names where one may come', () => {
      const known = new Set(CLI_COMMANDS.flat());
      expect(words('sluice key create --name ').filter((word) => known.has(word))).toEqual([]);
      // bash completes file names by itself where the script offers nothing.
      const files = shell === 'bash' ? [] : ['README.md'];
      expect(offered('sluice scan READ')).toEqual(files);
    });
  });
});

test('a shell that is not known is refused', async () => {
  expect(await runCommand(['completion', 'cmd'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('bash, zsh, fish'),
  });
});
