/**
 * Splits rows into groups of one statement each. A statement's parameters are arrays that are
 * serialized in one turn of the event loop, so too many rows at once would block it.
 */

/** Most rows of a statement; serializing ten columns of that many takes two milliseconds. */
const ROWS_MAX = 1000;
/** Most characters of text in a statement's rows; a single row may have more. */
const CHARACTERS_MAX = 512 * 1024;

/**
 * Splits rows into groups, in order; yields nothing for no rows.
 *
 * @param charactersOf the length of a row's texts, where that varies
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
