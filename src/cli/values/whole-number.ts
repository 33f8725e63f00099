/** Whole numbers as values of options. */
import { InvalidArgumentError } from 'commander';

export function wholeNumber(max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= 1 && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
  };
}
