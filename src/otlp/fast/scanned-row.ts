/**
 * One scanned record as numbers, ids and places of texts; `RowLayout` says where each value is. One
 * object per kind of record serves all requests of a thread: it is read before the next record is
 * scanned.
 */
import { Arena } from './arena.ts';
import type { RowLayout } from './row-layout.ts';

export class ScannedRow {
  readonly layout: RowLayout;
  /**
   * An array that holds null from its beginning, because V8 then keeps small integers as they are
   * and floating-point numbers as objects. From a `Float64Array` every number would be made into
   * one whenever it is passed to a function: 5 % of a span's time (Node 20.20, 2026-11).
   */
  readonly numbers: (number | null)[];
  readonly ids: DataView;
  readonly ranges: Int32Array;
  /** the same memory, a range at a time */
  readonly #wholeRanges: Float64Array;
  /** UTF-8 texts and attributes: the scanner's own arena */
  readonly texts: Arena;
  /** the JSON of `composedJson` columns */
  readonly lists = new Arena();
  /** where in the body the trace id is that `ids` still holds; −1 when it holds none */
  traceIdAt = -1;

  constructor(layout: RowLayout, texts: Arena) {
    this.layout = layout;
    this.numbers = Array<null>(layout.initialNumbers.length).fill(null);
    this.ids = new DataView(new ArrayBuffer(layout.idBytes));
    this.ranges = new Int32Array(2 * layout.rangeCount);
    this.#wholeRanges = new Float64Array(this.ranges.buffer);
    this.texts = texts;
  }

  /** Begins the next record. Loops: a native `set` or `fill` costs more for so few values. */
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

  /** Stores JSON text that is not copied from the body. */
  writeList(slot: number, text: string): void {
    this.ranges[slot] = this.lists.end;
    this.lists.text(text);
    this.ranges[slot + 1] = this.lists.end;
  }

  /** Ends a request: nothing of its body is referred to. */
  close(): void {
    this.traceIdAt = -1;
    this.lists.release();
  }
}
