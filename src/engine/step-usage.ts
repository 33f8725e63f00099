/**
 * Owns the tokens and the cost of steps, as their senders report them, and the sums over a run. A step
 * whose descendants report some is left out of a sum: agents often repeat the sum of their calls.
 */
import type { JsonObject, JsonValue } from '../model/json.ts';
import type { Usage } from '../model/step-details.ts';
import type { Step } from '../model/steps.ts';
import { USAGE_ROWS, type UsageRow } from './surfaces/conventions/usage.ts';
import { isObject } from './surfaces/reader/value-text.ts';

/** A longer string is no structure with a few numbers. */
export const STRUCTURE_UNITS_MAX = 4096;
/** Above this, sums of doubles are no longer exact, and nothing was counted. */
const AMOUNT_MAX = Number.MAX_SAFE_INTEGER;

const FIELDS = ['inputTokens', 'outputTokens', 'costUsd'] as const;

export const NO_USAGE: Usage = { inputTokens: null, outputTokens: null, costUsd: null };

function memberOf(value: JsonValue, member: string): JsonValue | undefined {
  if (isObject(value)) return value[member];
  if (typeof value !== 'string' || value.length > STRUCTURE_UNITS_MAX) return undefined;
  try {
    const parsed = JSON.parse(value) as JsonValue;
    return isObject(parsed) ? parsed[member] : undefined;
  } catch {
    return undefined;
  }
}

function amountOf(value: JsonValue | undefined): number | null {
  const isNumeric = typeof value === 'string' && /^\d+(\.\d+)?(e-?\d+)?$/i.test(value);
  const amount = isNumeric ? Number(value) : value;
  return typeof amount === 'number' && amount >= 0 && amount <= AMOUNT_MAX ? amount : null;
}

function firstAmount(attributes: JsonObject, rows: readonly UsageRow[]): number | null {
  for (const { key, member } of rows) {
    const value = Object.hasOwn(attributes, key) ? attributes[key] : undefined;
    if (value === undefined) continue;
    const amount = amountOf(member === undefined ? value : memberOf(value, member));
    if (amount !== null) return amount;
  }
  return null;
}

/** The usage that a step reports. Tokens are whole numbers. */
export function usageOf({ attributes }: Pick<Step, 'attributes'>): Usage {
  const tokens = (rows: readonly UsageRow[]): number | null => {
    const amount = firstAmount(attributes, rows);
    return amount === null ? null : Math.round(amount);
  };
  return {
    inputTokens: tokens(USAGE_ROWS.inputTokens),
    outputTokens: tokens(USAGE_ROWS.outputTokens),
    costUsd: firstAmount(attributes, USAGE_ROWS.costUsd),
  };
}

const isReported = (usage: Usage): boolean => FIELDS.some((field) => usage[field] !== null);

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
  const sumOf = (field: keyof Usage): number | null => {
    const has = (index: number): boolean => (usages[index]?.[field] ?? null) !== null;
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
  return {
    inputTokens: sumOf('inputTokens'),
    outputTokens: sumOf('outputTokens'),
    costUsd: sumOf('costUsd'),
  };
}
