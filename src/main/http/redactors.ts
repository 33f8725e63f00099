/** The compiled redaction settings of the workspaces that sent last. */
import { LRUCache } from 'lru-cache';

import { createRedactor, type Redactor } from '../../engine/redaction/redactor.ts';
import type { Credential } from '../../model/people.ts';
import { redactionOf } from '../../model/redaction/redaction.ts';

/** Most workspaces whose patterns are kept; those of another one are compiled again. */
const WORKSPACES_MAX = 64;

interface Kept {
  readonly settings: string;
  readonly key: Buffer;
  readonly redactor: Redactor;
}

export function createRedactors(): (credential: Credential) => Redactor | null {
  const kept = new LRUCache<number, Kept>({ max: WORKSPACES_MAX });
  return ({ workspaceId, redaction }) => {
    if (redaction === null) return null;
    const { settings, key } = redaction;
    const known = kept.get(workspaceId);
    if (known?.settings === settings && known.key.equals(key)) return known.redactor;
    const redactor = createRedactor(redactionOf(settings), key);
    kept.set(workspaceId, { settings, key, redactor });
    return redactor;
  };
}
