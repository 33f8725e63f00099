/**
 * Owns the tokens and the cost of steps, as their senders report them, and the sums over a run. A step
 * whose descendants report some is left out of a sum: agents often repeat the sum of their calls.
 */
import { type JsonObject, type JsonValue, parsedJson } from '../model/json.ts';
import type { Step } from '../model/steps.ts';
import { isReported, NO_USAGE, type Usage, type UsageField, usageFrom } from '../model/usage.ts';
import { USAGE_ROWS, type UsageRow } from './surfaces/conventions/usage.ts';
import { isObject } from './surfaces/reader/value-text.ts';

/** A longer string is no structure with a few numbers. */
export const STRUCTURE_UNITS_MAX = 4096;
/** Above this, sums of doubles are no longer exact, and nothing was counted. */
const AMOUNT_MAX = Number.MAX_SAFE_INTEGER;

/** By attribute what it may report, and how many rows are before this one. */
const READS = new Map<string, { field: UsageField; row: number; member?: string }[]>();
for (const [field, rows] of Object.entries(USAGE_ROWS) as [UsageField, readonly UsageRow[]][]) {
  for (const [row, { key, member }] of rows.entries()) {
    READS.set(key, [
      ...(READS.get(key) ?? []),
      { field, row, ...(member !== undefined && { member }) },
    ]);
  }
}

function structureOf(value: JsonValue | undefined): JsonObject {
  if (isObject(value)) return value;
  if (typeof value !== 'string' || value.length > STRUCTURE_UNITS_MAX) return {};
  const parsed = parsedJson(value);
  return isObject(parsed) ? parsed : {};
}

function amountOf(value: JsonValue | undefined): number | null {
  const isNumeric = typeof value === 'string' && /^\d+(\.\d+)?(e-?\d+)?$/i.test(value);
  const amount = isNumeric ? Number(value) : value;
  return typeof amount === 'number' && amount >= 0 && amount <= AMOUNT_MAX ? amount : null;
}

export function usageOf({ attributes }: Pick<Step, 'attributes'>): Usage {
  const found = new Map<UsageField, { row: number; amount: number }>();
  for (const key of Object.keys(attributes)) {
    const reads = READS.get(key);
    if (reads === undefined) continue;
    const value = attributes[key];
    const structure = reads.some(({ member }) => member !== undefined) ? structureOf(value) : {};
    for (const { field, row, member } of reads) {
      const amount = amountOf(member === undefined ? value : structure[member]);
      if (amount !== null && row < (found.get(field)?.row ?? Number.POSITIVE_INFINITY)) {
        found.set(field, { row, amount });
      }
    }
  }
  if (found.size === 0) return NO_USAGE;
  return usageFrom((field) => {
    const amount = found.get(field)?.amount ?? null;
    return amount === null || field === 'costUsd' ? amount : Math.round(amount);
  });
}

type UsageStep = Pick<Step, 'source' | 'spanId' | 'parentSpanId' | 'attributes'>;

/** The spans above the steps for which `has` is true; linear, and a cycle ends at itself. */
function spansAbove(
  steps: readonly UsageStep[],
  has: (index: number) => boolean,
): ReadonlySet<string> {
  const parents = new Map<string, string | null>();
  for (const { source, spanId, parentSpanId } of steps) {
    if (source === 'span' && spanId !== null) parents.set(spanId, parentSpanId);
  }
  const above = new Set<string>();
  steps.forEach(({ source, spanId, parentSpanId }, index) => {
    if (!has(index)) return;
    let span = source === 'log' ? spanId : parentSpanId;
    while (span !== null && parents.has(span) && !above.has(span)) {
      above.add(span);
      span = parents.get(span) ?? null;
    }
  });
  return above;
}

/** The sums over a run; null for what no step reports. */
export function totalUsage(steps: readonly UsageStep[]): Usage {
  const usages = steps.map(usageOf);
  const sumOf = (field: UsageField): number | null => {
    const has = (index: number): boolean => (usages[index]?.[field] ?? null) !== null;
    if (!usages.some((_, index) => has(index))) return null;
    const above = spansAbove(steps, has);
    let sum: number | null = null;
    for (const [index, { source, spanId }] of steps.entries()) {
      const amount = usages[index]?.[field] ?? null;
      const isRepeated = source === 'span' && spanId !== null && above.has(spanId);
      if (amount !== null && !isRepeated) sum = (sum ?? 0) + amount;
    }
    return sum === null ? null : Math.min(sum, AMOUNT_MAX);
  };
  if (!usages.some(isReported)) return NO_USAGE;
  return usageFrom(sumOf);
}
