/** Does work in pieces on the thread that takes requests; the event loop turns between them. */
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Pieces } from '../otlp/pieces.ts';

export interface PieceWork {
  /** @param bytes size of what the work is about */
  readonly takeInPieces: <T>(
    workspaceId: number,
    work: Iterator<void, T, void>,
    bytes: number,
  ) => Promise<T>;
}

/** Does work in pieces, each in a turn of the event loop. */
export async function inTurns<T>(pieces: Pieces<T>): Promise<T> {
  for (let piece = pieces.next(); ; piece = pieces.next()) {
    if (piece.done === true) return piece.value;
    await nextTurn();
  }
}
