/** A heartbeat that needs no beat: for claims without a pass. */
import { randomUUID } from 'node:crypto';
import type { ClaimsDependencies } from '../../src/pool/claims.ts';

export const heardProcess = (): ClaimsDependencies['heartbeat'] => ({
  processId: randomUUID(),
  isHeard: async () => {},
});
