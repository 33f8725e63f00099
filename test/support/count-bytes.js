/** A worker that takes and gives back 7 bytes of a shared count, and tells what it saw. */
import { parentPort, workerData } from 'node:worker_threads';

import { SharedByteCount } from '../../dist/main/acceptors/shared-byte-count.js';

const { memory, turns, limit } = workerData;
const count = new SharedByteCount(memory);
let most = 0;
let taken = 0;
// On a busy machine the others may hold everything for the whole of this thread's turns.
for (let turn = 0; turn < turns || taken === 0; turn += 1) {
  if (!count.tryAdd(7, limit)) continue;
  taken += 1;
  most = Math.max(most, count.total);
  count.subtract(7);
}
parentPort.postMessage({ most, taken });
