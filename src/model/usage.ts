/** The tokens and the cost of model calls, as their senders report them. */

/** Each amount, the column of `runs` with the sum of a run's steps, which is its name in the API too, and its label. */
export const USAGE_COLUMNS = [
  ['inputTokens', 'input_tokens', 'Tokens in'],
  ['outputTokens', 'output_tokens', 'Tokens out'],
  ['cacheReadTokens', 'cache_read_tokens', 'Read from cache'],
  ['cacheWriteTokens', 'cache_write_tokens', 'Written to cache'],
  ['reasoningTokens', 'reasoning_tokens', 'Reasoning'],
  ['costUsd', 'cost_usd', 'Cost'],
] as const;

type Column = (typeof USAGE_COLUMNS)[number];
export type UsageField = Column[0];

/**
 * Amounts are null where no sender reports them. Most senders count the tokens of caches in the input too, and those of
 * reasoning in the output; Anthropic's products count those of caches beside the input.
 */
export type Usage = Readonly<Record<UsageField, number | null>>;

export function usageFrom(amountOf: (field: UsageField) => number | null): Usage {
  return Object.fromEntries(USAGE_COLUMNS.map(([field]) => [field, amountOf(field)])) as Usage;
}

/** A member of the API for each amount. */
export const usageInApi = <Value>(of: (field: UsageField) => Value) =>
  Object.fromEntries(USAGE_COLUMNS.map(([field, column]) => [column, of(field)])) as Record<
    Column[1],
    Value
  >;

export const NO_USAGE = usageFrom(() => null);

export const isReported = (usage: Usage): boolean =>
  USAGE_COLUMNS.some(([field]) => usage[field] !== null);
