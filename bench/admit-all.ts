/** Stands in for `src/http/minute-counts.ts` in a server that must not count (limiter-off.mjs). */
import type { createMinuteCounts as counted, MinuteCounts } from '../src/http/minute-counts.ts';

export const createMinuteCounts: typeof counted = (): MinuteCounts => {
  process.stderr.write('this server counts no requests\n');
  return {
    consume: async () => ({ admitted: true }),
    ping: null,
    close: async () => {},
  };
};

function ofThreads(): never {
  throw new Error('a server that counts nothing has one thread: unset HTTP_THREADS');
}

export { ofThreads as createExactCounts, ofThreads as createLocalCounts };
