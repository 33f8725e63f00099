/** Work on the thread that takes requests, in pieces between which the event loop turns. */
export interface PieceWork {
  /** @param bytes size of what the work is about */
  readonly takeInPieces: <T>(
    workspaceId: number,
    work: Iterator<void, T, void>,
    bytes: number,
  ) => Promise<T>;
}
