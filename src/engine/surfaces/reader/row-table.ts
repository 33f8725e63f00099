/**
 * Owns the finding of the rows that can tell anything of some attributes. There are hundreds of rows and
 * a dozen attributes, so the attributes are looked up in the rows.
 */
import type { JsonObject } from '../../../model.ts';
import type { AttributeRow } from './convention.ts';

/** Rows in telling order. */
export class RowTable {
  readonly #rows: readonly AttributeRow[];
  /** key → place of the first row about it */
  readonly #byKey = new Map<string, number>();
  readonly #prefixes: (readonly [prefix: string, place: number])[] = [];
  /** places of the rows that are asked always: about no attribute, or the second about one key */
  readonly #others: number[] = [];

  constructor(rows: readonly AttributeRow[]) {
    this.#rows = rows;
    for (const [place, row] of rows.entries()) {
      if ('key' in row && !this.#byKey.has(row.key)) this.#byKey.set(row.key, place);
      else if ('prefix' in row) this.#prefixes.push([row.prefix, place]);
      else this.#others.push(place);
    }
  }

  /** All rows that can tell anything of these attributes, in telling order; there may be others among them. */
  about(attributes: JsonObject): AttributeRow[] {
    const places = new Set(this.#others);
    for (const key of Object.keys(attributes)) {
      const exact = this.#byKey.get(key);
      if (exact !== undefined) places.add(exact);
      for (const [prefix, place] of this.#prefixes) if (key.startsWith(prefix)) places.add(place);
    }
    const inOrder = [...places].sort((one, other) => one - other);
    return inOrder.flatMap((place) => this.#rows[place] ?? []);
  }
}
