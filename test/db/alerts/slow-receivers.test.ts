/**
 * Receivers that answer late or never, over real HTTP: they delay neither other workspaces nor the other
 * destinations of their own. The receiver answers slow requests only when a test says so.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { AlertDelivery, SENDING_SLOTS } from '../../../src/alerts/delivery.ts';
import { createAlertSender } from '../../../src/alerts/sender.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { DESTINATIONS_MAX } from '../../../src/model/alerts.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { type AlertReceiver, openReceiver } from '../../support/receivers.ts';
import { DIGESTED } from '../../support/rows.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Each with as many slow destinations as it may have; together they have more than there are slots. */
const SLOW_WORKSPACES = 4;
const MESSAGES = 5;

let scratch: MigratedDatabase;
let receiver: AlertReceiver;
let delivery: AlertDelivery;
const slow: number[] = [];
let other: number;
/** answers the requests that hang */
let held: (() => void)[] = [];
let nowMs = 0;

const failed = (error: unknown): void => {
  throw error;
};

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  receiver = await openReceiver();
  const added = async (name: string) => (await createWorkspace(scratch.database, name, name)).id;
  for (let at = 0; at < SLOW_WORKSPACES; at += 1) slow.push(await added(`slow-${at}`));
  other = await added('other');
  const sender = createAlertSender({
    brand: 'Sluice',
    baseUrl: 'http://sluice.test',
    version: '0',
    smtp: null,
    privateAddresses: ['127.0.0.1/32'],
    ruleTitle: () => 'Rule',
    toOcsf: () => ({}),
    nowMs: () => nowMs,
  });
  const events = {
    alertSent: () => {},
    alertNotMade: failed,
    alertsCounted: () => {},
    alertsFailed: failed,
    alertsWork: () => {},
  };
  delivery = new AlertDelivery({ database: scratch.database, sender, nowMs: () => nowMs, events });
});
afterAll(async () => {
  await receiver.close();
  await scratch.close();
});
beforeEach(async () => {
  await scratch.rows('TRUNCATE alert_destinations, alert_outbox, alert_deliveries');
  receiver.received.length = 0;
  held = [];
  receiver.answer = ({ path }, response) => {
    const answer = () => void response.writeHead(204).end();
    if (path.startsWith('/slow')) held.push(answer);
    else answer();
  };
});

/** Destinations at one path of the receiver, and findings that wait for each. */
async function queue(workspaceId: number, path: string, destinations = 1, findings = 1) {
  await scratch.rows(
    `WITH destination AS (
       INSERT INTO alert_destinations (workspace_id, name, format, url, severities)
       SELECT $1, 'n', 'json', $2, '{high}' FROM generate_series(1, $3) RETURNING id),
     finding AS (
       INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
         category, corpus_version, description, condition_index, condition_description, field,
         surface, step_name, excerpt, recommended_actions,
         ${DIGESTED.columns})
       SELECT $1, gen_random_uuid(), 'R', '1', 'stable', 'high', 'c', '4', 'd', 0, 'c', 'f', 's',
              'n', 'e', '[]', ${DIGESTED.values} FROM generate_series(1, $4) RETURNING id, run_id)
     INSERT INTO alert_outbox (workspace_id, destination_id, finding_id, run_id)
     SELECT $1, destination.id, finding.id, finding.run_id FROM destination, finding`,
    [workspaceId, new URL(path, receiver.url).href, destinations, findings],
  );
}

const countOf = (path: string) => receiver.received.filter((one) => one.path === path).length;

async function hang(count: number): Promise<void> {
  await waitFor(() => held.length === count || null, {
    withinMs: 20_000,
    what: `${count} requests hang`,
  });
}

/** Answers what hangs, until nothing is under way. */
async function answerAll(): Promise<void> {
  let isIdle = false;
  const idle = delivery.idle().then(() => {
    isIdle = true;
  });
  const answered = () => {
    for (const answer of held.splice(0)) answer();
    return isIdle || null;
  };
  await waitFor(answered, { withinMs: 20_000, what: 'nothing is under way' });
  await idle;
}

test('the alert of a workspace is sent while the receivers of four others hang', async () => {
  for (const id of slow) await queue(id, `/slow/${id}`, DESTINATIONS_MAX, MESSAGES);
  await delivery.look();
  const slots = SENDING_SLOTS / (SLOW_WORKSPACES + 1);
  const atOnce = SLOW_WORKSPACES * Math.floor(slots + 1);
  await hang(atOnce);
  // However often it looks: they get no slot of the others.
  await delivery.look();
  await delivery.look();
  await queue(other, '/quick');
  await delivery.look();
  await waitFor(() => countOf('/quick') === 1 || null, {
    withinMs: 20_000,
    what: 'the alert arrives',
  });
  expect(held).toHaveLength(atOnce);
  await answerAll();
});

test('a workspace alone reaches its other destinations while some hang', async () => {
  const [own = 0] = slow;
  await queue(own, '/slow', DESTINATIONS_MAX - 1, MESSAGES);
  await delivery.look();
  await hang(DESTINATIONS_MAX - 1);
  await queue(own, '/quick', 1, MESSAGES);
  await delivery.look();
  await waitFor(() => countOf('/quick') === MESSAGES || null, {
    withinMs: 20_000,
    what: 'the alerts arrive',
  });
  expect(held).toHaveLength(DESTINATIONS_MAX - 1);
  await answerAll();
});

test.each([
  [999, MESSAGES],
  [1000, 1],
])('a turn in which a message took %i ms sends %i of five', async (tookMs, sent) => {
  receiver.answer = (_received, response) => {
    if (receiver.received.length === 1) nowMs += tookMs;
    response.writeHead(204).end();
  };
  await queue(other, '/quick', 1, MESSAGES);
  await delivery.look();
  await delivery.idle();
  expect(receiver.received).toHaveLength(sent);
});
