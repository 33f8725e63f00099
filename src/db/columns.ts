/** Rows as parameters of a statement: one array for each column. */

/** By the column's name: the type of its values, and the value in each row. */
export type Columns<Row> = Readonly<
  Record<string, readonly [type: string, value: (row: Row) => unknown]>
>;

/** SQL of the rows as table `t`, numbered by `place` from 1; `first` is the number of the first parameter. */
export function tableOf<Row>(columns: Columns<Row>, first = 1): string {
  const arrays = Object.values(columns).map(([type], index) => `$${first + index}::${type}[]`);
  return `unnest(${arrays.join(', ')}) WITH ORDINALITY AS t (${Object.keys(columns).join(', ')}, place)`;
}

export function valuesOf<Row>(columns: Columns<Row>, rows: readonly Row[]): unknown[][] {
  return Object.values(columns).map(([, value]) => rows.map(value));
}
