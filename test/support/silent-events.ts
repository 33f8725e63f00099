/** Events of a writer that nobody looks at: what goes wrong rejects the offer. */
export const silentEvents = {
  inflightChanged: () => {},
  batchCommitted: () => {},
  batchFailed: () => {},
  requestUnstorable: () => {},
  requestsResent: () => {},
  partitionsChanged: () => {},
};
