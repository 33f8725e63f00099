/**
 * Work on a body in pieces, so that a large body does not block the event loop until it is done. It
 * pauses at each `yield`; meanwhile no other work of the same kind may start.
 */
export type Pieces<T> = Generator<void, T, void>;

/** Bytes of a body between two pauses: less than a millisecond of work. */
export const PIECE_BYTES = 128 * 1024;

/** Runs the work without pauses. @throws what the work throws */
export function toEnd<T>(pieces: Pieces<T>): T {
  for (;;) {
    const piece = pieces.next();
    if (piece.done === true) return piece.value;
  }
}
