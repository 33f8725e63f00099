/**
 * Work on a body that is done piece by piece, so that a large one does not hold the event loop for as
 * long as all of it takes. It pauses by `yield`; nobody else may do work of the same kind meanwhile.
 */
export type Pieces<T> = Generator<void, T, void>;

/** Bytes of a body after which work on it may pause: less than a millisecond's worth. */
export const PIECE_BYTES = 128 * 1024;

/** Does all of it at once. @throws what the work throws */
export function toEnd<T>(pieces: Pieces<T>): T {
  for (;;) {
    const piece = pieces.next();
    if (piece.done === true) return piece.value;
  }
}
