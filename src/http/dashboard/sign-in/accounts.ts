/**
 * Signing in, and a user's sessions and password: within the limits on attempts, every attempt and
 * change logged. Knows no path.
 */
import { inTransaction } from '../../../db/database.ts';
import { endSessions } from '../../../db/people/cli-logins.ts';
import { createSession, revokeToken } from '../../../db/people/sessions.ts';
import { signInByPassword } from '../../../db/people/sign-in.ts';
import { changePassword as setPassword } from '../../../db/people/user-writes.ts';
import { findAccountId, type ProvenUser } from '../../../db/people/users.ts';
import { SluiceError } from '../../../errors.ts';
import type { Session } from '../../../model/people.ts';
import type { SignInOutcome } from '../../../observe/server-events.ts';
import { abridgeUserAgent, networkOf } from '../../transport/browser-head.ts';
import type { HeaderList } from '../../transport/exchange.ts';
import { HEX_16 } from '../../transport/input.ts';
import type { BrowserRequest, SessionDependencies } from './signed-in.ts';

/**
 * Starts a session under a new token, and ends the one whose token the browser sent.
 *
 * @param user with its proof when a password was checked
 * @returns the headers that give the browser the new token
 * @throws {SluiceError} `role_required` when the user does not belong to the named workspace
 */
export async function beginSession(
  { head, address }: BrowserRequest,
  { id: userId, proof }: Pick<ProvenUser, 'id'> & Partial<Pick<ProvenUser, 'proof'>>,
  workspaceSlug: string | null,
  { db, cookies }: SessionDependencies,
): Promise<HeaderList> {
  const session = {
    userId,
    workspaceSlug,
    userAgent: abridgeUserAgent(head.userAgent),
    address: networkOf(address, 3, 3),
    ...(proof === undefined ? {} : { proof }),
  };
  const opened = await inTransaction(db.accounts, (connection) =>
    createSession(connection, session),
  );
  if (opened === null) {
    throw new SluiceError('role_required', 'This account is not a member of that workspace.');
  }
  const former = cookies.readSession(head.cookie);
  if (former !== null) await revokeToken(db.accounts, former);
  return [['set-cookie', cookies.writeSession(opened.token, opened.expiresAt)]];
}

interface SignIn {
  /** `password`, `invitation` or a provider's name */
  readonly way: string;
  readonly address: string;
  /** of the account, if one was named */
  readonly email?: string;
}

function outcomeOf(error: unknown): SignInOutcome | null {
  if (!(error instanceof SluiceError)) return null;
  if (error.code === 'too_many_attempts') return 'limited';
  return error.code === 'sign_in_failed' || error.code === 'no_account' ? 'failed' : null;
}

export async function logged<User extends { readonly id: number }>(
  { way, address, email }: SignIn,
  attempt: () => Promise<User>,
  { db, events }: SessionDependencies,
): Promise<User> {
  try {
    const user = await attempt();
    events.signInTried(way, 'succeeded', { user: user.id, address });
    return user;
  } catch (error) {
    const outcome = outcomeOf(error);
    if (outcome !== null) {
      // Looked up whether or not there is an account, but not for attempts beyond the limit.
      const isNamed = outcome === 'failed' && email !== undefined;
      const user = isNamed ? await findAccountId(db.accounts, email).catch(() => null) : null;
      events.signInTried(way, outcome, { user, address });
    }
    throw error;
  }
}

interface PasswordAttempt {
  readonly email: string;
  readonly password: string;
  /** slug; if the address has several accounts, this workspace's account is preferred */
  readonly workspace?: string | undefined;
  /** only this account */
  readonly userId?: number;
}

/** @throws {SluiceError} `too_many_attempts`, `sign_in_failed` */
export async function checkSignIn(
  { address }: BrowserRequest,
  tried: PasswordAttempt,
  deps: SessionDependencies,
): Promise<ProvenUser> {
  const signIn = { way: 'password', address, email: tried.email };
  return await logged(signIn, () => checkPassword(address, tried, deps), deps);
}

export async function signOut(
  { head, address }: BrowserRequest,
  { db, cookies, events }: SessionDependencies,
): Promise<void> {
  const token = cookies.readSession(head.cookie);
  const user = token === null ? null : await revokeToken(db.accounts, token);
  if (user !== null) events.signedOut({ user, address });
}

/** @throws {SluiceError} `not_found` */
export async function endSession(
  { userId, email }: Pick<Session, 'userId' | 'email'>,
  sessionId: string,
  { address }: BrowserRequest,
  { db, events }: SessionDependencies,
): Promise<void> {
  const actor = { userId, name: email, origin: address };
  const ended = HEX_16.test(sessionId)
    ? await endSessions(db.accounts, userId, { only: sessionId }, actor)
    : 0;
  if (ended === 0) throw new SluiceError('not_found', 'You have no such session.');
  events.sessionsRevoked(1, { user: userId, address });
}

/** Ends all sessions of the signed-in user except the current one; returns how many. */
export async function endOtherSessions(
  { userId, id, email }: Pick<Session, 'userId' | 'id' | 'email'>,
  { address }: BrowserRequest,
  { db, events }: SessionDependencies,
): Promise<number> {
  const actor = { userId, name: email, origin: address };
  const ended = await endSessions(db.accounts, userId, { except: id }, actor);
  if (ended > 0) events.sessionsRevoked(ended, { user: userId, address });
  return ended;
}

async function checkPassword(
  address: string,
  { email, password, workspace, userId }: PasswordAttempt,
  { db, signInLimiter }: SessionDependencies,
): Promise<ProvenUser> {
  await signInLimiter.admit(email, address);
  const user = await signInByPassword(db.accounts, email, password, {
    workspaceSlug: workspace ?? null,
    ...(userId === undefined ? {} : { userId }),
  });
  if (user !== null) return user;
  throw new SluiceError('sign_in_failed', 'Incorrect e-mail or password.');
}

/** Every session of the user ends. @throws {SluiceError} `too_many_attempts`, `sign_in_failed` */
export async function changePassword(
  visit: BrowserRequest,
  { email, userId }: Pick<Session, 'email' | 'userId'>,
  given: { readonly current: string; readonly next: string },
  deps: SessionDependencies,
): Promise<ProvenUser> {
  const user = await checkSignIn(visit, { email, password: given.current, userId }, deps);
  const proof = await setPassword(deps.db.accounts, user, given.next, visit.address);
  deps.events.passwordChanged({ user: user.id, address: visit.address });
  return { ...user, proof };
}
