/**
 * Accounts as the routes need them: what is asked of the rest, how somebody is signed in, and how a
 * session begins. Knows no path.
 */
import { SluiceError } from '../errors.ts';
import type { Hex16, ListedSession, Membership, Session } from '../model.ts';
import { abridgeUserAgent, networkOf } from './browser-head.ts';
import type { HeaderList } from './exchange.ts';
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
  readonly endToken: (token: string) => Promise<void>;
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

/**
 * Tells how an attempt to sign in ended.
 *
 * @param way `password` or a provider's name
 * @throws what `attempt` throws
 */
export async function told<Result>(
  way: string,
  attempt: () => Promise<Result>,
  { events }: Pick<AccountDependencies, 'events'>,
): Promise<Result> {
  try {
    const result = await attempt();
    events.signInTried(way, 'succeeded');
    return result;
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'too_many_attempts') {
      events.signInTried(way, 'limited');
    } else if (
      error instanceof SluiceError &&
      ['sign_in_failed', 'no_account'].includes(error.code)
    ) {
      events.signInTried(way, 'failed');
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
  return await told('password', () => checkPassword(address, tried, deps), deps);
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
  return { ...user, proof: await deps.accounts.changePassword(user, given.next, visit.address) };
}
