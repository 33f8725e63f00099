/** `sluice completion bash|zsh|fish`: completion scripts, made from the program's own command tree. */
import { Argument, type Command, type Option } from 'commander';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

interface Word {
  readonly word: string;
  readonly about: string;
}

/** One command: the words that can follow it, and the values of its options. */
interface Node {
  /** as `key create`; empty for `sluice` itself */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly Word[];
  /** of arguments with a fixed choice */
  readonly values: readonly string[];
  /** options that take a value; without choices nothing is offered */
  readonly taking: readonly { readonly word: string; readonly choices: readonly string[] }[];
}

function wordsOf({ long, short }: Option): string[] {
  return [long, short].filter((one) => typeof one === 'string');
}

function nodesOf(command: Command, path: readonly string[]): Node[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((one) => one.name() !== 'help');
  const options = help.visibleOptions(command);
  const node: Node = {
    path: path.join(' '),
    commands: commands.map((one) => ({ word: one.name(), about: one.description() })),
    options: options.flatMap((option) =>
      wordsOf(option).map((word) => ({ word, about: option.description })),
    ),
    values: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    taking: options
      .filter(({ required, optional }) => required || optional)
      .flatMap((option) =>
        wordsOf(option).map((word) => ({ word, choices: option.argChoices ?? [] })),
      ),
  };
  return [node, ...commands.flatMap((one) => nodesOf(one, [...path, one.name()]))];
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * The shell function that both bash and zsh use: goes through the words before the cursor to the
 * command, and answers with what can follow. Without an answer the shell completes file names.
 */
function walk(nodes: readonly Node[]): string[] {
  return [
    '_sluice_words() {',
    '  local at="" before="$1" word; shift',
    '  for word in "$@"; do',
    '    case "$at $word" in',
    ...nodes.flatMap(({ path, commands }) =>
      commands.map(({ word }) => {
        const next = path === '' ? word : `${path} ${word}`;
        return `      ${quoted(`${path} ${word}`)}) at=${quoted(next)} ;;`;
      }),
    ),
    '    esac',
    '  done',
    '  case "$at $before" in',
    ...nodes.flatMap(({ path, taking }) =>
      taking.map(
        ({ word, choices }) =>
          `    ${quoted(`${path} ${word}`)}) echo ${quoted(choices.join(' '))}; return ;;`,
      ),
    ),
    '  esac',
    '  case "$at" in',
    ...nodes.map(({ path, commands, options, values }) => {
      const words = [...commands.map(({ word }) => word), ...values];
      return `    ${quoted(path)}) echo ${quoted([...words, ...options.map(({ word }) => word)].join(' '))} ;;`;
    }),
    '  esac',
    '}',
  ];
}

function bash(nodes: readonly Node[]): string[] {
  return [
    ...walk(nodes),
    '_sluice() {',
    `  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"`,
    '  local words',
    `  words="$(_sluice_words "$before" "\${COMP_WORDS[@]:1:COMP_CWORD-1}")"`,
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    'complete -o default -F _sluice sluice',
  ];
}

function zsh(nodes: readonly Node[]): string[] {
  return [
    '#compdef sluice',
    ...walk(nodes),
    '_sluice() {',
    '  local -a found',
    `  found=(\${=$(_sluice_words "\${words[CURRENT-1]}" "\${(@)words[2,CURRENT-1]}")})`,
    '  compadd -a found || _files',
    '}',
    // The file itself is the function when zsh loads it from its path.
    'if [ "$funcstack[1]" = _sluice ]; then _sluice; else compdef _sluice sluice; fi',
  ];
}

function fish(nodes: readonly Node[]): string[] {
  const lines = nodes.flatMap(({ path, commands, options, values, taking }) => {
    const seen = path === '' ? [] : path.split(' ');
    const later = commands.map(({ word }) => word).join(' ');
    const here = [
      ...seen.map((word) => `__fish_seen_subcommand_from ${word}`),
      ...(later === '' ? [] : [`not __fish_seen_subcommand_from ${later}`]),
    ].join('; and ');
    const line = (rest: string) =>
      `complete -c sluice ${here === '' ? '' : `-n ${quoted(here)} `}${rest}`;
    return [
      ...commands.map(({ word, about }) => line(`-f -a ${word} -d ${quoted(about)}`)),
      ...values.map((word) => line(`-f -a ${word}`)),
      ...options
        .filter(({ word }) => word.startsWith('--'))
        .map(({ word, about }) => {
          const value = taking.find((one) => one.word === word);
          const takes =
            value === undefined
              ? ''
              : ` -x${value.choices.length > 0 ? ` -a ${quoted(value.choices.join(' '))}` : ''}`;
          return line(`-l ${word.slice(2)}${takes} -d ${quoted(about)}`);
        }),
    ];
  });
  return lines;
}

const WRITERS: Readonly<Record<Shell, (nodes: readonly Node[]) => string[]>> = { bash, zsh, fish };

function completionScript(program: Command, shell: Shell): string {
  return `${WRITERS[shell](nodesOf(program, [])).join('\n')}\n`;
}

/** Adds `completion`. Call last: the script has the commands that are there when it is printed. */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      '\nExamples:\n  source <(sluice completion bash)\n' +
        '  sluice completion zsh > "$fpath[1]/_sluice"\n' +
        '  sluice completion fish > ~/.config/fish/completions/sluice.fish',
    )
    .action((shell: Shell) => {
      process.stdout.write(completionScript(program, shell));
    });
}
