/** The commands that `sluice` has, read from the program itself. */
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.ts';

function leavesOf(command: Command, path: readonly string[]): (readonly string[])[] {
  if (command.commands.length === 0) return [path];
  return command.commands.flatMap((one) => leavesOf(one, [...path, one.name()]));
}

/** Every command that does something, as its words: `['key', 'create']`. */
export const CLI_COMMANDS: readonly (readonly string[])[] = leavesOf(createProgram(), []);
