/** Owns the question whether a convention is about a step at all. */
import type { Step } from '../../model.ts';
import type { Convention } from './convention.ts';

/** Does the step show one of the convention's marks? One without marks is about every step. */
export function applies({ on }: Convention, { scopeName, serviceName, attributes }: Step): boolean {
  if (on === undefined) return true;
  const begins = (text: string | null, beginnings: readonly string[] = []) =>
    text !== null && beginnings.some((beginning) => text.startsWith(beginning));
  return (
    begins(scopeName, on.scopes) ||
    begins(serviceName, on.services) ||
    (on.attributes ?? []).some((key) => attributes[key] !== undefined)
  );
}
