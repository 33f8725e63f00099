/** A planted defect: one piece of text in one source file replaced, and the tests that must fail. */
export interface Mutant {
  /** unique; the part before the slash is the subject */
  readonly name: string;
  /** what is wrong with the program, for the table in docs/testing.md */
  readonly defect: string;
  readonly file: string;
  /** occurs exactly once in the file */
  readonly search: string;
  readonly replacement: string;
  /** one of the files must fail */
  readonly tests: readonly string[];
  /** runs only tests whose full name matches, as `vitest -t` does */
  readonly only?: string;
}
