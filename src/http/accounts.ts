/**
 * Accounts as the routes need them: what is asked of the rest, how somebody is signed in, and how a
 * session begins. Knows no path.
 */
import { SluiceError } from '../errors.ts';
import type { Hex16, ListedSession, Membership, Session } from '../model.ts';
import type { SignInOutcome } from '../observe/events.ts';
import { abridgeUserAgent, networkOf } from './browser-head.ts';
import type { HeaderList } from './exchange.ts';
import { HEX_16 } from './query.ts';
import type { SignInLimiter } from './sign-in-limiter.ts';
import type { SessionDependencies, Visit } from './signed-in.ts';

/** What is asked of the rest about accounts. */
export interface Accounts {
  /**
   * null when they do not fit
   *
   * @param meant which account, where the address has several: this user's, or preferably that of a
   *   workspace
   */
  readonly checkPassword: (
    email: string,
    password: string,
    meant: { readonly userId?: number; readonly workspaceSlug?: string | null },
  ) => Promise<ProvenUser | null>;
  /** an account of an e-mail address, for the log; null when it has none */
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
  /** whose session it was; null when there was none to end */
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

/** An attempt to sign in: how, from where, and to which account as far as that was said. */
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
 * Makes an attempt to sign in, and logs how it ended.
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
      // Asked for with and without an account alike, and not for attempts past the limit.
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
  /** slug; the account that belongs to it is preferred, where the address has several */
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

/** Ends the session that a browser came with, if it has one. */
export async function signOut(
  { head, address }: Visit,
  { accounts, cookies, events }: Pick<AccountDependencies, 'accounts' | 'cookies' | 'events'>,
): Promise<void> {
  const token = cookies.readSession(head.cookie);
  const user = token === null ? null : await accounts.endToken(token);
  if (user !== null) events.signedOut({ user, address });
}

/**
 * Ends one session of whoever is signed in.
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
    throw new SluiceError('not_found', 'There is no such open session of yours.');
  }
  events.sessionsRevoked(1, { user: userId, address });
}

/** Ends all sessions of whoever is signed in but the one that asks; tells how many. */
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
 * @returns the user, to begin another session with
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
