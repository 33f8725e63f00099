/**
 * What the dashboard reads and changes about people and their workspace, as functions that `main`
 * hands in. Each change writes the audit ledger, and checks the actor's role once more.
 */
import type {
  AgentKeyPrefix,
  AuditEntry,
  Hex16,
  Int64,
  Invitation,
  KeyKind,
  ListedKey,
  ListedSession,
  Member,
  Membership,
  Role,
  Rule,
  SessionActor,
} from '../../model.ts';

/** A user whose password was checked. */
export interface ProvenUser {
  readonly id: number;
  readonly email: string;
  /** of the password that was checked; a change of the password in between is noticed by it */
  readonly proof: string;
}

export interface Accounts {
  /**
   * @param meant which account, if the address has several: that of a user, or preferably of a
   *   workspace
   * @returns null when address and password do not match
   */
  readonly checkPassword: (
    email: string,
    password: string,
    meant: { readonly userId?: number; readonly workspaceSlug?: string | null },
  ) => Promise<ProvenUser | null>;
  /** the id of an account of an e-mail address, for the log; null if it has none */
  readonly findId: (email: string) => Promise<number | null>;
  /**
   * Ends every session of the user.
   *
   * @returns the new password's proof
   * @throws {SluiceError} `sign_in_failed` when the password was changed since it was checked
   */
  readonly changePassword: (user: ProvenUser, next: string, origin: string) => Promise<string>;
  /**
   * @returns null when the user does not belong to the workspace that is named
   * @throws {SluiceError} `sign_in_failed` when the password was changed since it was checked
   */
  readonly openSession: (session: {
    readonly userId: number;
    readonly workspaceSlug: string | null;
    readonly userAgent: string;
    readonly address: string;
    readonly proof?: string;
  }) => Promise<{ readonly token: string; readonly expiresAt: Date } | null>;
  /** @returns the session's user; null if there was no open session */
  readonly endToken: (token: string) => Promise<number | null>;
  readonly workspacesOf: (userId: number) => Promise<readonly Membership[]>;
  readonly sessionsOf: (userId: number) => Promise<readonly ListedSession[]>;
  /** @returns false when the user does not belong to the workspace */
  readonly turnSession: (sessionId: Hex16, workspaceSlug: string) => Promise<boolean>;
  /** @returns false when the user has no such open session */
  readonly endSession: (userId: number, sessionId: Hex16) => Promise<boolean>;
  /** Ends all sessions but `keepId`. @returns how many */
  readonly endSessions: (userId: number, keepId: Hex16 | null) => Promise<number>;
}

/** Who accepts an invitation: the signed-in user, or a new one. */
export type InvitationAcceptance =
  | { readonly userId: number }
  | { readonly displayName: string; readonly password: string };

export interface MemberStore {
  readonly list: (workspaceId: number) => Promise<readonly Member[]>;
  readonly setRole: (
    workspaceId: number,
    change: { readonly userId: number; readonly role: Role },
    actor: SessionActor,
  ) => Promise<void>;
  readonly remove: (workspaceId: number, userId: number, actor: SessionActor) => Promise<void>;
  readonly invitations: (workspaceId: number) => Promise<readonly Invitation[]>;
  readonly invite: (
    workspaceId: number,
    invitee: { readonly email: string; readonly role: Role },
    actor: SessionActor,
  ) => Promise<{ readonly invitation: Invitation; readonly token: string }>;
  readonly uninvite: (workspaceId: number, id: number, actor: SessionActor) => Promise<void>;
  readonly accept: (
    token: string,
    by: InvitationAcceptance,
    origin: string,
  ) => Promise<{ readonly id: number; readonly workspaceSlug: string }>;
}

export interface KeyStore {
  readonly list: (workspaceId: number) => Promise<readonly ListedKey[]>;
  readonly make: (
    workspaceId: number,
    key: {
      readonly kind: KeyKind;
      readonly name: string;
      readonly rateLimitPerMinute: number;
      readonly agentPrefix: AgentKeyPrefix;
    },
    actor: SessionActor,
  ) => Promise<{ readonly id: number; readonly key: string }>;
  readonly revoke: (workspaceId: number, id: number, actor: SessionActor) => Promise<void>;
}

export interface SettingStore {
  readonly setExperimental: (
    workspaceId: number,
    on: boolean,
    actor: SessionActor,
  ) => Promise<void>;
  /** null removes the override */
  readonly setOverride: (
    workspaceId: number,
    ruleId: string,
    enabled: boolean | null,
    actor: SessionActor,
  ) => Promise<void>;
  /** why nobody may switch a rule on; null when it may be */
  readonly refusal: (rule: Rule) => { readonly reason: string; readonly detail: string } | null;
  readonly rename: (workspaceId: number, name: string, actor: SessionActor) => Promise<void>;
  /** @returns how many excerpts were removed */
  readonly setRedaction: (workspaceId: number, on: boolean, actor: SessionActor) => Promise<number>;
}

/** Reads a page of a workspace's ledger: entries with a number below `before`, newest first. */
export type AuditReader = (
  workspaceId: number,
  before: Int64 | null,
  limit: number,
) => Promise<{ readonly entries: readonly AuditEntry[]; readonly next: Int64 | null }>;
