/**
 * Takes the refused requests that were counted in memory, every five seconds and at the stop: those of
 * known keys are stored for their workspace, the others are logged for the operator.
 */
import { LRUCache } from 'lru-cache';

import type { RefusedRequests } from '../http/limits/refused-requests.ts';
import type { RefusedGroup } from '../model/refused-requests.ts';
import type { Events } from '../observe/events.ts';
import type { StopOrder } from './stop-order.ts';
import { flushUntilStop } from './upkeep.ts';

const INTERVAL_MS = 5000;
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
  intervalMs: number = INTERVAL_MS,
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
