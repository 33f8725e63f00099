/** Repeats background work at intervals; a failed turn is reported, and the next one tries again. */

import { LRUCache } from 'lru-cache';
import type { RuleCost } from '../db/findings/rule-costs.ts';
import type { RefusedRequests } from '../http/limits/refused-requests.ts';
import type { RefusedGroup } from '../model/refused-requests.ts';
import type { Events } from '../observe/events.ts';
import type { MeteredRule } from '../pool/rule-meter.ts';
import { withinLimit } from '../time-limit.ts';
import type { StopOrder } from './stop-order.ts';

/** A clock that drifts by 100 ppm is 6 ms off after a minute. */
export const CLOCK_READ_EVERY_MS = 60_000;

/** Often enough for an alert and for autoscaling. */
export const BACKLOG_COUNT_EVERY_MS = 15_000;

const LAST_FLUSH_LIMIT_MS = 5000;

interface Upkeep {
  /** Resolves after the turn under way. */
  readonly stop: () => Promise<void>;
}

/** Turns never overlap and do not keep the process alive. @param options.onSuccess called for every other one */
export function repeat(
  turn: () => Promise<void>,
  intervalMs: number,
  onFailure: (error: unknown) => void,
  options: { readonly atOnce?: boolean; readonly onSuccess?: () => void } = {},
): Upkeep {
  let running: Promise<void> | null = null;
  const begin = (): void => {
    running ??= turn()
      .then(options.onSuccess, onFailure)
      .finally(() => {
        running = null;
      });
  };
  const timer = setInterval(begin, intervalMs);
  timer.unref();
  if (options.atOnce === true) begin();
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}

/**
 * Writes regularly what is collected in memory, and the rest at the stop. A failure does not make the stop fail.
 *
 * @param flush keeps for the next time what it could not write
 */
export function flushUntilStop(
  name: string,
  flush: () => Promise<void>,
  intervalMs: number,
  ended: { readonly failed: (error: unknown) => void; readonly worked: () => void },
  stops: Pick<StopOrder, 'add'>,
  atOnce = false,
): void {
  const upkeep = repeat(flush, intervalMs, ended.failed, { atOnce, onSuccess: ended.worked });
  const last = async (): Promise<void> => {
    await upkeep.stop();
    await flush();
  };
  stops.add(name, () => withinLimit(last(), LAST_FLUSH_LIMIT_MS).catch(ended.failed));
}

/**
 * Keeps what matching rules took: collected from the match threads, written every minute and at the stop. Has
 * rules' ids and times only; what a failed write had is kept for the next one, at most one sum for each rule.
 */

const COSTS_WRITTEN_EVERY_MS = 60_000;

/** @returns to be called with what a thread has measured */
export function keepRuleCosts(
  rules: readonly { readonly id: string }[],
  record: (costs: readonly RuleCost[]) => Promise<void>,
  {
    ruleCostsUnrecorded: failed,
    ruleCostsRecorded: worked,
  }: Pick<Events, 'ruleCostsUnrecorded' | 'ruleCostsRecorded'>,
  stops: Pick<StopOrder, 'add'>,
  intervalMs: number = COSTS_WRITTEN_EVERY_MS,
): (measured: readonly MeteredRule[]) => void {
  const sums = new Map<string, RuleCost>();
  const add = ({ ruleId, searches, micros }: RuleCost): void => {
    const sum = sums.get(ruleId);
    sums.set(ruleId, {
      ruleId,
      searches: searches + (sum?.searches ?? 0),
      micros: micros + (sum?.micros ?? 0),
    });
  };
  const flush = async (): Promise<void> => {
    const costs = [...sums.values()];
    sums.clear();
    try {
      await record(costs);
    } catch (error) {
      costs.forEach(add);
      throw error;
    }
  };
  flushUntilStop('matcher times', flush, intervalMs, { failed, worked }, stops);
  return (measured) => {
    for (const { ruleIndex, searches, micros } of measured) {
      const rule = rules[ruleIndex];
      if (rule !== undefined) add({ ruleId: rule.id, searches, micros });
    }
  };
}

/**
 * Takes the refused requests that were counted in memory, every five seconds and at the stop: those of
 * known keys are stored for their workspace, the others are logged for the operator.
 */

const REFUSALS_WRITTEN_EVERY_MS = 5000;
/** Most groups of a turn; no more are counted in an interval (`GROUPS_MAX`). */
const RECORDED_MAX = 1000;
/** Most log lines of unknown senders per interval. */
const LOGGED_PER_TURN_MAX = 10;
/** Senders that were logged and are not logged again within an hour. */
const LOGGED_MAX = 1000;
const LOGGED_AGAIN_MS = 3_600_000;

/** Logs senders that belong to no workspace: each once an hour, a few per turn. */
function createSenderLog(events: Pick<Events, 'senderRefused'>) {
  const logged = new LRUCache<string, true>({ max: LOGGED_MAX, ttl: LOGGED_AGAIN_MS });
  return (groups: readonly RefusedGroup[]): void => {
    let lines = 0;
    for (const { digest: _digest, ...sender } of groups) {
      const { reason, keyPrefix, address, userAgent, path } = sender;
      const id = [reason, keyPrefix, address, userAgent, path].join('\n');
      if (lines >= LOGGED_PER_TURN_MAX || logged.has(id)) continue;
      lines += 1;
      logged.set(id, true);
      events.senderRefused(sender);
    }
  };
}

/**
 * Groups of a turn that failed are recorded by the next one, as many as fit; `/metrics` has counted the others too.
 *
 * @param record stores the groups of known keys and returns the others
 */
export function keepRefusedRequests(
  refused: Pick<RefusedRequests, 'takeGroups'>,
  record: (groups: readonly RefusedGroup[]) => Promise<readonly RefusedGroup[]>,
  events: Pick<Events, 'refusalsUnrecorded' | 'refusalsRecorded' | 'senderRefused'>,
  stops: Pick<StopOrder, 'add'>,
  intervalMs: number = REFUSALS_WRITTEN_EVERY_MS,
): void {
  const log = createSenderLog(events);
  let failed: readonly RefusedGroup[] = [];
  const turn = async (): Promise<void> => {
    const groups = [...failed, ...refused.takeGroups()].slice(0, RECORDED_MAX);
    failed = groups;
    if (groups.length > 0) log(await record(groups));
    failed = [];
  };
  const ended = { failed: events.refusalsUnrecorded, worked: events.refusalsRecorded };
  flushUntilStop('refused requests', turn, intervalMs, ended, stops);
}
