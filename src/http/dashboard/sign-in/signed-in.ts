/**
 * Checks requests of browsers: the sender, the session, the role and the plan. In this order:
 *
 *   API credential ─► 403      another site's write ─► 403          no open session ─► 401
 *   rate limit ─► 429          write without a workspace ─► 400, for another one ─► 409
 *   no workspace, or role too low ─► 403       plan too low ─► 403            ─► handler
 */
import { z } from 'zod';
import type { Databases } from '../../../db/databases.ts';
import { findSession } from '../../../db/people/sessions.ts';
import { SluiceError } from '../../../errors.ts';
import type { Plan, Role, Session, SessionActor, SessionWorkspace } from '../../../model/people.ts';
import type { Events } from '../../../observe/events.ts';
import type { SessionLimiter, SignInLimiter } from '../../limits/limiters.ts';
import { answeredError, problem, revocable } from '../../transport/answers.ts';
import { type BrowserHead, clientAddress } from '../../transport/browser-head.ts';
import type { Answer, Exchange, HeaderList, StreamedAnswer } from '../../transport/exchange.ts';
import { checkControls, parsePageQuery } from '../../transport/input.ts';
import type { Handler, Parameters } from '../../transport/router.ts';
import { slug } from './person-fields.ts';
import { isSameOrigin } from './same-origin.ts';
import type { CookieJar } from './session-cookie.ts';

export interface SessionDependencies {
  readonly db: Databases;
  readonly cookies: CookieJar;
  readonly sessionLimiter: SessionLimiter;
  readonly signInLimiter: SignInLimiter;
  readonly baseUrl: string;
  /** number of our proxies in front of this server */
  readonly trustedHops: number;
  /** headers of the answer to a change: pages read the primary for a while (app-routes.ts) */
  readonly changedHeaders: HeaderList;
  readonly events: Pick<
    Events,
    | 'requestFailed'
    | 'requestUnavailable'
    | 'signInTried'
    | 'signedOut'
    | 'sessionsRevoked'
    | 'passwordChanged'
  >;
}

/** A request of a browser, with a session or without. */
export interface BrowserRequest {
  readonly head: BrowserHead;
  readonly address: string;
  /** the open session, once a route has looked for it */
  session: Session | null;
}

export type BrowserHandler = (
  exchange: Exchange,
  visit: BrowserRequest,
  parameters: Parameters,
) => Promise<Answer | StreamedAnswer>;

/** One of these roles, and one of these plans. */
export interface Needs {
  readonly roles?: readonly Role[];
  readonly plans?: readonly Plan[];
}

const namedQuery = z.object({ workspace: slug });

export interface SignedInRequest extends BrowserRequest {
  readonly session: Session;
  readonly workspace: SessionWorkspace;
  readonly actor: SessionActor;
}

type SignedInHandler = (
  exchange: Exchange,
  request: SignedInRequest,
  parameters: Parameters,
) => Promise<Answer | StreamedAnswer>;

export const ADMINS: readonly Role[] = ['owner', 'admin'];

/** On every answer under /app: neither browsers nor proxies store it. */
const NO_STORE: HeaderList = [['cache-control', 'no-store']];

/** Makes the answer of a refusal: problem details, or a page, with the session if there is one. */
export type RefusalForm = (
  error: SluiceError,
  exchange: Exchange,
  session: Session | null,
) => Answer;

const asProblem: RefusalForm = (error) => problem(error);

const isReading = ({ method }: Exchange): boolean => method === 'GET' || method === 'HEAD';

function checkSender(
  exchange: Exchange,
  head: BrowserHead,
  { baseUrl }: SessionDependencies,
): void {
  if (exchange.authorization !== '') {
    throw new SluiceError(
      'session_required',
      'Sign in to the dashboard; API keys are not accepted here.',
    );
  }
  if (isReading(exchange) || isSameOrigin(head, exchange.host, baseUrl)) return;
  throw new SluiceError('cross_origin', 'Changes must be sent from a page of this server.');
}

/**
 * A route for browsers, with a session or without. Refuses API credentials, and writes of other sites.
 * Every exception becomes an answer.
 */
export function browserRoute(
  handler: BrowserHandler,
  deps: SessionDependencies,
  refuse: RefusalForm = asProblem,
): Handler {
  return async (exchange, parameters) => {
    let answer: Answer;
    let visit: BrowserRequest | null = null;
    try {
      const head = exchange.browser;
      if (head === null) throw new Error('a route for browsers is outside of /app');
      checkSender(exchange, head, deps);
      checkControls(exchange.query, parameters);
      const address = clientAddress(head, deps.trustedHops);
      visit = { head, address, session: null };
      const made = await handler(exchange, visit, parameters);
      if ('chunks' in made) {
        await exchange.stream(made);
        return;
      }
      answer = isReading(exchange)
        ? made
        : { ...made, headers: [...(made.headers ?? []), ...deps.changedHeaders] };
    } catch (thrown) {
      const error = answeredError(thrown, 'app', exchange, deps.events);
      answer = withScope(refuse(error, exchange, visit?.session ?? null), error);
    }
    const own = answer.headers ?? [];
    const missing = NO_STORE.filter(([name]) => !own.some(([given]) => given === name));
    exchange.answer({ ...answer, headers: [...missing, ...own] });
  };
}

/**
 * @param workspaceId workspace whose role is returned, instead of the one that the session shows
 * @throws {SluiceError} `not_signed_in`
 */
export async function sessionOf(
  { cookie }: BrowserHead,
  { cookies, db }: SessionDependencies,
  workspaceId?: number,
): Promise<Session> {
  const token = cookies.readSession(cookie);
  const session = token === null ? null : await findSession(db.accounts, token, workspaceId);
  if (session === null) throw new SluiceError('not_signed_in', 'Sign in first.');
  return session;
}

class RateLimited extends SluiceError {
  readonly scope: string;
  constructor(scope: string, retryAfterSeconds: number) {
    super('rate_limited', `The ${scope} has used up the requests of this minute.`, {
      retryAfterSeconds,
    });
    this.scope = scope;
  }
}

/** Adds to a refusal whose rate limit was reached, if that is its reason. */
export function withScope(answer: Answer, error: SluiceError): Answer {
  if (!(error instanceof RateLimited)) return answer;
  return { ...answer, headers: [...(answer.headers ?? []), ['x-ratelimit-scope', error.scope]] };
}

/** @throws {RateLimited} for the user's limit or the workspace's */
export async function checkRateLimits(session: Session, limiter: SessionLimiter): Promise<void> {
  const decision = await limiter.consume({
    userId: session.userId,
    // Without a workspace, a count of the user's own.
    workspaceId: session.workspace?.id ?? -session.userId,
  });
  if (!decision.admitted) throw new RateLimited(decision.scope, decision.retryAfterSeconds);
}

/** A route that needs an open session, but no workspace; within the session's rate limits. */
export function withSession(
  handler: (
    exchange: Exchange,
    visit: BrowserRequest & { readonly session: Session },
    parameters: Parameters,
  ) => Promise<Answer | StreamedAnswer>,
  deps: SessionDependencies,
  refuse: RefusalForm = asProblem,
): Handler {
  return browserRoute(
    async (exchange, visit, parameters) => {
      const session = await sessionOf(visit.head, deps);
      visit.session = session;
      await checkRateLimits(session, deps.sessionLimiter);
      return await handler(exchange, { ...visit, session }, parameters);
    },
    deps,
    refuse,
  );
}

/** @throws {SluiceError} `role_required`, `plan_required` */
export function workspaceWith({ workspace }: Session, { roles, plans }: Needs): SessionWorkspace {
  if (workspace === null) {
    throw new SluiceError('role_required', 'This account is not a member of any workspace.');
  }
  if (roles !== undefined && !roles.includes(workspace.role)) {
    throw new SluiceError('role_required', `This requires the role ${roles.join(' or ')}.`);
  }
  if (plans !== undefined && !plans.includes(workspace.plan)) {
    throw new SluiceError('plan_required', `This requires the plan ${plans.join(' or ')}.`);
  }
  return workspace;
}

export function namedWorkspace({ query }: Pick<Exchange, 'query'>): string | null {
  const parsed = namedQuery.safeParse(Object.fromEntries(new URLSearchParams(query)));
  return parsed.success ? parsed.data.workspace : null;
}

/**
 * A page that is still open after the session switched to another workspace would change the wrong one.
 *
 * @throws {InvalidInput} when the query names none
 * @throws {SluiceError} `other_workspace`
 */
function checkNamed(exchange: Exchange, { workspace }: Session): void {
  if (workspace === null || isReading(exchange)) return;
  const { workspace: named } = parsePageQuery(namedQuery, exchange.query);
  if (named === workspace.slug) return;
  throw new SluiceError(
    'other_workspace',
    `This change was for another workspace: the session has switched to “${workspace.slug}”. ` +
      'Nothing was changed. Switch back to the other workspace, or reload the page and try again.',
  );
}

/**
 * A route that needs a session of a workspace, and a role and a plan of `needs`. A stream is cut off
 * when any of that is lost.
 */
export function signedIn(
  needs: Needs,
  handler: SignedInHandler,
  deps: SessionDependencies,
  refuse: RefusalForm = asProblem,
): Handler {
  return withSession(
    async (exchange, { session, ...visit }, parameters) => {
      checkNamed(exchange, session);
      const workspace = workspaceWith(session, needs);
      const actor = {
        userId: session.userId,
        name: session.email,
        origin: visit.address,
        sessionId: session.id,
      };
      const request = { ...visit, session, workspace, actor };
      const answer = await handler(exchange, request, parameters);
      if (!('chunks' in answer)) return answer;
      return revocable(answer, async () => {
        workspaceWith(await sessionOf(visit.head, deps, workspace.id), needs);
      });
    },
    deps,
    refuse,
  );
}
