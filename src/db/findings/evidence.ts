/**
 * Reads what an evidence package says about a finding or an incident, but for the records of its runs, and notes
 * the download in the ledger, in one transaction. The package's last ledger entry is the download itself.
 */
import { SluiceError } from '../../errors.ts';
import type { Finding } from '../../model/findings.ts';
import type { Hex16 } from '../../model/json.ts';
import type { Actor } from '../../model/people.ts';
import type { HistoryEntry } from '../../model/triage.ts';
import { type Connection, type Database, onlyRow, type Queryable } from '../database.ts';
import { newestEntries } from '../people/audit.ts';
import type { ChainedEntry } from '../people/audit-chain.ts';
import { recordedByMember } from '../people/authority.ts';
import { BESIDE, COLUMNS } from './findings.ts';

/** Most runs of an incident whose records are in a package. */
export const EVIDENCE_RUNS_MAX = 10;
/** Most findings of a package. */
export const EVIDENCE_FINDINGS_MAX = 1000;
/** Most entries of their triage history in a package, the newest. */
export const EVIDENCE_HISTORY_MAX = 2000;
/** Most entries of the audit log in a package, the newest. */
export const EVIDENCE_ENTRIES_MAX = 2000;

export interface EvidenceSubject {
  readonly kind: 'finding' | 'incident';
  /** of the finding, or of a run of the incident */
  readonly id: Hex16;
}

export interface EvidenceReader {
  readonly actor: Actor;
  /** a key has no role, and so no right to read the audit log */
  readonly isKey: boolean;
}

export interface EvidenceRun {
  readonly runId: Hex16;
  readonly traces: number;
  readonly logs: number;
}

export type TriageEntry = HistoryEntry & { readonly findingId: Hex16 };

export interface StoredEvidence {
  readonly at: Date;
  readonly workspace: string;
  readonly isRedacted: boolean;
  readonly key: Buffer;
  readonly runs: readonly EvidenceRun[];
  readonly findings: readonly Finding[];
  readonly history: readonly TriageEntry[];
  readonly entries: readonly (ChainedEntry & {
    /** its content may be in the package */
    readonly isOpen: boolean;
  })[];
  readonly isCut: Readonly<Record<'runs' | 'findings' | 'history' | 'entries', boolean>>;
}

/** The run, and further runs of its session that have findings. */
async function runIdsOf(
  database: Queryable,
  workspaceId: number,
  { kind, id }: EvidenceSubject,
): Promise<Hex16[]> {
  const { rows } = await database.query<{ runId: Hex16 }>(
    kind === 'finding'
      ? 'SELECT run_id AS "runId" FROM findings WHERE workspace_id = $1 AND id = $2 LIMIT $3'
      : `SELECT run_id AS "runId" FROM (
           SELECT $2::uuid AS run_id, false AS is_other
           UNION ALL
           SELECT other.run_id, true FROM runs own JOIN runs other
               ON other.workspace_id = own.workspace_id AND other.session_id = own.session_id
            WHERE own.workspace_id = $1 AND own.run_id = $2 AND other.run_id <> $2) AS run
         WHERE EXISTS (SELECT FROM findings f WHERE f.workspace_id = $1 AND f.run_id = run.run_id)
         ORDER BY is_other, run_id LIMIT $3`,
    [workspaceId, id, EVIDENCE_RUNS_MAX + 1],
  );
  if (rows.length > 0) return rows.map(({ runId }) => runId);
  throw new SluiceError(
    'not_found',
    kind === 'finding'
      ? 'This workspace has no such finding.'
      : 'This workspace has no such run with findings.',
  );
}

async function readFindings(
  database: Queryable,
  workspaceId: number,
  { kind, id }: EvidenceSubject,
  runIds: readonly Hex16[],
): Promise<Finding[]> {
  const { rows } = await database.query<Finding>(
    `SELECT ${COLUMNS} FROM findings f ${BESIDE}
      WHERE f.workspace_id = $1 AND f.run_id = ANY ($2::uuid[]) AND ($3::uuid IS NULL OR f.id = $3)
      ORDER BY f.created_at, f.id LIMIT ${EVIDENCE_FINDINGS_MAX + 1}`,
    [workspaceId, runIds, kind === 'finding' ? id : null],
  );
  return rows;
}

async function readHistory(
  database: Queryable,
  workspaceId: number,
  findings: readonly Finding[],
): Promise<TriageEntry[]> {
  const { rows } = await database.query<TriageEntry>(
    `SELECT finding_id AS "findingId", id, at, actor, kind, before, after FROM finding_history
      WHERE workspace_id = $1 AND finding_id = ANY ($2::uuid[])
      ORDER BY id DESC LIMIT ${EVIDENCE_HISTORY_MAX + 1}`,
    [workspaceId, findings.map((one) => one.id)],
  );
  return rows;
}

/** The numbers of their records; a run that is no longer stored has none. */
async function readRuns(
  database: Queryable,
  workspaceId: number,
  runIds: readonly Hex16[],
): Promise<EvidenceRun[]> {
  const { rows } = await database.query<EvidenceRun>(
    `SELECT id AS "runId", coalesce(r.spans + r.repeated_spans, 0) AS traces,
            coalesce(r.log_records, 0) AS logs
       FROM unnest($2::uuid[]) WITH ORDINALITY AS own (id, place)
       LEFT JOIN runs r ON r.workspace_id = $1 AND r.run_id = own.id ORDER BY place`,
    [workspaceId, runIds],
  );
  return rows;
}

function isAbout({ subject, before, after }: ChainedEntry, names: readonly string[]): boolean {
  return names.some(
    (name) => subject === name || before?.includes(name) === true || after?.includes(name) === true,
  );
}

async function gather(
  connection: Connection,
  workspaceId: number,
  subject: EvidenceSubject,
  mayReadAudit: boolean,
): Promise<StoredEvidence> {
  const { slug, isRedacted, key } = onlyRow(
    await connection.query<{ slug: string; isRedacted: boolean; key: Buffer }>(
      `SELECT slug, redact_excerpts AS "isRedacted", evidence_key AS key FROM workspaces WHERE id = $1`,
      [workspaceId],
    ),
  );
  const ids = await runIdsOf(connection, workspaceId, subject);
  const runIds = ids.slice(0, EVIDENCE_RUNS_MAX);
  const all = await readFindings(connection, workspaceId, subject, runIds);
  const findings = all.slice(0, EVIDENCE_FINDINGS_MAX);
  const first = findings[0];
  if (first === undefined) throw new Error('a run that was found by its findings has none');
  const { entries, isCut } = await newestEntries(
    connection,
    workspaceId,
    first.createdAt,
    EVIDENCE_ENTRIES_MAX,
  );
  const history = await readHistory(connection, workspaceId, findings);
  const names = [...runIds, ...findings.flatMap(({ id, ruleId }) => [id, ruleId])];
  const at = entries.at(-1)?.at;
  if (at === undefined) throw new Error('the ledger lacks the entry of this download');
  return {
    at,
    workspace: slug,
    isRedacted,
    key,
    runs: await readRuns(connection, workspaceId, runIds),
    findings,
    history: history.slice(0, EVIDENCE_HISTORY_MAX).reverse(),
    entries: entries.map((entry, index) => ({
      ...entry,
      isOpen: index === entries.length - 1 || (mayReadAudit && isAbout(entry, names)),
    })),
    isCut: {
      runs: ids.length > runIds.length,
      findings: all.length > findings.length,
      history: history.length > EVIDENCE_HISTORY_MAX,
      entries: isCut,
    },
  };
}

/** Checks that there is evidence of a subject, without noting a download. @throws {SluiceError} `not_found` */
export async function requireEvidence(
  database: Queryable,
  workspaceId: number,
  subject: EvidenceSubject,
): Promise<void> {
  await runIdsOf(database, workspaceId, subject);
}

export async function recordEvidence(
  database: Database,
  workspaceId: number,
  subject: EvidenceSubject,
  { actor, isKey }: EvidenceReader,
): Promise<StoredEvidence> {
  return await recordedByMember(database, workspaceId, actor, async (connection, record, role) => {
    await record({
      action: 'evidence.downloaded',
      subject: subject.id,
      after: { kind: subject.kind },
    });
    return await gather(connection, workspaceId, subject, !isKey && role !== 'member');
  });
}

/** The private key with which a workspace's packages are signed. */
export async function readEvidenceKey(database: Queryable, workspaceId: number): Promise<Buffer> {
  const found = await database.query<{ key: Buffer }>(
    'SELECT evidence_key AS key FROM workspaces WHERE id = $1',
    [workspaceId],
  );
  return onlyRow(found).key;
}
