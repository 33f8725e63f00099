/** The audit ledger of a workspace, as tests compare it. */
import type { Database } from '../../src/db/database.ts';
import { listAudit } from '../../src/db/people/audit.ts';

const ENTRIES_MAX = 500;

/** The newest entries first; numbers and hashes as text shows them. */
export async function ledgerOf(database: Database, workspaceId: number) {
  const { entries } = await listAudit(database, workspaceId, null, ENTRIES_MAX);
  return entries.map(({ seq, hash, ...entry }) => ({
    ...entry,
    seq: Number(seq),
    hash: hash.toString('hex'),
  }));
}
