/**
 * Pieces of memory that are kept for reuse, by size and up to a limit, because V8 collects its whole
 * heap for every 64 MB allocated outside of it (Node 20.20). Sizes that were not taken for the longest
 * time give way to others.
 *
 *   take ──► in use ──► keep ──► taken again, or left to the garbage collector
 */
export class FreeMemory<Piece> {
  readonly #bytesMax: number;
  /** by size, the one that was taken last at the end */
  readonly #pieces = new Map<number, Piece[]>();
  #bytes = 0;

  /** @param bytesMax most bytes kept, of all sizes together */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  take(size: number): Piece | undefined {
    const pieces = this.#pieces.get(size) ?? [];
    this.#pieces.delete(size);
    this.#pieces.set(size, pieces);
    const piece = pieces.pop();
    if (piece !== undefined) this.#bytes -= size;
    return piece;
  }

  /** Keeps a piece that nothing reads any more, if there was a `take` of its size. */
  keep(size: number, piece: Piece): void {
    const pieces = this.#pieces.get(size);
    if (pieces === undefined) return;
    for (const [other, unused] of this.#pieces) {
      if (other === size) break;
      while (this.#bytes + size > this.#bytesMax && unused.pop() !== undefined) {
        this.#bytes -= other;
      }
    }
    if (this.#bytes + size > this.#bytesMax) return;
    this.#bytes += size;
    pieces.push(piece);
  }
}
