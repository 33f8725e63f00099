/**
 * Accounts as the routes need them: what is asked of the rest, how somebody is signed in, and how a
 * session begins. Knows no path.
 */
import { SluiceError } from '../../../errors.ts';
import type { Hex16, ListedSession, Membership, Session } from '../../../model.ts';
import type { SignInOutcome } from '../../../observe/events.ts';
import type { SignInLimiter } from '../../limits/sign-in-limiter.ts';
import { abridgeUserAgent, networkOf } from '../../transport/browser-head.ts';
import type { HeaderList } from '../../transport/exchange.ts';
import { HEX_16 } from '../../transport/query.ts';
import type { SessionDependencies, Visit } from './signed-in.ts';

/** What is asked of the rest about accounts. */
export interface Accounts {
  /**
   * null when they do not match
   *
   * @param meant which account, if the address has several: that of a user, or preferably of a
   *   workspace
   */
  readonly checkPassword: (
    email: string,
    password: string,
    meant: { readonly userId?: number; readonly workspaceSlug?: string | null },
  ) => Promise<ProvenUser | null>;
  /** the id of an account of an e-mail address, for the log; null if it has none */
  readonly findId: (email: string) => Promise<number | null>;
  /**
   * Ends every session of the user; tells the new password's proof.
   *
   * @throws {SluiceError} `sign_in_failed` when the one that was proven is no longer the one
   */
  readonly changePassword: (user: ProvenUser, next: string, origin: string) => Promise<string>;
  /**
   * null when the user is not in the workspace that is named
   *
   * @throws {SluiceError} `sign_in_failed` as above
   */
  readonly openSession: (session: {
    readonly userId: number;
    readonly workspaceSlug: string | null;
    readonly userAgent: string;
    readonly address: string;
    readonly proof?: string;
  }) => Promise<{ readonly token: string; readonly expiresAt: Date } | null>;
  /** the session's user; null if there was no open session */
  readonly endToken: (token: string) => Promise<number | null>;
  readonly workspacesOf: (userId: number) => Promise<readonly Membership[]>;
  readonly sessionsOf: (userId: number) => Promise<readonly ListedSession[]>;
  readonly turnSession: (sessionId: Hex16, workspaceSlug: string) => Promise<boolean>;
  readonly endSession: (userId: number, sessionId: Hex16) => Promise<boolean>;
  /** all but `keepId`; tells how many */
  readonly endSessions: (userId: number, keepId: Hex16 | null) => Promise<number>;
}

/** Somebody who has shown a password, and what it was checked against. */
export interface ProvenUser {
  readonly id: number;
  readonly email: string;
  readonly proof: string;
}

export interface AccountDependencies extends SessionDependencies {
  readonly accounts: Accounts;
  readonly signInLimiter: SignInLimiter;
}

/**
 * Begins a session under a new token, whatever token the browser came with: that one ends.
 *
 * @param user with its proof when it has shown a password
 * @returns the headers that give it to the browser; null when the user is not in that workspace
 */
export async function beginSession(
  { head, address }: Visit,
  { id: userId, proof }: Pick<ProvenUser, 'id'> & Partial<Pick<ProvenUser, 'proof'>>,
  workspaceSlug: string | null,
  { accounts, cookies }: Pick<AccountDependencies, 'accounts' | 'cookies'>,
): Promise<{ readonly token: string; readonly headers: HeaderList } | null> {
  const opened = await accounts.openSession({
    userId,
    workspaceSlug,
    userAgent: abridgeUserAgent(head.userAgent),
    address: networkOf(address, 3, 3),
    ...(proof === undefined ? {} : { proof }),
  });
  if (opened === null) return null;
  const former = cookies.readSession(head.cookie);
  if (former !== null) await accounts.endToken(former);
  const cookie = cookies.writeSession(opened.token, opened.expiresAt);
  return { token: opened.token, headers: [['set-cookie', cookie]] };
}

/** A sign-in attempt: how, from which address, and to which account if one was named. */
export interface SignIn {
  /** `password`, `invitation` or a provider's name */
  readonly way: string;
  readonly address: string;
  readonly email?: string;
}

function outcomeOf(error: unknown): SignInOutcome | null {
  if (!(error instanceof SluiceError)) return null;
  if (error.code === 'too_many_attempts') return 'limited';
  return error.code === 'sign_in_failed' || error.code === 'no_account' ? 'failed' : null;
}

/**
 * Makes a sign-in attempt, and logs its outcome.
 *
 * @throws what `attempt` throws
 */
export async function logged<User extends { readonly id: number }>(
  { way, address, email }: SignIn,
  attempt: () => Promise<User>,
  { accounts, events }: Pick<AccountDependencies, 'accounts' | 'events'>,
): Promise<User> {
  try {
    const user = await attempt();
    events.signInTried(way, 'succeeded', { user: user.id, address });
    return user;
  } catch (error) {
    const outcome = outcomeOf(error);
    if (outcome !== null) {
      // Looked up whether or not there is an account, but not for attempts beyond the limit.
      const isAsked = outcome === 'failed' && email !== undefined;
      const user = isAsked ? await accounts.findId(email).catch(() => null) : null;
      events.signInTried(way, outcome, { user, address });
    }
    throw error;
  }
}

interface Tried {
  readonly email: string;
  readonly password: string;
  /** slug; if the address has several accounts, that of this workspace is preferred */
  readonly workspace?: string | undefined;
  /** only this account */
  readonly userId?: number;
}

/**
 * Who somebody is by e-mail address and password, within the limits on attempts.
 *
 * @throws {SluiceError} `too_many_attempts`, `sign_in_failed`
 */
export async function checkSignIn(
  { address }: Visit,
  tried: Tried,
  deps: Pick<AccountDependencies, 'accounts' | 'signInLimiter' | 'events'>,
): Promise<ProvenUser> {
  const signIn = { way: 'password', address, email: tried.email };
  return await logged(signIn, () => checkPassword(address, tried, deps), deps);
}

/** Ends the session of a browser's cookie, if there is one. */
export async function signOut(
  { head, address }: Visit,
  { accounts, cookies, events }: Pick<AccountDependencies, 'accounts' | 'cookies' | 'events'>,
): Promise<void> {
  const token = cookies.readSession(head.cookie);
  const user = token === null ? null : await accounts.endToken(token);
  if (user !== null) events.signedOut({ user, address });
}

/**
 * Ends one session of the signed-in user.
 *
 * @throws {SluiceError} `not_found`
 */
export async function endSession(
  { userId }: Pick<Session, 'userId'>,
  sessionId: string,
  { address }: Visit,
  { accounts, events }: Pick<AccountDependencies, 'accounts' | 'events'>,
): Promise<void> {
  if (!HEX_16.test(sessionId) || !(await accounts.endSession(userId, sessionId))) {
    throw new SluiceError('not_found', 'You have no such open session.');
  }
  events.sessionsRevoked(1, { user: userId, address });
}

/** Ends all sessions of the signed-in user except the current one; returns how many. */
export async function endOtherSessions(
  { userId, id }: Pick<Session, 'userId' | 'id'>,
  { address }: Visit,
  { accounts, events }: Pick<AccountDependencies, 'accounts' | 'events'>,
): Promise<number> {
  const ended = await accounts.endSessions(userId, id);
  if (ended > 0) events.sessionsRevoked(ended, { user: userId, address });
  return ended;
}

async function checkPassword(
  address: string,
  { email, password, workspace, userId }: Tried,
  { accounts, signInLimiter }: Pick<AccountDependencies, 'accounts' | 'signInLimiter'>,
): Promise<ProvenUser> {
  await signInLimiter.admit(email, address);
  const user = await accounts.checkPassword(email, password, {
    workspaceSlug: workspace ?? null,
    ...(userId === undefined ? {} : { userId }),
  });
  if (user !== null) return user;
  throw new SluiceError('sign_in_failed', 'E-mail address and password do not fit together.');
}

/**
 * Changes the password of the account that is signed in, by the present one. Every session ends.
 *
 * @returns the user, to start a new session for
 * @throws {SluiceError} `too_many_attempts`, `sign_in_failed`
 */
export async function changePassword(
  visit: Visit,
  { email, userId }: Pick<Session, 'email' | 'userId'>,
  given: { readonly current: string; readonly next: string },
  deps: Pick<AccountDependencies, 'accounts' | 'signInLimiter' | 'events'>,
): Promise<ProvenUser> {
  const user = await checkSignIn(visit, { email, password: given.current, userId }, deps);
  const proof = await deps.accounts.changePassword(user, given.next, visit.address);
  deps.events.passwordChanged({ user: user.id, address: visit.address });
  return { ...user, proof };
}
