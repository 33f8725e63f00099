/** Does work in pieces on the thread that takes requests; the event loop turns between them. */
export interface PieceWork {
  /** @param bytes size of what the work is about */
  readonly takeInPieces: <T>(
    workspaceId: number,
    work: Iterator<void, T, void>,
    bytes: number,
  ) => Promise<T>;
}
