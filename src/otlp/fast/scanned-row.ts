/**
 * One scanned record as numbers, ids and ranges of texts, laid out by `RowLayout`. One object per
 * kind of record serves all requests of a thread; it must be read before the next record is
 * scanned.
 */
import { Arena } from './arena.ts';
import type { RowLayout } from './row-layout.ts';

export class ScannedRow {
  readonly layout: RowLayout;
  /**
   * Filled with null at first, so that V8 stores small integers unboxed and doubles as heap
   * numbers. A `Float64Array` would allocate a heap number whenever an element is passed to a
   * function: 5 % of a span's time (Node 20.20, 2026-11).
   */
  readonly numbers: (number | null)[];
  readonly ids: DataView;
  readonly ranges: Int32Array;
  /** the same memory as `ranges`, one element per range */
  readonly #wholeRanges: Float64Array;
  /** UTF-8 texts and attributes: the scanner's own arena */
  readonly texts: Arena;
  /** the JSON of `composedJson` columns */
  readonly lists = new Arena();
  /** position in the body of the trace id that `ids` holds; −1 for none */
  traceIdAt = -1;

  constructor(layout: RowLayout, texts: Arena) {
    this.layout = layout;
    this.numbers = Array<null>(layout.initialNumbers.length).fill(null);
    this.ids = new DataView(new ArrayBuffer(layout.idBytes));
    this.ranges = new Int32Array(2 * layout.rangeCount);
    this.#wholeRanges = new Float64Array(this.ranges.buffer);
    this.texts = texts;
  }

  /** Starts the next record. Loops, because native `set` and `fill` are slower for few values. */
  reset(): void {
    const { numbers } = this;
    const ranges = this.#wholeRanges;
    const { initialNumbers } = this.layout;
    for (let slot = 0; slot < numbers.length; slot += 1) {
      numbers[slot] = initialNumbers[slot] as number | null;
    }
    for (let range = 0; range < ranges.length; range += 1) ranges[range] = 0;
    this.texts.restart();
    this.lists.restart();
  }

  /** Writes JSON text that is not copied from the body. */
  writeList(slot: number, text: string): void {
    this.ranges[slot] = this.lists.end;
    this.lists.text(text);
    this.ranges[slot + 1] = this.lists.end;
  }

  /** Ends a request: drops its texts and positions. */
  close(): void {
    this.traceIdAt = -1;
    this.lists.release();
  }
}
