/**
 * Owns the finding of the rows that can tell anything of some attributes. There are hundreds of rows and
 * a dozen attributes, so the attributes are looked up in the rows.
 */
import type { JsonObject } from '../../model.ts';
import type { AttributeRow } from './convention.ts';

/** Rows in telling order. */
export class RowTable {
  readonly #rows: readonly AttributeRow[];
  /** key → places of the rows about it */
  readonly #byKey = new Map<string, number[]>();
  readonly #prefixes: (readonly [prefix: string, place: number])[] = [];
  /** places of the rows about something else than attributes */
  readonly #others: number[] = [];

  constructor(rows: readonly AttributeRow[]) {
    this.#rows = rows;
    for (const [place, row] of rows.entries()) {
      if ('key' in row) this.#byKey.set(row.key, [...(this.#byKey.get(row.key) ?? []), place]);
      else if ('prefix' in row) this.#prefixes.push([row.prefix, place]);
      else this.#others.push(place);
    }
  }

  /** The rows about these attributes, and those about none, in telling order. */
  about(attributes: JsonObject): AttributeRow[] {
    const places = new Set(this.#others);
    for (const key of Object.keys(attributes)) {
      const exact = this.#byKey.get(key);
      if (exact !== undefined) for (const place of exact) places.add(place);
      for (const [prefix, place] of this.#prefixes) if (key.startsWith(prefix)) places.add(place);
    }
    const inOrder = [...places].sort((one, other) => one - other);
    return inOrder.flatMap((place) => this.#rows[place] ?? []);
  }
}

const tables = new WeakMap<readonly AttributeRow[], RowTable>();

/** The table of rows that stand in a convention. */
export function rowTable(rows: readonly AttributeRow[]): RowTable {
  const known = tables.get(rows);
  if (known !== undefined) return known;
  const table = new RowTable(rows);
  tables.set(rows, table);
  return table;
}
