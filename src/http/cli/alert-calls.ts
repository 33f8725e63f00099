/**
 * The answers and actions of `sluice alerts …`, on a server or on the local database. The
 * path of a webhook, which may be a password, is in no answer.
 */
import { z } from 'zod';
import type { AlertSender } from '../../alerts/sender.ts';
import { listDead, listDeliveries, logDelivery } from '../../db/alerts/deliveries.ts';
import { findDestination, listDestinations } from '../../db/alerts/destinations.ts';
import type { Databases } from '../../db/databases.ts';
import { SluiceError } from '../../errors.ts';
import {
  type AlertFormat,
  type ListedDestination,
  type SendResult,
  shownTarget,
} from '../../model/alerts.ts';
import { type BodyOf, bodyFrom } from '../api/openapi/component.ts';

export type TestSender = Pick<AlertSender, 'sendTest'>;

const reason = { http_status: z.number().nullable(), failure: z.string().nullable() };
const sending = { outcome: z.string(), ...reason };

const destination = z.object({
  id: z.number(),
  name: z.string(),
  format: z.string(),
  to: z.string(),
  min_severity: z.string(),
  categories: z.array(z.string()),
  agent: z.string().nullable(),
  agent_match: z.string(),
  shows_user: z.boolean(),
  tool_changes: z.boolean(),
  paused: z.boolean(),
  created_at: z.string(),
  pending_findings: z.number(),
  undelivered_findings: z.number(),
  last_message: z.object({ at: z.string(), ...sending }).nullable(),
});
const logEntry = z.object({
  at: z.string(),
  destination: z.string(),
  message_id: z.string(),
  kind: z.string(),
  findings: z.number(),
  attempt: z.number(),
  ...sending,
});
const undelivered = z.object({
  destination_id: z.number(),
  destination: z.string(),
  message_id: z.string(),
  kind: z.string(),
  findings: z.number(),
  attempts: z.number(),
  queued_at: z.string(),
  last_attempt_at: z.string(),
  ...reason,
});
export const alerts = z.object({
  destinations: z.array(destination),
  log: z.array(logEntry),
  undelivered: z.array(undelivered),
});
export const tested = z.object({ destination: z.string(), message_id: z.string(), ...sending });

function toDestination(one: ListedDestination): BodyOf<typeof destination> {
  const { target, filter, toolChanges = false, last } = one;
  return bodyFrom(destination, {
    ...one,
    ...filter,
    toolChanges,
    format: target.format,
    to: shownTarget(target),
    pendingFindings: one.pending,
    undeliveredFindings: one.dead,
    lastMessage: last && {
      at: last.at.toISOString(),
      outcome: last.outcome,
      http_status: last.httpStatus,
      failure: last.failure,
    },
  });
}

export async function alertsBody(
  { readFresh }: Databases,
  workspaceId: number,
): Promise<BodyOf<typeof alerts>> {
  const log = await readFresh(listDeliveries, workspaceId);
  const dead = await readFresh(listDead, workspaceId);
  return {
    destinations: (await readFresh(listDestinations, workspaceId)).map(toDestination),
    log: log.map((one) => bodyFrom(logEntry, { ...one, destination: one.name })),
    undelivered: dead.map((one) =>
      bodyFrom(undelivered, {
        ...one,
        destination: one.name,
        messageId: one.id,
        lastAttemptAt: one.deadAt,
      }),
    ),
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

/** @throws {SluiceError} `not_found` */
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

export const testBody = (outcome: TestOutcome): BodyOf<typeof tested> =>
  bodyFrom(tested, { ...outcome, destination: outcome.name });
