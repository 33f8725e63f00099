/** Alerts: the destinations of a workspace, the messages sent to them, and how sending ended. */
import type { Hex16 } from './json.ts';
import type { Category, Severity } from './rules.ts';

/** The form that a destination receives: the body of a webhook, or an e-mail. */
export const ALERT_FORMATS = ['json', 'slack', 'ocsf', 'email'] as const;
export type AlertFormat = (typeof ALERT_FORMATS)[number];

export const ALERT_FORMAT_LABELS: Readonly<Record<AlertFormat, string>> = {
  json: 'Webhook, JSON',
  slack: 'Webhook, Slack format',
  ocsf: 'Webhook, OCSF',
  email: 'E-mail',
};

export const AGENT_MATCHES = ['contains', 'equals'] as const;
export type AgentMatch = (typeof AGENT_MATCHES)[number];

export const DESTINATIONS_MAX = 20;
export const RECIPIENTS_MAX = 10;
export const URL_CHARS_MAX = 1000;
/** Messages that the delivery log keeps of a workspace; a page shows them all. */
export const DELIVERIES_KEPT = 100;
export const DEAD_SHOWN = 100;

export interface AlertFilter {
  readonly minSeverity: Severity;
  /** empty: all */
  readonly categories: readonly Category[];
  /** null: every agent; letter case does not matter */
  readonly agent: string | null;
  readonly agentMatch: AgentMatch;
}

export type AlertTarget =
  | { readonly format: 'json' | 'slack' | 'ocsf'; readonly url: string }
  | { readonly format: 'email'; readonly recipients: readonly string[] };

/** Where messages go, as people see it: of a URL the origin alone, because its path may be a password. */
export function shownTarget(target: AlertTarget): string {
  return target.format === 'email'
    ? target.recipients.join(', ')
    : `${new URL(target.url).origin}/…`;
}

export interface DestinationSettings {
  readonly name: string;
  readonly target: AlertTarget;
  readonly filter: AlertFilter;
  /** messages name the user of a run */
  readonly showsUser: boolean;
  /** changed definitions of tools are sent, too */
  readonly toolChanges?: boolean;
}

/** A destination as a page shows it: never its secret. */
export interface ListedDestination extends DestinationSettings {
  readonly id: number;
  readonly paused: boolean;
  readonly createdAt: Date;
  /** findings that wait to be sent */
  readonly pending: number;
  /** findings that are not tried again */
  readonly dead: number;
  /** the last message; null when the log has none */
  readonly last: Pick<LoggedAlert, 'at' | 'outcome' | 'httpStatus' | 'failure'> | null;
}

export interface Destination {
  readonly id: number;
  readonly workspaceId: number;
  readonly workspace: string;
  readonly name: string;
  readonly target: AlertTarget;
  readonly showsUser: boolean;
  /** keys of the signatures: the one that is shown to the user, then a replaced one; none for e-mail */
  readonly secrets: readonly Buffer[];
}

/** Why a message was not delivered: bounded, and never text of a receiver. */
const DELIVERY_FAILURES = [
  'timeout',
  'dns',
  'connection',
  'tls',
  'address_refused',
  'redirect',
  'status',
  'smtp',
  'smtp_not_configured',
  'internal',
] as const;
export type DeliveryFailure = (typeof DELIVERY_FAILURES)[number];

export interface SendResult {
  /** null: delivered */
  readonly failure: DeliveryFailure | null;
  /** the answer's status; of SMTP its reply code; null without an answer */
  readonly status: number | null;
  /** the receiver wants no message before that many seconds */
  readonly retryAfterSeconds: number | null;
  /** the receiver wants no message at all: it is not tried again */
  readonly isGone: boolean;
}

export type DeliveryKind = 'incident' | 'digest' | 'tool_change' | 'test';
export type DeliveryOutcome = 'delivered' | 'failed' | 'dead';

export interface LoggedAlert {
  readonly at: Date;
  readonly name: string;
  readonly messageId: string;
  readonly kind: DeliveryKind;
  readonly findings: number;
  /** 1 for the first */
  readonly attempt: number;
  readonly outcome: DeliveryOutcome;
  readonly httpStatus: number | null;
  readonly failure: DeliveryFailure | null;
}

/** A message that is not tried again. */
export interface DeadMessage {
  readonly destinationId: number;
  readonly name: string;
  readonly id: Hex16;
  /** of its first finding */
  readonly runId: Hex16;
  readonly kind: Exclude<DeliveryKind, 'test'>;
  readonly findings: number;
  readonly attempts: number;
  readonly queuedAt: Date;
  readonly deadAt: Date;
  readonly httpStatus: number | null;
  readonly failure: DeliveryFailure | null;
}
