/**
 * The rule sets of evaluations: corpus, rules and cap of texts. Runs share it and name it by a digest, so that
 * any process stores the same row, and none has to look it up.
 */
import { createHash } from 'node:crypto';

import type { Int64 } from '../../model/json.ts';
import type { Snapshot } from '../../model/rules.ts';

/** Returns the id: 64 bits of SHA-256. */
export function ruleSetId(
  { version, identity }: Pick<Snapshot, 'version' | 'identity'>,
  ruleSetSha256: string,
  textCapBytes: number,
): Int64 {
  const named = JSON.stringify([version, identity, ruleSetSha256, textCapBytes]);
  return String(createHash('sha256').update(named).digest().readBigInt64BE());
}
