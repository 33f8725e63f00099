/**
 * Owns the question what kind of step a span or log record is, by the conventions' tables. First
 * fit wins, over the conventions in their order.
 */
import type { JsonValue, Step } from '../../../model.ts';
import { createBudget } from './budget.ts';
import type { KindRow, StepKind } from './convention.ts';
import { isObject, open } from './value-text.ts';

/** The kind a step shows by itself. @param rows of the conventions that are about it */
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
  const told = attributes[row.key];
  const value = told === undefined || row.member === undefined ? told : memberOf(told, row.member);
  return value === undefined ? undefined : own(row.kinds, word(value));
}

function memberOf(structure: JsonValue, name: string): JsonValue | undefined {
  const opened = open(structure, createBudget());
  return isObject(opened) && Object.hasOwn(opened, name) ? opened[name] : undefined;
}

/** Some producers write every value as JSON, so that a word comes in quotes. */
function word(value: JsonValue): string {
  return typeof value === 'string' ? value.replaceAll('"', '').toLowerCase() : String(value);
}

function own(kinds: Readonly<Record<string, StepKind>>, name: string): StepKind | undefined {
  return Object.hasOwn(kinds, name) ? kinds[name] : undefined;
}
