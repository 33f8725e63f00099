/** `sluice completion`: bash, zsh and fish complete what the program has. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { shellsFound } from '../support/programs.ts';
import { ROOT } from '../support/server.ts';
import { CLI_COMMANDS } from './cli-commands.ts';

type Shell = 'bash' | 'zsh' | 'fish';

/** Calls the function that `complete` names. */
const BASH = [
  'source "$SCRIPT"',
  'words=($1); [[ $1 == *" " ]] && words+=("")',
  `COMP_WORDS=("\${words[@]}"); COMP_CWORD=$((\${#words[@]} - 1))`,
  '_sluice',
  `printf "%s\\n" "\${COMPREPLY[@]}"`,
  '[[ "$(complete -p sluice)" == "complete -o default -F _sluice sluice" ]]',
].join('\n');

/** The file is loaded by name, as from the folder of the user's completions. */
const ZSHRC = [
  'PROMPT= fpath=($FOLDER $fpath)',
  'autoload -Uz compinit; compinit -D -u',
  "bindkey '^I' complete-word",
  "zstyle ':completion:*' insert-tab false",
  "mark() { print -r - '<mark>' }",
  'compprefuncs=(mark) comppostfuncs=(mark)',
  'compadd() {',
  `  if [[ " $* " == *' -'[OAD]' '* ]]; then builtin compadd "$@"; return; fi`,
  '  local -a hits',
  '  builtin compadd -A hits "$@"',
  '  (( $#hits )) && print -l -- $hits',
  '  builtin compadd "$@"',
  '}',
  'print ready',
].join('\n');

/** Presses the tab key in an interactive zsh, and copies what it prints between two marks. */
const ZSH = [
  'zmodload zsh/zpty',
  'zpty z zsh -i',
  'local line; integer marks=0',
  'while zpty -r z line; do [[ $line == *ready* ]] && break; done',
  `zpty -w -n z "$1"$'\\t'`,
  'while (( marks < 2 )) && zpty -r z line; do',
  "  if [[ $line == *'<mark>'* ]]; then (( marks += 1 )); else print -rn -- $line; fi",
  'done',
  'zpty -d z',
].join('\n');

const FISH = 'source $SCRIPT; complete -C "$argv[1]"';

const COMMANDS: Readonly<Record<Shell, (line: string) => readonly string[]>> = {
  bash: (line) => ['--norc', '-c', BASH, 'bash', line],
  zsh: (line) => ['-f', '-c', ZSH, 'zsh', line],
  fish: (line) => ['--no-config', '-c', FISH, line],
};

const scripts = new Map<Shell, string>();

function scriptFor(shell: Shell): string {
  const known = scripts.get(shell);
  if (known !== undefined) return known;
  const args = ['bin/sluice.js', 'completion', shell];
  const { stdout } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  scripts.set(shell, stdout);
  return stdout;
}

/**
 * The words that a shell offers, in its order, in a folder with a file README.md.
 * @param line as typed, with a blank at its end where a new word begins
 */
function offeredBy(shell: Shell, line: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-shell-'));
  try {
    const environment = { PATH: process.env.PATH ?? '', HOME: folder, TERM: 'xterm' };
    const script = join(folder, '_sluice');
    writeFileSync(script, scriptFor(shell));
    writeFileSync(join(folder, 'README.md'), '');
    writeFileSync(join(folder, '.zshrc'), ZSHRC);
    const { status, stdout, stderr } = spawnSync(shell, COMMANDS[shell](line), {
      cwd: folder,
      env: { ...environment, ZDOTDIR: folder, FOLDER: folder, SCRIPT: script },
      encoding: 'utf8',
      timeout: 60_000,
    });
    if (status !== 0) throw new Error(`${shell} ended with ${status}: ${stderr}`);
    const words = stdout
      .split(/\r?\n/)
      .map((one) => one.split('\t')[0] ?? '')
      .filter((one) => one !== '' && !one.includes('\u001b'));
    // fish 4 lists words that have the typed letters anywhere too; it offers those that begin with them first.
    const typed = line.slice(line.lastIndexOf(' ') + 1);
    const begun = words.filter((word) => word.startsWith(typed));
    return begun.length > 0 ? begun : words;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

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
