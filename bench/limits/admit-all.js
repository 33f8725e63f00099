/**
 * Instead of `createMinuteCounts` (src/http/limits/minute-counts.ts) in a server that must not count
 * (limiter-off.mjs).
 */
export const createMinuteCounts = () => {
  process.stderr.write('this server counts no requests\n');
  return {
    consume: async () => ({ admitted: true }),
    ping: null,
    close: async () => {},
  };
};
