/** Creates what sends alerts, for the delivery and for test messages, and what sends e-mails about assignments. */
import { sendAssignmentMails } from '../alerts/assignment-mails.ts';
import { AlertDelivery } from '../alerts/delivery.ts';
import { createMailer } from '../alerts/email.ts';
import { type AlertSender, createAlertSender } from '../alerts/sender.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../db/database.ts';
import type { DatabaseClock } from '../db/database-clock.ts';
import type { Catalog } from '../engine/rules/catalog.ts';
import { ocsfSourceOf, toOcsf } from '../http/api/findings/ocsf.ts';
import type { Events } from '../observe/events.ts';
import { programVersion } from './program-version.ts';
import type { StopOrder } from './stop-order.ts';
import { repeat } from './upkeep.ts';

/** How often e-mails about assignments are looked for. */
const MAILS_EVERY_MS = 1000;
/** A message under way takes ten seconds at most. */
const STOP_LIMIT_MS = 15_000;

export function alertSenderOf(
  { baseUrl, brand, alertPrivateAddresses, smtp }: Config,
  { rules }: Pick<Catalog, 'rules'>,
  { nowMs }: Pick<DatabaseClock, 'nowMs'>,
): AlertSender {
  const version = programVersion();
  const ocsf = ocsfSourceOf(rules, version, baseUrl);
  return createAlertSender({
    brand,
    baseUrl,
    version,
    smtp,
    privateAddresses: alertPrivateAddresses,
    ruleTitle: ocsf.ruleTitle,
    toOcsf: (finding) => toOcsf(finding, ocsf),
    nowMs,
  });
}

interface AlertParts {
  readonly config: Config;
  readonly database: Database;
  readonly clock: DatabaseClock;
  readonly catalog: Catalog;
  readonly events: Events;
}

export function startAlerts(parts: AlertParts, stops: Pick<StopOrder, 'add'>): void {
  const { config, database, clock, catalog, events } = parts;
  const sender = alertSenderOf(config, catalog, clock);
  const delivery = new AlertDelivery({ database, sender, nowMs: clock.nowMs, events });
  delivery.start();
  stops.add('alerts', () => delivery.stop(), STOP_LIMIT_MS);
  startAssignmentMails(parts, stops);
}

function startAssignmentMails(
  { config, database, catalog, events }: AlertParts,
  stops: Pick<StopOrder, 'add'>,
): void {
  const { baseUrl, brand, smtp } = config;
  if (smtp === null) return;
  const { ruleTitle } = ocsfSourceOf(catalog.rules, programVersion(), baseUrl);
  const mailer = createMailer(smtp, new URL(baseUrl).hostname);
  const mails = { database, mailer, source: { brand, baseUrl, ruleTitle }, events };
  const sending = repeat(
    () => sendAssignmentMails(mails),
    MAILS_EVERY_MS,
    events.assignmentMailsFailed,
    { onSuccess: events.assignmentMailsWork },
  );
  stops.add('assignment mails', () => sending.stop(), STOP_LIMIT_MS);
}
