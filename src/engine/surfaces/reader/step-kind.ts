/**
 * Owns the kind of a span or log record, by the conventions' rows. The first row that fits counts,
 * over the conventions in their order.
 */
import type { JsonValue } from '../../../model/json.ts';
import type { Step, StepKind } from '../../../model/steps.ts';
import { createBudget } from './budget.ts';
import type { KindRow } from './convention.ts';
import { isObject, open } from './value-text.ts';

/** The kind that a step shows by itself. @param rows of the conventions that apply to it */
export function stepKindOf(step: Step, rows: readonly KindRow[]): StepKind {
  for (const row of rows) {
    const kind = kindBy(row, step);
    if (kind !== undefined) return kind;
  }
  return 'other';
}

function kindBy(row: KindRow, { attributes, name }: Step): StepKind | undefined {
  if ('names' in row) return own(row.names, name) ?? own(row.names, name.split(' ', 1)[0] ?? '');
  if ('has' in row) return attributes[row.has] === undefined ? undefined : row.kind;
  const whole = attributes[row.key];
  const value =
    whole === undefined || row.member === undefined ? whole : memberOf(whole, row.member);
  return value === undefined ? undefined : own(row.kinds, toWord(value));
}

function memberOf(structure: JsonValue, name: string): JsonValue | undefined {
  const opened = open(structure, createBudget());
  return isObject(opened) && Object.hasOwn(opened, name) ? opened[name] : undefined;
}

/** Some products encode every value as JSON, which puts a word in quotes. */
function toWord(value: JsonValue): string {
  return typeof value === 'string' ? value.replaceAll('"', '').toLowerCase() : String(value);
}

function own(kinds: Readonly<Record<string, StepKind>>, name: string): StepKind | undefined {
  return Object.hasOwn(kinds, name) ? kinds[name] : undefined;
}
