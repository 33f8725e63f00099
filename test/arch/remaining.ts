/** Violations that are still in `src`. Only ever shrinks; delete this file with its last entry. */

/** Room → private words in its comments and names. */
export const REMAINING_WORDS: Readonly<Record<string, number>> = {
  http: 4,
  ingest: 3,
  otlp: 45,
};

/** Exported type names that two files have. */
export const REMAINING_TYPES: readonly string[] = ['TextRange'];
