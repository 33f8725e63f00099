/** Options, examples and arguments that commands share, and options as the query of a request. */
import { type Command, InvalidArgumentError } from 'commander';
import { ruleId } from '../http/api/rules/rule-schema.ts';
import type { OutputOptions } from './answer.ts';
import { type PlaceOptions, serverOption } from './remote/logins.ts';
import type { Query } from './remote/server-call.ts';

/** Adds `--json` and examples, without `sluice`. */
export function withExamples(command: Command, ...examples: string[]): Command {
  const lines = examples.map((example) => `\n  sluice ${example}`).join('');
  return command
    .option('--json', 'print JSON')
    .addHelpText('after', `\n${examples.length === 1 ? 'Example' : 'Examples'}:${lines}`);
}

/** The same, for a command that works on the local database or on a server. */
export function withPlaces(command: Command, ...examples: string[]): Command {
  command
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .addOption(serverOption());
  return withExamples(command, ...examples);
}

/** Options that are parameters of a query, in camel case. */
export type QueryOptions = OutputOptions &
  PlaceOptions &
  Readonly<Record<string, string | boolean | undefined>>;

/** @param names of parameters that the options have another name for */
export function queryOf(
  { json, workspace, server, ...options }: QueryOptions,
  names: Readonly<Record<string, string>> = {},
): Query {
  const parameters = Object.entries(options).map(([option, value]) => {
    const name = option.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [names[option] ?? name, value?.toString()];
  });
  return Object.fromEntries(parameters);
}

/** Largest id of a row that a person names. */
export const ID_MAX = 2 ** 31 - 1;

export function wholeNumber(max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= 1 && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
  };
}

export function ruleIdArgument(text: string): string {
  if (ruleId.safeParse(text).success) return text;
  throw new InvalidArgumentError('a rule id looks like ATR-2026-00001');
}
