/** Options of the benchmarks' commands. */
import { InvalidArgumentError } from 'commander';

/** @throws {InvalidArgumentError} for anything but a whole number above 0 */
export function positive(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('A whole number above 0.');
  return Number(text);
}

/**
 * Adds a setting to those given before.
 *
 * @param text as `INGEST_DEDUPLICATE=off`
 */
export function setting(
  text: string,
  others: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError('A setting is NAME=value.');
  }
  return { ...others, [name]: value };
}
