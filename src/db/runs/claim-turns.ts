/**
 * Decides how many runs a claim takes from each workspace: round robin over workspaces, by id.
 * Workspaces with due runs share the claim equally; what one does not need goes to the others:
 *
 *   last claim ended here ▼
 *             1 ─ 4 ─ 5 ─ 7 ─ 9 ─ 12 ─►  visited: workspaces with waiting runs; their due runs counted
 *
 * So a workspace with one due run waits for at most one turn of the others, however large their
 * backlog is. A claim visits a bounded number of workspaces and counts a bounded number of runs, so
 * its cost depends neither on the backlog nor on the number of workspaces. Each process has its own
 * position in the round.
 */
import type { Database } from '../database.ts';
import { type DueKind, dueRuns, nextWorkspace } from './due-runs.ts';
import type { RunTimes } from './run-times.ts';

export interface ClaimSettings extends Pick<RunTimes, 'settleMs' | 'timeoutMs'> {
  readonly limit: number;
  /**
   * most runs of one claim that were claimed before. A run that crashes the process must not take a
   * whole claim with it every time.
   */
  readonly retries: number;
}

/** How many runs of a workspace are due in each way, or how many of them to claim. */
export interface Turn extends Readonly<Record<DueKind, number>> {
  readonly workspaceId: number;
}

interface Visit extends Turn {
  readonly visits: number;
}

/** Most workspaces that one statement visits (about 7 µs each); if no run is due, another follows. */
const VISITS_MAX = 500;
/** Due runs counted per run to claim; more are not needed to share a claim fairly. */
const COUNTED_PER_RUN = 16;
/** Most workspaces remembered that got fewer runs than were due; used when a visit finds few. */
const BEHIND_MAX = 16;
/** Share of a claim for timed-out runs, rounded up. */
const TIMED_OUT_SHARE = 1 / 4;
const ID_MAX = 2 ** 31 - 1;

const KINDS = ['timedOut', 'again', 'fresh'] as const;
const COUNTED: Readonly<Record<DueKind, string>> = {
  timedOut: '$3::int',
  again: '$4::int',
  fresh: '$5::int',
};
const counted = (kind: DueKind, workspace: string): string =>
  `(SELECT count(*)::int FROM (${dueRuns(kind, workspace, COUNTED[kind])}) AS run)`;
const each = (column: (kind: DueKind) => string): string => KINDS.map(column).join(', ');
const ALL = '"timedOut" + again + fresh';

/**
 * A loose index scan: jumps from workspace to workspace, at the same cost however many runs lie
 * between. For each kind it keeps the next workspace with such a run and whether its first run is
 * due, so a workspace without due runs costs one index lookup. OFFSET 0 keeps the planner from
 * repeating lookups.
 */
const VISIT = `
  WITH RECURSIVE visited AS (
    SELECT 0 AS visits, $6::int AS "workspaceId", 0 AS found, 0 AS workspaces,
           ${each((kind) => `0 AS "${kind}", $6::int AS "${kind} at", false AS "${kind} due"`)}
    UNION ALL
    SELECT visits + 1, here.id, found + due.total, workspaces + (due.total > 0)::int,
           ${each((kind) => `due."${kind}", ahead."${kind} at", ahead."${kind} due"`)}
      FROM visited
      ${KINDS.map(
        (kind) => `LEFT JOIN LATERAL (
        ${nextWorkspace(kind, '"workspaceId"', `"${kind} at" <= "workspaceId"`)}
      ) AS "${kind} next" ON true`,
      ).join(' ')}
     CROSS JOIN LATERAL (SELECT ${each((kind) => {
       const isPassed = `visited."${kind} at" <= visited."workspaceId"`;
       return `CASE WHEN ${isPassed} THEN "${kind} next".id ELSE visited."${kind} at" END AS "${kind} at",
               CASE WHEN ${isPassed} THEN "${kind} next".due ELSE visited."${kind} due" END AS "${kind} due"`;
     })} OFFSET 0) AS ahead
     CROSS JOIN LATERAL (SELECT least(${each((kind) => `ahead."${kind} at"`)}) AS id OFFSET 0) AS here
     CROSS JOIN LATERAL (SELECT *, ${ALL} AS total FROM (SELECT ${each(
       (kind) => `CASE WHEN ahead."${kind} at" = here.id AND ahead."${kind} due"
                       THEN ${counted(kind, 'here.id')} ELSE 0 END AS "${kind}"`,
     )} OFFSET 0) AS count) AS due
     WHERE visits < ${VISITS_MAX} AND found < $8 AND workspaces < $9 AND here.id <= $7
  )
  SELECT visits, "workspaceId", ${each((kind) => `"${kind}"`)} FROM visited
   WHERE visits > 0 AND (${ALL} > 0 OR visits = (SELECT max(visits) FROM visited))
   ORDER BY visits`;

const VISIT_THESE = `
  SELECT 0 AS visits, workspace_id AS "workspaceId",
         ${each((kind) => `${counted(kind, 'behind.workspace_id')} AS "${kind}"`)}
    FROM unnest($6::int[]) AS behind (workspace_id)`;

const total = ({ timedOut, again, fresh }: Turn): number => timedOut + again + fresh;
const isDue = (turn: Turn): boolean => total(turn) > 0;
const sum = (amounts: readonly number[]): number => amounts.reduce((all, one) => all + one, 0);

/** Splits an amount equally (max-min fairness): what one cannot use goes to the others. */
export function shareOut(amount: number, wanted: readonly number[], first = 0): number[] {
  const shares = wanted.map(() => 0);
  const order = [...wanted.keys()].map((place) => (place + first) % wanted.length);
  let left = amount;
  let open = order.filter((index) => (wanted[index] ?? 0) > 0);
  while (left > 0 && open.length > 0) {
    const each = Math.max(1, Math.floor(left / open.length));
    for (const index of open) {
      const more = Math.min(each, (wanted[index] ?? 0) - (shares[index] ?? 0), left);
      shares[index] = (shares[index] ?? 0) + more;
      left -= more;
    }
    open = open.filter((index) => (shares[index] ?? 0) < (wanted[index] ?? 0));
  }
  return shares;
}

export class ClaimTurns {
  /** id of the workspace after which the next claim starts */
  #last = 0;
  /** workspaces that got fewer runs than were due */
  #behind: readonly number[] = [];

  /**
   * How many runs to claim from which workspaces, in the order of turns: at most a quarter (rounded up)
   * timed out, at most `retries` claimed before, the rest fresh.
   */
  async next(database: Database, settings: ClaimSettings): Promise<Turn[]> {
    const start = this.#last;
    const visited = await this.#look(database, settings);
    const wanted = (kind: DueKind): number[] => visited.map((turn) => turn[kind]);
    const { limit } = settings;
    const timedOut = shareOut(Math.ceil(limit * TIMED_OUT_SHARE), wanted('timedOut'));
    let left = limit - sum(timedOut);
    // Retries are so few per claim that a fixed order would starve the last workspaces.
    const first = Math.floor(Math.random() * visited.length);
    const again = shareOut(Math.min(settings.retries, left), wanted('again'), first);
    left -= sum(again);
    const fresh = shareOut(left, wanted('fresh'));
    const turns = visited.map(({ workspaceId }, index) => ({
      workspaceId,
      timedOut: timedOut[index] ?? 0,
      again: again[index] ?? 0,
      fresh: fresh[index] ?? 0,
    }));
    this.#note(start, visited, turns);
    return turns.filter(isDue);
  }

  /** The first workspace that was not served starts the next claim. */
  #note(start: number, visited: readonly Turn[], turns: readonly Turn[]): void {
    const isUnserved = ({ timedOut, fresh }: Turn, index: number): boolean =>
      (timedOut > 0 && turns[index]?.timedOut === 0) || (fresh > 0 && turns[index]?.fresh === 0);
    const unserved = visited.findIndex(isUnserved);
    if (unserved >= 0) this.#last = visited[unserved - 1]?.workspaceId ?? start;
    this.#behind = visited
      .filter((turn, index) => total(turn) > total(turns[index] ?? turn))
      .map(({ workspaceId }) => workspaceId)
      .slice(0, BEHIND_MAX);
  }

  async #look(database: Database, settings: ClaimSettings): Promise<Turn[]> {
    const start = this.#last;
    const found: Turn[] = [];
    let [after, upTo] = [start, ID_MAX];
    for (;;) {
      const runs = settings.limit * COUNTED_PER_RUN - sum(found.map(total));
      const workspaces = settings.limit - found.length;
      const visited = await visit(database, settings, VISIT, [after, upTo, runs, workspaces]);
      const due = visited.filter(isDue);
      found.push(...due);
      after = visited.at(-1)?.workspaceId ?? after;
      this.#last = after;
      if (sum(due.map(total)) >= runs || due.length >= workspaces) return found;
      if ((visited.at(-1)?.visits ?? 0) < VISITS_MAX) {
        // The end of the range: start over at the first workspace, or the round is complete.
        this.#last = 0;
        if (start === 0 || upTo === start) return found;
        [after, upTo] = [0, start];
      } else {
        const all = await this.#addBehind(database, settings, found);
        if (all.length > 0) return all;
      }
    }
  }

  async #addBehind(
    database: Database,
    settings: ClaimSettings,
    found: readonly Turn[],
  ): Promise<Turn[]> {
    const others = this.#behind.filter((id) => found.every((turn) => turn.workspaceId !== id));
    this.#behind = [];
    if (others.length === 0) return [...found];
    const behind = await visit(database, settings, VISIT_THESE, [others]);
    return [...found, ...behind.filter(isDue)];
  }
}

async function visit(
  database: Database,
  { settleMs, timeoutMs, limit, retries }: ClaimSettings,
  text: string,
  values: readonly unknown[],
): Promise<Visit[]> {
  const timedOutMax = Math.ceil(limit * TIMED_OUT_SHARE);
  const { rows } = await database.query<Visit>(text, [
    settleMs,
    timeoutMs,
    timedOutMax,
    retries,
    // One more than the limit shows that there are more.
    limit + 1,
    ...values,
  ]);
  return rows;
}
