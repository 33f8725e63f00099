/**
 * A request of a signed-in person: who it is, from our own page, with a role and a plan that may.
 * The order in which that is asked:
 *
 *   API credential ─► 403      another site's write ─► 403      no open session ─► 401
 *   past a cap ─► 429          a write for no named workspace ─► 400, another ─► 409
 *   no workspace, other role ─► 403                             plan ─► 403     ─► handler
 */
import { z } from 'zod';

import type { Store } from '../../../db/store.ts';
import { SluiceError } from '../../../errors.ts';
import type { Plan, Role, Session, SessionActor, SessionWorkspace } from '../../../model.ts';
import type { Events } from '../../../observe/events.ts';
import type { SessionLimiter } from '../../limits/session-limiter.ts';
import { type BrowserHead, clientAddress } from '../../transport/browser-head.ts';
import type { Answer, Exchange, HeaderList, StreamedAnswer } from '../../transport/exchange.ts';
import { BadBody, badBodyAnswer } from '../../transport/json-body.ts';
import { problem, toSluiceError } from '../../transport/problem.ts';
import { BadQuery, badQueryAnswer, checkControls, parseQuery } from '../../transport/query.ts';
import { revocable } from '../../transport/revocable-stream.ts';
import type { Handler, Parameters } from '../../transport/router.ts';
import { slug } from './person-fields.ts';
import { isSameOrigin } from './same-origin.ts';
import type { CookieJar } from './session-cookie.ts';

export interface SessionDependencies {
  readonly findSession: Store['findSession'];
  readonly cookies: CookieJar;
  readonly sessionLimiter: SessionLimiter;
  readonly baseUrl: string;
  /** proxies of ours before this server */
  readonly trustedHops: number;
  readonly events: Pick<
    Events,
    'requestFailed' | 'signInTried' | 'signedOut' | 'sessionsRevoked' | 'passwordChanged'
  >;
}

/** A request of the dashboard whose sender may be anybody. */
export interface Visit {
  readonly head: BrowserHead;
  /** of the client */
  readonly address: string;
}

export type VisitHandler = (
  exchange: Exchange,
  visit: Visit,
  parameters: Parameters,
) => Promise<Answer | StreamedAnswer>;

/** What a person is to be, and what the workspace is to have paid for. */
export interface Needs {
  readonly roles?: readonly Role[];
  readonly plans?: readonly Plan[];
}

const namedQuery = z.object({ workspace: slug });

/** A request of somebody signed in to a workspace. */
export interface SignedInRequest extends Visit {
  readonly session: Session;
  readonly workspace: SessionWorkspace;
  readonly actor: SessionActor;
}

export type SignedInHandler = (
  exchange: Exchange,
  request: SignedInRequest,
  parameters: Parameters,
) => Promise<Answer | StreamedAnswer>;

export const ADMINS: readonly Role[] = ['owner', 'admin'];

/** On every answer under /app: nothing of it is kept by anybody on the way. */
const NO_STORE: HeaderList = [['cache-control', 'no-store']];

/** How a refusal is told: as a problem, or as a page. */
export type RefusalForm = (error: SluiceError, exchange: Exchange) => Answer;

function asProblem(error: SluiceError): Answer {
  if (error instanceof BadQuery) return badQueryAnswer(error);
  return error instanceof BadBody ? badBodyAnswer(error) : problem(error);
}

const isReading = ({ method }: Exchange): boolean => method === 'GET' || method === 'HEAD';

function checkSender(
  exchange: Exchange,
  head: BrowserHead,
  { baseUrl }: Pick<SessionDependencies, 'baseUrl'>,
): void {
  if (exchange.authorization !== '') {
    throw new SluiceError('session_required', 'This takes a signed-in session and no API key.');
  }
  if (isReading(exchange) || isSameOrigin(head, exchange.host, baseUrl)) return;
  throw new SluiceError('cross_origin', 'A write has to come from a page of this server.');
}

/**
 * A request of anybody's browser, but of no API credential and, when it writes, of no other site.
 * Whatever goes wrong becomes an answer.
 */
export function visited(
  handler: VisitHandler,
  deps: Pick<SessionDependencies, 'baseUrl' | 'trustedHops' | 'events'>,
  refuse: RefusalForm = asProblem,
): Handler {
  return async (exchange, parameters) => {
    let answer: Answer;
    try {
      const head = exchange.browser;
      if (head === null) throw new Error('a route for browsers stands outside their paths');
      checkSender(exchange, head, deps);
      checkControls(exchange.query, parameters);
      const address = clientAddress(head, deps.trustedHops);
      const made = await handler(exchange, { head, address }, parameters);
      if ('chunks' in made) {
        await exchange.stream(made);
        return;
      }
      answer = made;
    } catch (thrown) {
      const error = toSluiceError(thrown);
      if (error !== thrown) deps.events.requestFailed('app', thrown);
      answer = refuse(error, exchange);
      if (error instanceof OverCap) answer = withHeader(answer, 'x-ratelimit-scope', error.scope);
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
  { cookies, findSession }: Pick<SessionDependencies, 'cookies' | 'findSession'>,
  workspaceId?: number,
): Promise<Session> {
  const token = cookies.readSession(cookie);
  const session = token === null ? null : await findSession(token, workspaceId);
  if (session === null) throw new SluiceError('not_signed_in', 'Sign in first.');
  return session;
}

/** A cap that was reached, told with whose it is. */
class OverCap extends SluiceError {
  readonly scope: string;
  constructor(scope: string, retryAfterSeconds: number) {
    super('rate_limited', `The ${scope}'s requests of this minute are used up.`, {
      retryAfterSeconds,
    });
    this.scope = scope;
  }
}

function withHeader(answer: Answer, name: string, value: string): Answer {
  return { ...answer, headers: [...(answer.headers ?? []), [name, value]] };
}

async function withinCaps(session: Session, limiter: SessionLimiter): Promise<void> {
  const decision = await limiter.consume({
    userId: session.userId,
    // Without one, a count of its own.
    workspaceId: session.workspace?.id ?? -session.userId,
  });
  if (!decision.admitted) throw new OverCap(decision.scope, decision.retryAfterSeconds);
}

/** A request with an open session, whatever its workspace; within the session's caps. */
export function withSession(
  handler: (
    exchange: Exchange,
    visit: Visit & { readonly session: Session },
    parameters: Parameters,
  ) => Promise<Answer | StreamedAnswer>,
  deps: SessionDependencies,
  refuse: RefusalForm = asProblem,
): Handler {
  return visited(
    async (exchange, visit, parameters) => {
      const session = await sessionOf(visit.head, deps);
      await withinCaps(session, deps.sessionLimiter);
      return await handler(exchange, { ...visit, session }, parameters);
    },
    deps,
    refuse,
  );
}

/** @throws {SluiceError} `role_required`, `plan_required` */
function workspaceWith({ workspace }: Session, { roles, plans }: Needs): SessionWorkspace {
  if (workspace === null) {
    throw new SluiceError('role_required', 'This account does not belong to a workspace.');
  }
  if (roles !== undefined && !roles.includes(workspace.role)) {
    throw new SluiceError('role_required', `This takes one of the roles ${roles.join(', ')}.`);
  }
  if (plans !== undefined && !plans.includes(workspace.plan)) {
    throw new SluiceError('plan_required', `This takes one of the plans ${plans.join(', ')}.`);
  }
  return workspace;
}

/** The slug of the workspace that a request names; null if it names none. */
export function namedWorkspace({ query }: Pick<Exchange, 'query'>): string | null {
  const parsed = namedQuery.safeParse(Object.fromEntries(new URLSearchParams(query)));
  return parsed.success ? parsed.data.workspace : null;
}

/**
 * A write names the workspace it is for, as `?workspace=SLUG`. Without that, a page that is still
 * open after the session switched to another workspace would change the wrong one.
 *
 * @throws {BadQuery} when it names none
 * @throws {SluiceError} `other_workspace`
 */
function checkNamed(exchange: Exchange, { workspace }: Session): void {
  if (workspace === null || isReading(exchange)) return;
  const { workspace: named } = parseQuery(namedQuery, exchange.query);
  if (named === workspace.slug) return;
  throw new SluiceError(
    'other_workspace',
    `This was for another workspace than “${workspace.slug}”, which this session looks at by now. ` +
      'Nothing was changed. Go to the workspace that you meant, or reload the page and try again.',
  );
}

/**
 * A request of a user who is signed in to a workspace and meets `needs`. A stream is cut off when
 * the session, the membership or another requirement is lost.
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
