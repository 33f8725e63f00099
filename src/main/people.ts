/** What the dashboard's interface asks of the database: accounts, members, keys, settings, ledger. */
import type { Config } from '../config.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { setExperimental, setOverride } from '../db/findings/rule-writes.ts';
import { listAudit } from '../db/people/audit.ts';
import { findInvitationByToken, listInvitations } from '../db/people/invitations.ts';
import { listKeys } from '../db/people/keys.ts';
import {
  acceptInvitation,
  changeRole,
  dropMember,
  invite,
  uninvite,
} from '../db/people/member-writes.ts';
import { listMembers, listMemberships } from '../db/people/memberships.ts';
import {
  createSession,
  findSession,
  listSessions,
  revokeSession,
  revokeSessions,
  revokeToken,
  turnSession,
} from '../db/people/sessions.ts';
import { signInByPassword, signInByProvider } from '../db/people/sign-in.ts';
import { changePassword } from '../db/people/user-writes.ts';
import { findAccountId, hashPasswordOf } from '../db/people/users.ts';
import {
  endKey,
  makeKey,
  renameWorkspace,
  switchRedaction,
} from '../db/people/workspace-writes.ts';
import { listWorkspaces, type Workspace } from '../db/people/workspaces.ts';
import { locateHit } from '../engine/matcher/locate-hit.ts';
import { refusal } from '../engine/rules/effective-set.ts';
import type { AppDependencies } from '../http/dashboard/app-routes.ts';
import { createProviders } from '../http/dashboard/sign-in/configured-providers.ts';
import { createCookieJar } from '../http/dashboard/sign-in/session-cookie.ts';
import type { SessionLimiter } from '../http/limits/session-limiter.ts';
import type { SignInLimiter } from '../http/limits/sign-in-limiter.ts';

/**
 * Most revoked keys that a page lists, the latest: an admin may create and revoke any number of
 * keys.
 */
const REVOKED_KEYS_LISTED = 200;

type Accounts = AppDependencies['accounts'];
type Members = AppDependencies['members'];

async function workspaceOf(database: Database, id: number): Promise<Workspace | undefined> {
  return (await listWorkspaces(database)).find((one) => one.id === id);
}

function accountsOf(database: Database): Accounts {
  return {
    checkPassword: (...tried) => signInByPassword(database, ...tried),
    findId: (email) => findAccountId(database, email),
    changePassword: (...change) => changePassword(database, ...change),
    openSession: (session) =>
      inTransaction(database, (connection) => createSession(connection, session)),
    endToken: (token) => revokeToken(database, token),
    workspacesOf: (userId) => listMemberships(database, userId),
    sessionsOf: (userId) => listSessions(database, userId),
    turnSession: (sessionId, slug) => turnSession(database, sessionId, slug),
    endSession: (userId, sessionId) => revokeSession(database, userId, sessionId),
    endSessions: (userId, keepId) => revokeSessions(database, userId, keepId),
  };
}

function membersOf(database: Database): Members {
  return {
    list: (workspaceId) => listMembers(database, workspaceId),
    setRole: (...change) => changeRole(database, ...change),
    remove: (...whom) => dropMember(database, ...whom),
    invitations: (workspaceId) => listInvitations(database, workspaceId),
    invite: (...whom) => invite(database, ...whom),
    uninvite: (...which) => uninvite(database, ...which),
    accept: async (token, who, origin) => {
      // Before the password is hashed: that is work which a made-up token must not cause.
      const { workspaceId, email } = await findInvitationByToken(database, token);
      const accepting =
        'userId' in who
          ? who
          : {
              displayName: who.displayName,
              passwordHash: await hashPasswordOf(database, email, who.password),
            };
      const user = await acceptInvitation(database, token, accepting, origin);
      const workspace = await workspaceOf(database, workspaceId);
      return { id: user.id, workspaceSlug: workspace?.slug ?? '' };
    },
  };
}

/** What `serve.ts` has made already and the dashboard's interface shares. */
export interface PeopleParts
  extends Pick<
    AppDependencies,
    | 'rules'
    | 'findings'
    | 'runs'
    | 'events'
    | 'shell'
    | 'ocsf'
    | 'findRun'
    | 'findSteps'
    | 'overview'
    | 'nowMs'
  > {
  readonly sessionLimiter: SessionLimiter;
  readonly signInLimiter: SignInLimiter;
}

/** Everything the routes under `/app` work with. */
export function peopleOf(
  { baseUrl, observeUrl, brand, trustedProxyHops, oauthClients }: Config,
  database: Database,
  parts: PeopleParts,
): AppDependencies {
  return {
    ...parts,
    look: parts.shell,
    locate: locateHit,
    baseUrl,
    observeUrl,
    trustedHops: trustedProxyHops,
    cookies: createCookieJar(brand, new URL(baseUrl).protocol === 'https:'),
    providers: createProviders(oauthClients),
    signInByProvider: (account, origin) => signInByProvider(database, account, origin),
    findInvitation: async (token) => {
      const { email, role, workspaceId } = await findInvitationByToken(database, token);
      const workspace = await workspaceOf(database, workspaceId);
      return { email, role, workspace: workspace?.name ?? '' };
    },
    findSession: (...which) => findSession(database, ...which),
    accounts: accountsOf(database),
    members: membersOf(database),
    keys: {
      list: (workspaceId) => listKeys(database, workspaceId, REVOKED_KEYS_LISTED),
      make: (workspaceId, key, actor) => makeKey(database, { ...key, workspaceId, brand }, actor),
      revoke: (...which) => endKey(database, ...which),
    },
    settings: {
      refusal,
      setExperimental: (...change) => setExperimental(database, ...change),
      setOverride: (...change) => setOverride(database, ...change),
      rename: (...change) => renameWorkspace(database, ...change),
      setRedaction: (...change) => switchRedaction(database, ...change),
    },
    audit: (...page) => listAudit(database, ...page),
  };
}
