/**
 * Violations that are still in `src` and `test`. Only ever shrinks; delete this file with its last
 * entry.
 */

/** Room → private words in its comments and names. */
export const REMAINING_WORDS: Readonly<Record<string, number>> = {
  db: 60,
  engine: 88,
  http: 1,
  ingest: 3,
  main: 1,
  otlp: 45,
};

/** Exported type names that two files have. */
export const REMAINING_TYPES: readonly string[] = [
  'Account',
  'Evaluation',
  'Refusal',
  'Scope',
  'Step',
  'TextRange',
];
