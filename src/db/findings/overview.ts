/**
 * The overview of a workspace: runs counted by hour, findings by day, and runs that wait for
 * evaluation. Findings are counted as lists show them: open ones that no exception covers.
 *
 * Each hour and day is a separate query, through an index. The counts of past hours and days are
 * cached; counts of findings are cached until someone changes the workspace or an exception expires.
 * So most views only count the current hour and day, at any retention. The first view of a workspace
 * with very many runs counts as far back as `BUDGET_MS` allows, and later views continue.
 */
import { LRUCache } from 'lru-cache';

import type {
  CountedFindings,
  HourCounts,
  KindCount,
  NamedCount,
  OverviewVisit,
  Slot,
  WorkspaceOverview,
} from '../../model/overview.ts';
import { OPEN_STATES } from '../../model/triage.ts';
import { type Database, onlyRow } from '../database.ts';
import type { ReadChoice } from '../replica/read-choice.ts';
import { waitingRuns } from '../runs/due-runs.ts';
import { HAS_NAMES_ONLY } from '../runs/surface-bits.ts';
import { isActive, isExcepted } from './exceptions.ts';
import { DECIDED_READ_MAX } from './finding-filter.ts';
import { hasState } from './triage.ts';

const MS_PER_HOUR = 3_600_000;
const MS_PER_DAY = 24 * MS_PER_HOUR;
const HOURS = 24;
const DAYS = 14;
export const WAITING_MAX = 10_000;
/** A past hour or day can change for this long: late steps, late commits. */
const CLOSING_MS = MS_PER_HOUR;
/** After this time a view counts no further back; the rest is null. */
const BUDGET_MS = 1_000;

const at = (parameter: string): string => `to_timestamp(${parameter}::float8 / 1000)`;
const MS = (interval: string): string => `(extract(epoch FROM ${interval}) * 1000)::float8`;
/** NULL before the evaluation, 0 for a run that got further steps after it. */
const LAG = `CASE WHEN evaluated_at IS NOT NULL
                  THEN greatest(evaluated_at - last_arrival_at, interval '0') END`;

interface HourRow extends Omit<HourCounts, 'lagMs'> {
  readonly mean: number | null;
  readonly most: number | null;
}

/** Index `runs_by_arrival`. */
export const HOUR = `
  SELECT count(*)::int AS runs, coalesce(sum(spans + log_records), 0)::float8 AS steps,
         count(*) FILTER (WHERE evaluation = 'pending')::int AS open,
         count(*) FILTER (WHERE texts = 0 OR ${HAS_NAMES_ONLY})::int AS "withoutText",
         count(*) FILTER (WHERE evaluation = 'evaluation_failed')::int AS "failedEvaluations",
         ${MS(`avg(${LAG})`)} AS mean, ${MS(`max(${LAG})`)} AS most
    FROM runs
   WHERE workspace_id = $1 AND first_arrival_at >= ${at('$2')} AND first_arrival_at < ${at('$3')}`;

const IS_OPEN = `f.workspace_id = $1 AND f.created_at >= ${at('$2')} AND f.created_at < ${at('$3')}
   AND ${hasState(`'{${OPEN_STATES.join(',')}}'::text[]`)}`;

/**
 * Counts findings by columns of `f`: findings in an open state, minus findings that exceptions cover.
 * Only findings of rules that have exceptions are compared; without exceptions an index suffices.
 */
const countsBy = (columns: string): string => `
  SELECT ${columns}, count(*) AS findings FROM findings f WHERE ${IS_OPEN} GROUP BY ${columns}
  UNION ALL
  SELECT ${columns}, -count(*) FROM (
    SELECT DISTINCT e.rule_id FROM finding_exceptions e
     WHERE e.workspace_id = $1 AND ${isActive('e')}) AS rule
   CROSS JOIN LATERAL (
    SELECT * FROM findings f WHERE f.rule_id = rule.rule_id AND ${IS_OPEN} OFFSET 0) AS f
   WHERE ${isExcepted('f')} GROUP BY ${columns}`;

/** Index-only scan of `findings_by_time`. */
export const DAY = `
  SELECT severity, category, sum(findings)::int AS findings
    FROM (${countsBy('f.severity, f.category')}) AS counted
   GROUP BY severity, category HAVING sum(findings) > 0 ORDER BY severity, category`;

/** Names of a day that are counted, of each of the three; those of a list over all days. */
const DAY_NAMES_MAX = 100;
const TOP_NAMES = 6;

/** The findings of the day by `findings_by_time`, counted by all three first: these are few. */
export const DAY_NAMES = `
  SELECT * FROM (
    SELECT CASE WHEN grouping(agent_name) = 0 THEN 'agent'
                WHEN grouping(service_name) = 0 THEN 'service' ELSE 'rule' END AS by,
           coalesce(agent_name, service_name, rule_id) AS name, sum(findings)::int AS findings,
           row_number() OVER (PARTITION BY grouping(agent_name, service_name, rule_id)
                              ORDER BY sum(findings) DESC) AS place
      FROM (${countsBy('f.agent_name, f.service_name, f.rule_id')}) AS combined
     GROUP BY GROUPING SETS ((agent_name), (service_name), (rule_id)) HAVING sum(findings) > 0
  ) AS named WHERE name IS NOT NULL AND place <= ${DAY_NAMES_MAX}
   ORDER BY place, name`;

/** Reads the index `runs_finished`, for this workspace only. */
export const WAITING = `
  SELECT EXISTS (SELECT FROM runs WHERE workspace_id = $1) AS any,
         least(count(*), ${WAITING_MAX})::int AS waiting,
         count(*) > ${WAITING_MAX} AS "moreWait",
         ${MS('min(last_arrival_at)')} AS "oldestWaitingMs"
    FROM ${waitingRuns('$1', `${WAITING_MAX + 1}`)} AS waiting`;

/**
 * A value that changes whenever the count of a past day can change: the ledger records every decision
 * about findings, and exceptions expire.
 */
const DECISIONS = `
  SELECT concat((SELECT seq FROM audit_ledger WHERE workspace_id = $1 ORDER BY seq DESC LIMIT 1), '/',
                (SELECT count(*) FROM finding_exceptions e
                  WHERE e.workspace_id = $1 AND ${isActive('e')})) AS decisions`;

async function decisionsOf(database: Database, workspaceId: number): Promise<string> {
  return onlyRow(await database.query<{ decisions: string }>(DECISIONS, [workspaceId])).decisions;
}

async function hourOf(database: Database, values: readonly number[]): Promise<HourCounts> {
  const row = onlyRow(await database.query<HourRow>(HOUR, [...values]));
  const { mean, most, ...counts } = row;
  return { ...counts, lagMs: mean === null || most === null ? null : { mean, most } };
}

async function dayOf(database: Database, values: readonly number[]): Promise<KindCount[]> {
  const { rows } = await database.query<KindCount>(DAY, [...values]);
  return rows;
}

async function namesOf(database: Database, values: readonly number[]): Promise<NamedCount[]> {
  const { rows } = await database.query<NamedCount>(DAY_NAMES, [...values]);
  return rows.map(({ by, name, findings }) => ({ by, name, findings }));
}

/** The sums over all days, the largest of each of the three. */
function topOf(days: readonly Slot<readonly NamedCount[]>[]): NamedCount[] {
  const sums = new Map<string, NamedCount>();
  for (const one of days.flatMap(({ counts }) => counts ?? [])) {
    const key = `${one.by} ${one.name}`;
    sums.set(key, { ...one, findings: one.findings + (sums.get(key)?.findings ?? 0) });
  }
  const all = [...sums.values()].sort((a, b) => b.findings - a.findings);
  const of = (by: NamedCount['by']) => all.filter((one) => one.by === by).slice(0, TOP_NAMES);
  return [...of('agent'), ...of('service'), ...of('rule')];
}

async function waitingOf(
  database: Database,
  workspaceId: number,
): Promise<WorkspaceOverview['runs']> {
  return onlyRow(await database.query<WorkspaceOverview['runs']>(WAITING, [workspaceId]));
}

interface PastCounts {
  readonly hours: Map<number, HourCounts>;
  readonly days: Map<number, readonly KindCount[]>;
  readonly names: Map<number, readonly NamedCount[]>;
  /** state by which days and names were counted; null before the first view */
  decisions: string | null;
}

const nothingKnown = (): PastCounts => ({
  hours: new Map(),
  days: new Map(),
  names: new Map(),
  decisions: null,
});

interface Slots<Counts> {
  readonly known: Map<number, Counts>;
  readonly lengthMs: number;
  readonly count: number;
  readonly read: (fromMs: number, toMs: number) => Promise<Counts>;
  /** whether the counts of a past slot can no longer change */
  readonly isFinal: (counts: Counts) => boolean;
}

/** Newest first, so that the oldest slots are those left out. */
async function fill<Counts>(slots: Slots<Counts>, nowMs: number): Promise<Slot<Counts>[]> {
  const { known, lengthMs, count, read, isFinal } = slots;
  const newest = Math.floor(nowMs / lengthMs) * lengthMs;
  const begun = performance.now();
  const filled: Slot<Counts>[] = [];
  for (let atMs = newest; filled.length < count; atMs -= lengthMs) {
    const before = known.get(atMs);
    const isLate = filled.length > 0 && performance.now() - begun > BUDGET_MS;
    const counts = before ?? (isLate ? null : await read(atMs, atMs + lengthMs));
    if (counts !== null && nowMs >= atMs + lengthMs + CLOSING_MS && isFinal(counts)) {
      known.set(atMs, counts);
    }
    filled.push({ atMs, counts });
  }
  const oldest = newest - (count - 1) * lengthMs;
  for (const atMs of known.keys()) if (atMs < oldest) known.delete(atMs);
  return filled.reverse();
}

/** Reads the overview of a workspace as of `nowMs`; adds to `known`. */
export async function readOverview(
  database: Database,
  workspaceId: number,
  nowMs: number,
  known: PastCounts = nothingKnown(),
): Promise<WorkspaceOverview> {
  // Read first, so that the next view counts a decision made during this one.
  const decisions = await decisionsOf(database, workspaceId);
  if (decisions !== known.decisions) {
    known.days.clear();
    known.names.clear();
    known.decisions = decisions;
  }
  const hours: Slots<HourCounts> = {
    known: known.hours,
    lengthMs: MS_PER_HOUR,
    count: HOURS,
    read: (fromMs, toMs) => hourOf(database, [workspaceId, fromMs, toMs]),
    isFinal: ({ open }) => open === 0,
  };
  const perDay = { lengthMs: MS_PER_DAY, count: DAYS, isFinal: () => true };
  const days: Slots<readonly KindCount[]> = {
    ...perDay,
    known: known.days,
    read: (fromMs, toMs) => dayOf(database, [workspaceId, fromMs, toMs]),
  };
  const names: Slots<readonly NamedCount[]> = {
    ...perDay,
    known: known.names,
    read: (fromMs, toMs) => namesOf(database, [workspaceId, fromMs, toMs]),
  };
  const [hourSlots, daySlots, nameSlots, runs] = await Promise.all([
    fill(hours, nowMs),
    fill(days, nowMs),
    fill(names, nowMs),
    waitingOf(database, workspaceId),
  ]);
  return { hours: hourSlots, days: daySlots, top: topOf(nameSlots), runs };
}

/** An overview is cached for this long … */
const KEPT_MS = 5_000;
/** … and at least for this many times the duration of reading it. */
const SHARE = 20;
const WORKSPACES_MAX = 1_000;

interface Kept {
  readonly known: PastCounts;
  readonly counts: Promise<WorkspaceOverview>;
  /** by `performance.now()` */
  staleAt: number;
}

/**
 * Reads overviews through a cache: a call gets the cached counts while they are fresh, or joins a read
 * that has begun. A change in the workspace makes them outdated.
 *
 * @returns rejects as the database does; a failure is not remembered
 */
export function createOverviewReader(
  read: ReadChoice['read'],
  nowMs: () => number,
): (workspaceId: number) => Promise<WorkspaceOverview> {
  const kept = new LRUCache<number, Kept>({ max: WORKSPACES_MAX });
  return async (workspaceId) => {
    const reader = { workspaceId };
    const decisions = await read(reader, (database) => decisionsOf(database, workspaceId));
    const begun = performance.now();
    const before = kept.get(workspaceId);
    const isBeingRead = before?.staleAt === Number.POSITIVE_INFINITY;
    if (before !== undefined && begun < before.staleAt) {
      if (isBeingRead || before.known.decisions === decisions) return await before.counts;
    }
    const known = before?.known ?? nothingKnown();
    const counts = read(reader, (database) => readOverview(database, workspaceId, nowMs(), known));
    const now: Kept = { known, counts, staleAt: Number.POSITIVE_INFINITY };
    kept.set(workspaceId, now);
    counts.then(
      () => {
        const ended = performance.now();
        now.staleAt = ended + Math.max(KEPT_MS, SHARE * (ended - begun));
      },
      () => {
        now.staleAt = 0;
      },
    );
    return await counts;
  };
}

/** A look after a longer pause begins a new visit. */
const VISIT_PAUSE_MINUTES = 30;
export const NEW_FINDINGS_MAX = 1_000;
const READ_FINDINGS_MAX = 5_000;

const LOOK = `
  UPDATE memberships
     SET overview_new_since =
           CASE WHEN overview_seen_at < now() - interval '${VISIT_PAUSE_MINUTES} minutes'
                THEN overview_seen_at ELSE overview_new_since END,
         overview_seen_at = now()
   WHERE workspace_id = $1 AND user_id = $2
  RETURNING overview_new_since AS since`;

/** Of the newest findings, how many the findings list shows: open ones that no exception covers. */
const COUNT = `
  SELECT count(*)::int AS read,
         count(*) FILTER (WHERE ${hasState('$3::text[]')} AND NOT ${isExcepted('f')})::int AS findings
    FROM (SELECT * FROM findings WHERE workspace_id = $1 AND created_at >= $2
           ORDER BY created_at DESC, id DESC LIMIT ${READ_FINDINGS_MAX}) AS f`;

/** Counts as many findings as their list reads. The last history entry is the current assignment. */
const ASSIGNED = `
  SELECT count(*)::int AS read, (count(*) FILTER (WHERE is_listed))::int AS findings,
         (count(*) FILTER (WHERE is_listed AND is_new))::int AS new
    FROM (SELECT NOT ${isExcepted('f')} AS is_listed,
                 (SELECT h.at >= $4::timestamptz AND h.actor_user_id IS DISTINCT FROM $2
                    FROM finding_history h
                   WHERE h.workspace_id = $1 AND h.finding_id = f.id AND h.kind = 'assignee'
                   ORDER BY h.id DESC LIMIT 1) AS is_new
            FROM (SELECT finding_id FROM finding_states
                   WHERE workspace_id = $1 AND assignee_id = $2 AND state = ANY ($3::text[])
                   ORDER BY updated_at DESC LIMIT ${DECIDED_READ_MAX}) AS own
            JOIN findings f ON f.workspace_id = $1 AND f.id = own.finding_id) AS assigned`;

async function newSince(
  database: Database,
  workspaceId: number,
  since: Date,
): Promise<CountedFindings> {
  const values = [workspaceId, since, OPEN_STATES];
  const { read, findings } = onlyRow(
    await database.query<{ read: number; findings: number }>(COUNT, values),
  );
  return {
    findings: Math.min(findings, NEW_FINDINGS_MAX),
    more: findings > NEW_FINDINGS_MAX || read === READ_FINDINGS_MAX,
  };
}

async function assignedTo(
  database: Database,
  workspaceId: number,
  userId: number,
  since: Date | null,
): Promise<OverviewVisit['assigned']> {
  const values = [workspaceId, userId, OPEN_STATES, since];
  const { read, ...counts } = onlyRow(
    await database.query<{ read: number; findings: number; new: number }>(ASSIGNED, values),
  );
  return { ...counts, more: read === DECIDED_READ_MAX };
}

export async function noteOverviewVisit(
  database: Database,
  workspaceId: number,
  userId: number,
): Promise<OverviewVisit> {
  const looked = await database.query<{ since: Date | null }>(LOOK, [workspaceId, userId]);
  const since = looked.rows[0]?.since ?? null;
  const [newFindings, assigned] = await Promise.all([
    since === null ? null : newSince(database, workspaceId, since),
    assignedTo(database, workspaceId, userId, since),
  ]);
  return { since, newFindings, assigned };
}
