/**
 * Owns the choice of the rows that can read any of a step's attributes. There are hundreds of rows
 * and a dozen attributes, so the attributes are looked up in the rows.
 */
import type { JsonObject } from '../../../model/json.ts';
import type { AttributeRow } from './convention.ts';

export class RowTable {
  readonly #rows: readonly AttributeRow[];
  /** key → indexes of the rows for it */
  readonly #byKey = new Map<string, number[]>();
  readonly #prefixes: (readonly [prefix: string, index: number])[] = [];
  /** indexes of the rows that are always tried, because they read no attribute */
  readonly #others: number[] = [];

  constructor(rows: readonly AttributeRow[]) {
    this.#rows = rows;
    for (const [index, row] of rows.entries()) {
      if ('key' in row) this.#byKey.set(row.key, [...(this.#byKey.get(row.key) ?? []), index]);
      else if ('prefix' in row) this.#prefixes.push([row.prefix, index]);
      else this.#others.push(index);
    }
  }

  /** Checks whether a row reads the attribute with this key, on steps of some kind. */
  reads(key: string): boolean {
    return (
      this.#byKey.has(key) ||
      this.#prefixes.some(([prefix, index]) => {
        const row = this.#rows[index];
        const suffix = row !== undefined && 'suffix' in row ? (row.suffix ?? '') : '';
        return key.startsWith(prefix) && key.endsWith(suffix);
      })
    );
  }

  /** All rows that can read any of these attributes, in reading order, perhaps with others. */
  rowsFor(attributes: JsonObject): AttributeRow[] {
    const indexes = new Set(this.#others);
    for (const key of Object.keys(attributes)) {
      for (const index of this.#byKey.get(key) ?? []) indexes.add(index);
      for (const [prefix, index] of this.#prefixes) if (key.startsWith(prefix)) indexes.add(index);
    }
    const inOrder = [...indexes].sort((one, other) => one - other);
    return inOrder.flatMap((index) => this.#rows[index] ?? []);
  }
}
