/** People, keys and the audit ledger: stored records and the parts of them that are shown. */
import type { Hex16, Int64, JsonObject } from './json.ts';
import type { StoredRedaction } from './redaction/redaction.ts';

export const ROLES = ['owner', 'admin', 'member'] as const;
export type Role = (typeof ROLES)[number];
export const PLANS = ['free', 'pro', 'team', 'enterprise'] as const;
export type Plan = (typeof PLANS)[number];
/** Plans whose workspaces can change which rules run, in the threat-rules tab of the dashboard. */
export const RULE_PLANS: readonly Plan[] = ['team', 'enterprise'];

export type KeyKind = 'agent' | 'workspace';

/** A valid key, as requests need it. The secret itself is not stored anywhere. */
export interface Credential {
  readonly keyId: number;
  readonly workspaceId: number;
  readonly kind: KeyKind;
  readonly rateLimitPerMinute: number;
  /** null unless its workspace redacts telemetry before it is stored */
  readonly redaction: StoredRedaction | null;
}

/** Requests per minute that a key may be given. */
export const RATE_LIMIT_DEFAULT = 1000;
export const RATE_LIMIT_MAX = 100_000;

/** Characters of a key's secret part that are stored and shown, so that people can tell keys apart. */
export const KEY_PREFIX_CHARS = 6;

/** The two spellings of an agent key: `<brand>_live_…` and `<brand>_obs_…`. */
export const AGENT_KEY_PREFIXES = ['live', 'obs'] as const;
export type AgentKeyPrefix = (typeof AGENT_KEY_PREFIXES)[number];

/** A key as it is shown: never its secret. */
export interface ListedKey {
  readonly id: number;
  readonly kind: KeyKind;
  readonly name: string;
  readonly prefix: string;
  readonly rateLimitPerMinute: number;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** A key's last use, and the first run in its workspace since it was created. */
export interface KeyArrival {
  readonly name: string;
  readonly lastUsedAt: Date | null;
  /** the first run; null before it */
  readonly run: { readonly id: string; readonly at: Date } | null;
}

/** A key as the command line prints it and `/cli/v1` answers it. */
export function toKeyRecord(key: ListedKey) {
  return {
    id: key.id,
    kind: key.kind,
    name: key.name,
    prefix: key.prefix,
    rate_limit_per_minute: key.rateLimitPerMinute,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  };
}

export interface SessionWorkspace {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly plan: Plan;
  readonly redactExcerpts: boolean;
  /** of the session's user */
  readonly role: Role;
}

/** Who holds a session's token: a browser in a cookie, or a command line that was signed in. */
export type SessionKind = 'browser' | 'cli';

export interface Session {
  readonly id: Hex16;
  readonly kind: SessionKind;
  readonly userAgent: string;
  readonly userId: number;
  readonly email: string;
  readonly displayName: string;
  readonly expiresAt: Date;
  /** the open workspace; null when its user is not (or no longer) a member */
  readonly workspace: SessionWorkspace | null;
}

export interface ListedSession {
  readonly id: Hex16;
  readonly kind: SessionKind;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
  readonly expiresAt: Date;
  /** browser and system in short, or the name of the command line's device */
  readonly userAgent: string;
  readonly address: string;
  /** slug; a command line's session never shows another one */
  readonly workspace: string | null;
}

/** A command line's request to sign in, as the person who decides sees it. */
export interface DeviceLogin {
  readonly deviceName: string;
  readonly address: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** The token of a command line that was signed in, and for whom it acts. */
export interface CliToken {
  readonly token: string;
  readonly expiresAt: Date;
  readonly userId: number;
  readonly email: string;
  /** slug */
  readonly workspace: string;
  readonly role: Role;
}

export type DevicePoll =
  | { readonly state: 'waiting' | 'slow_down' | 'denied' | 'expired' }
  | ({ readonly state: 'approved' } & CliToken);

export interface Membership {
  readonly slug: string;
  readonly name: string;
  readonly role: Role;
}

export interface Member {
  readonly userId: number;
  readonly email: string;
  readonly displayName: string;
  readonly role: Role;
  readonly createdAt: Date;
  readonly lastSeenAt: Date | null;
}

export interface Invitation {
  readonly id: number;
  readonly workspaceId: number;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** e-mail address of the inviter; null for the command line */
  readonly invitedBy: string | null;
}

/** An account at an identity provider; `subject` is unique per issuer. */
export interface Identity {
  readonly provider: string;
  readonly issuer: string;
  readonly subject: string;
}

export interface ProviderAccount extends Identity {
  /** null unless the provider says that it is verified */
  readonly verifiedEmail: string | null;
  readonly displayName: string | null;
}

export interface Actor {
  /** null unless it is a signed-in user */
  readonly userId: number | null;
  /** e-mail address, or another name */
  readonly name: string;
  /** address, or `command line` */
  readonly origin: string;
  /** the acting session, which must still be open when the change is made (authority.ts) */
  readonly sessionId?: Hex16;
}

export interface SessionActor extends Actor {
  readonly sessionId: Hex16;
}

/** Entries of a ledger that are shown; null for any. */
export interface AuditFilter {
  readonly actor: string | null;
  /** the whole name of an action, or its beginning */
  readonly action: string | null;
}

export interface AuditEntry {
  /** 1 for a workspace's first entry, without gaps */
  readonly seq: Int64;
  /** whole milliseconds */
  readonly at: Date;
  readonly actorUserId: number | null;
  readonly actor: string;
  readonly origin: string;
  readonly action: string;
  readonly subject: string;
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
  /** hash of the previous entry; zeros for the first */
  readonly prevHash: Buffer;
  readonly hash: Buffer;
}
