/**
 * The answers and actions of `sluice alerts …`, on a server or on the local database. The
 * path of a webhook, which may be a password, is in no answer.
 */
import type { AlertSender } from '../../alerts/sender.ts';
import { listDead, listDeliveries, logDelivery } from '../../db/alerts/deliveries.ts';
import { findDestination, listDestinations } from '../../db/alerts/destinations.ts';
import type { Databases } from '../../db/databases.ts';
import { SluiceError } from '../../errors.ts';
import {
  type AlertFormat,
  type DeadMessage,
  type ListedDestination,
  type LoggedAlert,
  type SendResult,
  shownTarget,
} from '../../model/alerts.ts';

export type TestSender = Pick<AlertSender, 'sendTest'>;

function toDestinationItem(one: ListedDestination) {
  const { id, name, target, filter, showsUser, toolChanges = false, paused, createdAt } = one;
  const { pending, dead, last } = one;
  return {
    id,
    name,
    format: target.format,
    to: shownTarget(target),
    min_severity: filter.minSeverity,
    categories: [...filter.categories],
    agent: filter.agent,
    agent_match: filter.agentMatch,
    shows_user: showsUser,
    tool_changes: toolChanges,
    paused,
    created_at: createdAt.toISOString(),
    pending_findings: pending,
    undelivered_findings: dead,
    last_message:
      last === null
        ? null
        : {
            at: last.at.toISOString(),
            outcome: last.outcome,
            http_status: last.httpStatus,
            failure: last.failure,
          },
  };
}

function toLogItem(one: LoggedAlert) {
  const { at, name, messageId, kind, findings, attempt, outcome, httpStatus, failure } = one;
  return {
    at: at.toISOString(),
    destination: name,
    message_id: messageId,
    kind,
    findings,
    attempt,
    outcome,
    http_status: httpStatus,
    failure,
  };
}

function toUndeliveredItem(one: DeadMessage) {
  const { destinationId, name, id, kind, findings, attempts, httpStatus, failure } = one;
  return {
    destination_id: destinationId,
    destination: name,
    message_id: id,
    kind,
    findings,
    attempts,
    queued_at: one.queuedAt.toISOString(),
    last_attempt_at: one.deadAt.toISOString(),
    http_status: httpStatus,
    failure,
  };
}

export async function alertsBody({ readFresh }: Databases, workspaceId: number) {
  return {
    destinations: (await readFresh(listDestinations, workspaceId)).map(toDestinationItem),
    log: (await readFresh(listDeliveries, workspaceId)).map(toLogItem),
    undelivered: (await readFresh(listDead, workspaceId)).map(toUndeliveredItem),
  };
}

export interface TestOutcome {
  readonly name: string;
  /** where it went, without the path of a webhook */
  readonly to: string;
  readonly format: AlertFormat;
  readonly messageId: string;
  readonly sent: string;
  readonly outcome: 'delivered' | 'failed';
  readonly httpStatus: SendResult['status'];
  readonly failure: SendResult['failure'];
}

/**
 * Sends a test message and logs it.
 *
 * @throws {SluiceError} `not_found`
 */
export async function testDestination(
  db: Databases,
  sender: TestSender,
  workspaceId: number,
  id: number,
): Promise<TestOutcome> {
  const destination = await db.readFresh(findDestination, workspaceId, id);
  if (destination === null) {
    throw new SluiceError('not_found', 'The workspace has no such destination.');
  }
  const { id: messageId, result, sent } = await sender.sendTest(destination);
  const { failure, status: httpStatus } = result;
  const outcome = failure === null ? 'delivered' : 'failed';
  const entry = { messageId, kind: 'test', findings: 0, attempt: 1, outcome } as const;
  await db.write(logDelivery, workspaceId, destination, { ...entry, httpStatus, failure });
  const { name, target } = destination;
  const { format } = target;
  const to = shownTarget(target);
  return { name, to, format, messageId, sent, outcome, httpStatus, failure };
}

export function testBody({ name, messageId, outcome, httpStatus, failure }: TestOutcome) {
  return {
    destination: name,
    message_id: messageId,
    outcome,
    http_status: httpStatus,
    failure,
  };
}
