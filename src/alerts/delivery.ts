/**
 * Delivers what the outbox holds. Every process does so; a destination belongs to one process at a time.
 * A process sends to several destinations at once, each in a slot, so that a receiver that hangs delays
 * no other. Workspaces share the slots (`claimDestinations`), and a turn ends with a slow message.
 */
import {
  beginAttempt,
  type ClaimedDestination,
  claimDestinations,
  dropFromOutbox,
  endAttempt,
  nextMessages,
  type OutboxMessage,
  releaseDestination,
} from '../db/alerts/outbox.ts';
import { pendingAlerts, tidyOutbox } from '../db/alerts/outbox-upkeep.ts';
import type { Database } from '../db/database.ts';
import { findAlertedFindings } from '../db/findings/findings.ts';
import { incidentOfRun } from '../db/findings/incidents.ts';
import { findToolChange } from '../db/tools/tool-list.ts';
import type { SendResult } from '../model/alerts.ts';
import type { Hex16 } from '../model/json.ts';
import type { Events } from '../observe/events.ts';
import type { Alert, AlertedFinding } from './messages.ts';
import type { AlertSender } from './sender.ts';

const LOOK_EVERY_MS = 1000;
/** Destinations that one process sends to at once. While it waits, each holds no more than a socket. */
export const SENDING_SLOTS = 64;
/** A destination sends no further message in a turn that has taken this long. */
const TURN_MS = 1000;
/** How often the waiting findings are counted, and the outbox is tidied. */
const COUNT_EVERY_MS = 30_000;
const TIDY_EVERY_MS = 60 * 60_000;

export interface DeliveryParts {
  readonly database: Database;
  readonly sender: AlertSender;
  readonly nowMs: () => number;
  readonly events: Pick<
    Events,
    'alertSent' | 'alertNotMade' | 'alertsCounted' | 'alertsFailed' | 'alertsWork'
  >;
}

export class AlertDelivery {
  readonly #parts: DeliveryParts;
  /** turns under way, with their workspaces */
  readonly #running = new Map<Promise<void>, number>();
  #timers: NodeJS.Timeout[] = [];
  #looking: Promise<void> | null = null;
  #isStopped = false;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  start(): void {
    const { database, events } = this.#parts;
    const every = (ms: number, work: () => Promise<void>): NodeJS.Timeout =>
      setInterval(() => void work().then(events.alertsWork, events.alertsFailed), ms).unref();
    this.#timers = [
      setInterval(() => void this.look(), LOOK_EVERY_MS).unref(),
      every(COUNT_EVERY_MS, async () => events.alertsCounted(await pendingAlerts(database))),
      every(TIDY_EVERY_MS, () => tidyOutbox(database)),
    ];
  }

  /** Resolves once the messages under way are sent. What is left is sent by others, or later. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.idle();
  }

  async idle(): Promise<void> {
    await this.#looking;
    await Promise.all(this.#running.keys());
  }

  /** Looks for what is due, and begins to send it. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#claim()
      .then(this.#parts.events.alertsWork, this.#parts.events.alertsFailed)
      .finally(() => {
        this.#looking = null;
      });
    return this.#looking;
  }

  async #claim(): Promise<void> {
    const free = SENDING_SLOTS - this.#running.size;
    if (free <= 0) return;
    const heldBy = new Map<number, number>();
    for (const id of this.#running.values()) heldBy.set(id, (heldBy.get(id) ?? 0) + 1);
    for (const destination of await claimDestinations(this.#parts.database, { free, heldBy })) {
      const turn = this.#turn(destination)
        .catch(this.#parts.events.alertsFailed)
        .finally(() => this.#running.delete(turn));
      this.#running.set(turn, destination.workspaceId);
    }
  }

  /** Sends what a destination is due, until something fails or the turn has taken long. */
  async #turn(destination: ClaimedDestination): Promise<void> {
    const { database, nowMs } = this.#parts;
    const endsAtMs = nowMs() + TURN_MS;
    let messages = 0;
    let last: SendResult | null = null;
    for (const message of await nextMessages(database, destination)) {
      if (this.#isStopped) break;
      const alert = await this.#alertOf(destination, message);
      if (alert === null) continue;
      messages += 1;
      last = await this.#deliver(destination, message, alert);
      if (last === null || last.failure !== null || nowMs() >= endsAtMs) break;
    }
    await releaseDestination(database, destination, { messages, last });
  }

  async #findingsOf(
    destination: ClaimedDestination,
    ids: readonly Hex16[],
  ): Promise<AlertedFinding[]> {
    const { database } = this.#parts;
    const found = await findAlertedFindings(database, destination.workspaceId, ids);
    const gone = ids.filter((id) => !found.some((finding) => finding.id === id));
    if (gone.length > 0) await dropFromOutbox(database, destination, gone);
    return found;
  }

  /** A change that was marked as seen since leaves the outbox. */
  async #changeOf(destination: ClaimedDestination, ids: readonly Hex16[]): Promise<Alert | null> {
    const { database, nowMs } = this.#parts;
    const [id = ''] = ids;
    const tool = await findToolChange(database, destination.workspaceId, id);
    if (tool !== null) return { kind: 'tool_change', tool, at: new Date(nowMs()) };
    await dropFromOutbox(database, destination, ids);
    return null;
  }

  async #alertOf(
    destination: ClaimedDestination,
    { kind, findingIds }: OutboxMessage,
  ): Promise<Alert | null> {
    const { database, nowMs } = this.#parts;
    if (kind === 'tool_change') return await this.#changeOf(destination, findingIds);
    const [first, ...others] = await this.#findingsOf(destination, findingIds);
    if (first === undefined) return null;
    const event = { findings: [first, ...others] as const, at: new Date(nowMs()) };
    if (kind === 'digest') return { kind, ...event };
    const incident = await incidentOfRun(database, destination.workspaceId, first.runId);
    // Null if an exception has come to cover the findings since: the next turn removes them.
    return incident === null ? null : { kind, incident, ...event };
  }

  async #deliver(
    destination: ClaimedDestination,
    message: OutboxMessage,
    alert: Alert,
  ): Promise<SendResult | null> {
    const { database, events } = this.#parts;
    const attempt = await beginAttempt(database, destination, message);
    if (attempt === null) return null;
    const messageId = `alert_${message.id}`;
    const result = await this.#send(destination, messageId, alert);
    const ended = { message, attempt, result };
    const outcome = await endAttempt(database, destination, ended, messageId);
    const { failure, status } = result;
    const { format } = destination.target;
    events.alertSent({
      destination: destination.id,
      format,
      kind: message.kind,
      outcome,
      failure,
      status,
    });
    return result;
  }

  /** A message that cannot be made fails like one that is refused, and holds up no other. */
  async #send(...message: Parameters<AlertSender['send']>): Promise<SendResult> {
    try {
      return await this.#parts.sender.send(...message);
    } catch (error) {
      this.#parts.events.alertNotMade(error);
      return { failure: 'internal', status: null, retryAfterSeconds: null, isGone: false };
    }
  }
}
