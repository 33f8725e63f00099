/**
 * Changes the triage of findings, each change with its history and its ledger entries, in one
 * transaction. The findings' own rows are only read.
 */
import { SluiceError } from '../../errors.ts';
import type { Hex16 } from '../../model/json.ts';
import type { Actor } from '../../model/people.ts';
import {
  type FindingState,
  type HistoryEntry,
  NOTES_MAX,
  TRIAGE_FINDINGS_MAX,
  type TriageChange,
} from '../../model/triage.ts';
import { queueAssignmentMails } from '../alerts/assignment-mails.ts';
import type { Connection, Database } from '../database.ts';
import type { Recorder } from '../people/audit.ts';
import { recordedByMember } from '../people/authority.ts';
import { HISTORY_ENTRIES_MAX } from './triage.ts';

interface Before {
  readonly id: Hex16;
  readonly state: FindingState;
  readonly assigneeId: number | null;
  readonly assignee: string | null;
  readonly notes: number;
}

type NewEntry = Pick<HistoryEntry, 'kind' | 'before' | 'after'> & { readonly id: Hex16 };

/** Locks the findings that it returns against deletion by retention. */
async function readBefore(
  connection: Connection,
  workspaceId: number,
  ids: readonly Hex16[],
): Promise<Before[]> {
  const { rows } = await connection.query<Before>(
    `SELECT f.id, coalesce(own.state, 'new') AS state, own.assignee_id AS "assigneeId",
            u.address AS assignee,
            (SELECT count(*)::int FROM finding_history h
              WHERE h.workspace_id = f.workspace_id AND h.finding_id = f.id
                AND h.kind = 'note') AS notes
       FROM findings f
       LEFT JOIN finding_states own ON own.workspace_id = f.workspace_id AND own.finding_id = f.id
       LEFT JOIN users u ON u.id = own.assignee_id
      WHERE f.workspace_id = $1 AND f.id = ANY ($2::uuid[]) FOR KEY SHARE OF f`,
    [workspaceId, ids],
  );
  return rows;
}

async function memberAddress(
  connection: Connection,
  workspaceId: number,
  userId: number,
): Promise<string> {
  const { rows } = await connection.query<{ email: string }>(
    `SELECT u.address AS email FROM memberships m JOIN users u ON u.id = m.user_id
      WHERE m.workspace_id = $1 AND m.user_id = $2`,
    [workspaceId, userId],
  );
  const [member] = rows;
  if (member !== undefined) return member.email;
  throw new SluiceError('conflict', 'The assignee is not a member of this workspace.');
}

async function store(
  connection: Connection,
  workspaceId: number,
  changed: readonly Before[],
  { state, assigneeId }: TriageChange,
): Promise<void> {
  await connection.query(
    `INSERT INTO finding_states (workspace_id, finding_id, state, assignee_id)
     SELECT $1::int, * FROM unnest($2::uuid[], $3::text[], $4::int[])
     ON CONFLICT (workspace_id, finding_id) DO UPDATE
       SET state = excluded.state, assignee_id = excluded.assignee_id, updated_at = now()`,
    [
      workspaceId,
      changed.map(({ id }) => id),
      changed.map((before) => state ?? before.state),
      changed.map((before) => (assigneeId === undefined ? before.assigneeId : assigneeId)),
    ],
  );
}

/** Adds entries, and drops a finding's oldest changes (never notes) beyond the limit. */
async function addHistory(
  connection: Connection,
  workspaceId: number,
  entries: readonly NewEntry[],
  actor: Actor,
): Promise<void> {
  const ids = entries.map(({ id }) => id);
  await connection.query(
    `INSERT INTO finding_history (workspace_id, actor_user_id, actor, finding_id, kind, before, after)
     SELECT $1::int, $2::int, $3::text, * FROM unnest($4::uuid[], $5::text[], $6::text[], $7::text[])`,
    [
      workspaceId,
      actor.userId,
      actor.name,
      ids,
      entries.map(({ kind }) => kind),
      entries.map(({ before }) => before),
      entries.map(({ after }) => after),
    ],
  );
  await connection.query(
    `DELETE FROM finding_history h USING (
       SELECT finding_id, id, row_number() OVER (
                PARTITION BY finding_id ORDER BY id DESC) AS place
         FROM finding_history
        WHERE workspace_id = $1 AND finding_id = ANY ($2::uuid[]) AND kind <> 'note'
     ) AS own
      WHERE own.place > ${HISTORY_ENTRIES_MAX - NOTES_MAX}
        AND h.workspace_id = $1 AND h.finding_id = own.finding_id AND h.id = own.id`,
    [workspaceId, ids],
  );
}

/** One ledger entry for all findings of a change: their ids and what each was before. */
async function recordChange<Key extends 'state' | 'assignee'>(
  record: Recorder,
  key: Key,
  changed: readonly Before[],
  after: string | null,
): Promise<void> {
  const [first] = changed;
  if (first === undefined) return;
  const isOne = changed.length === 1;
  const findings = Object.fromEntries(changed.map((before) => [before.id, before[key]]));
  await record({
    action: `finding.${key}`,
    subject: isOne ? first.id : `${changed.length} findings`,
    before: isOne ? { [key]: first[key] } : { findings },
    after: { [key]: after },
  });
}

async function addNotes(
  connection: Connection,
  workspaceId: number,
  found: readonly Before[],
  { note, actor, record }: { note: string; actor: Actor; record: Recorder },
): Promise<void> {
  if (found.some(({ notes }) => notes >= NOTES_MAX)) {
    throw new SluiceError('conflict', `A finding can have ${NOTES_MAX} notes; one has as many.`);
  }
  const entries = found.map(({ id }) => ({ id, kind: 'note', before: null, after: note }) as const);
  await addHistory(connection, workspaceId, entries, actor);
  const [first] = found;
  const isOne = found.length === 1;
  // Not its text: the ledger is kept for ever, and a note may quote a customer.
  await record({
    action: 'finding.note',
    subject: isOne ? (first?.id ?? '') : `${found.length} findings`,
    after: {
      characters: note.length,
      ...(isOne ? {} : { findings: found.map(({ id }) => id) }),
    },
  });
}

/**
 * Sets the state, the assignee or both of up to `TRIAGE_FINDINGS_MAX` findings, and adds a note to each: all
 * are changed or none is. A finding that has the value already stays unchanged, without history and ledger.
 * The ledger gets one entry for each, whatever the number of findings, with their ids and old values.
 */
export async function triageFindings(
  database: Database,
  workspaceId: number,
  change: TriageChange,
  actor: Actor,
  canEmail = false,
): Promise<number> {
  const ids = [...new Set(change.ids)];
  if (ids.length > TRIAGE_FINDINGS_MAX) {
    const most = `At most ${TRIAGE_FINDINGS_MAX} findings can be changed at a time.`;
    throw new SluiceError('bad_request', most);
  }
  return await recordedByMember(database, workspaceId, actor, async (connection, record) => {
    const found = await readBefore(connection, workspaceId, ids);
    if (found.length < ids.length) {
      throw new SluiceError('not_found', 'This workspace has no such finding.');
    }
    const { state, assigneeId, note } = change;
    const moved = state === undefined ? [] : found.filter((one) => one.state !== state);
    const assigned =
      assigneeId === undefined ? [] : found.filter((one) => one.assigneeId !== assigneeId);
    const address =
      assigneeId === undefined || assigneeId === null || assigned.length === 0
        ? null
        : await memberAddress(connection, workspaceId, assigneeId);
    const changed = found.filter((one) => moved.includes(one) || assigned.includes(one));
    if (changed.length > 0) {
      await store(connection, workspaceId, changed, change);
      const entries: NewEntry[] = [
        ...moved.map(({ id, state: before }) => ({
          id,
          kind: 'state' as const,
          before,
          after: state ?? null,
        })),
        ...assigned.map(({ id, assignee: before }) => ({
          id,
          kind: 'assignee' as const,
          before,
          after: address,
        })),
      ];
      await addHistory(connection, workspaceId, entries, actor);
      await recordChange(record, 'state', moved, state ?? null);
      await recordChange(record, 'assignee', assigned, address);
      if (canEmail && assigneeId !== undefined) {
        await queueAssignmentMails(connection, workspaceId, assigned, assigneeId, actor);
      }
    }
    if (note === undefined) return changed.length;
    await addNotes(connection, workspaceId, found, { note, actor, record });
    return found.length;
  });
}
