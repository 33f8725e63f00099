/**
 * Where a scanned row stores its values, derived from the table's columns (`src/model/columns.ts`)
 * when a module is loaded. Loops over typed arrays then serve every column of every table; code for
 * a specific column keeps its slot as a constant.
 *
 *   numbers   time: seconds, nanoseconds · id: 1 if present
 *             any other number: itself
 *   ids       16 or 8 bytes each
 *   ranges    start and end of a text in an arena; equal for an empty text
 */
import type { Columns, Encoding } from '../../model/columns.ts';
import { FieldTable } from './field-table.ts';

/** How a row stores a column's value. */
interface Storage {
  /** initial numbers */
  readonly numbers?: readonly number[];
  readonly idBytes?: 8 | 16;
  readonly isText?: true;
}
const NOTHING: Storage = {};
const TIME: Storage = { numbers: [0, 0] };
const NUMBER: Storage = { numbers: [0] };
const TRACE_ID: Storage = { numbers: [0], idBytes: 16 };
const SPAN_ID: Storage = { numbers: [0], idBytes: 8 };
const TEXT: Storage = { isText: true };

/** The code of an encoding is its index in this list. */
const STORAGE: Readonly<Record<Encoding, Storage>> = {
  time: TIME,
  int16: NUMBER,
  counter: NUMBER,
  traceId: TRACE_ID,
  optionalTraceId: TRACE_ID,
  spanId: SPAN_ID,
  optionalSpanId: SPAN_ID,
  text: TEXT,
  optionalText: TEXT,
  attributes: TEXT,
  optionalJson: TEXT,
  composedJson: TEXT,
  workspace: NOTHING,
  arrivalDay: NOTHING,
  sessionRun: NOTHING,
  resource: NOTHING,
};
const ENCODINGS = Object.keys(STORAGE);

/** The code of an encoding. */
export function codeOf(encoding: Encoding): number {
  return ENCODINGS.indexOf(encoding);
}

/** The code of a member that the scanner of its record reads itself. */
const SPECIAL = ENCODINGS.length;

const UINT32_MAX = 0xffffffff;

export class RowLayout<Table extends Columns = Columns> {
  readonly columns: Table;
  /** by column: the code of its encoding */
  readonly codes: Uint8Array;
  /** by column: index of its first number or of its range */
  readonly slots: Uint8Array;
  /** by column: offset of its id */
  readonly idOffsets: Uint8Array;
  /** the numbers of a new row */
  readonly initialNumbers: readonly number[];
  readonly rangeCount: number;
  readonly idBytes: number;

  constructor(columns: Table) {
    this.columns = columns;
    const encodings = Object.values(columns).map(([, encoding]) => encoding);
    this.codes = Uint8Array.from(encodings, codeOf);
    this.slots = new Uint8Array(encodings.length);
    this.idOffsets = new Uint8Array(encodings.length);
    const numbers: number[] = [];
    let ranges = 0;
    let idBytes = 0;
    for (const [column, encoding] of encodings.entries()) {
      const storage = STORAGE[encoding];
      this.slots[column] = storage.isText === true ? 2 * ranges : numbers.length;
      this.idOffsets[column] = idBytes;
      numbers.push(...(storage.numbers ?? []));
      idBytes += storage.idBytes ?? 0;
      if (storage.isText === true) ranges += 1;
    }
    this.initialNumbers = numbers;
    this.rangeCount = ranges;
    this.idBytes = idBytes;
  }

  /** The index of a column's first number or of its range. */
  slot(name: keyof Table & string): number {
    return this.slots[Object.keys(this.columns).indexOf(name)] as number;
  }

  /** The offset of a column's id. */
  idOffset(name: keyof Table & string): number {
    return this.idOffsets[Object.keys(this.columns).indexOf(name)] as number;
  }
}

/** The members of an OTLP message, and how each is read. */
export class RowMembers {
  readonly table: FieldTable;
  /** by member: the code of its column's encoding, or `SPECIAL` */
  readonly codes: Uint8Array;
  /** by member: as in `RowLayout`; 0 for a special one */
  readonly slots: Uint8Array;
  readonly idOffsets: Uint8Array;
  /** by member: the largest value of an integer */
  readonly maxima: Float64Array;
  readonly #names: readonly string[];

  /**
   * @param layout columns with a member are read by their encoding
   * @param special members that the record's scanner reads itself
   */
  constructor(layout: RowLayout, special: readonly string[]) {
    const members = Object.values(layout.columns).flatMap(([, , , name, max], column) =>
      name === undefined ? [] : [{ name, max, column }],
    );
    this.#names = [...members.map(({ name }) => name), ...special];
    this.table = new FieldTable(this.#names);
    const byMember = (values: Uint8Array, ofSpecial: number): Uint8Array =>
      Uint8Array.from([
        ...members.map(({ column }) => values[column] as number),
        ...special.map(() => ofSpecial),
      ]);
    this.codes = byMember(layout.codes, SPECIAL);
    this.slots = byMember(layout.slots, 0);
    this.idOffsets = byMember(layout.idOffsets, 0);
    this.maxima = Float64Array.from(members, ({ max }) => max ?? UINT32_MAX);
  }

  /** The index of a special member. */
  number(name: string): number {
    return this.#names.indexOf(name);
  }
}
