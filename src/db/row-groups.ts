/**
 * Rows in groups that one statement takes: its parameters are arrays, made into text in one turn of the
 * event loop, which thousands of rows would hold for as long as all of them take.
 */

/** Rows of a statement; ten columns of this many are text within two milliseconds. */
const ROWS_MAX = 1000;
/** Characters of the texts of a statement's rows; one row may have more. */
const CHARACTERS_MAX = 512 * 1024;

/**
 * Splits rows into groups, in order; of no rows, none.
 *
 * @param charactersOf how much text a row holds, where that differs
 */
export function* rowGroups<Row>(
  rows: readonly Row[],
  charactersOf: (row: Row) => number = () => 0,
): Generator<readonly Row[], void> {
  let start = 0;
  let characters = 0;
  for (const [index, row] of rows.entries()) {
    const own = charactersOf(row);
    const isFull = index - start >= ROWS_MAX || characters + own > CHARACTERS_MAX;
    if (isFull && index > start) {
      yield rows.slice(start, index);
      start = index;
      characters = 0;
    }
    characters += own;
  }
  if (start < rows.length) yield start === 0 ? rows : rows.slice(start);
}
