/**
 * A handler behind the token of a command line that a person has signed in. The call is one of that
 * person: counted by the limits of user and workspace, with the role that the person has in the login's
 * workspace now. In this order:
 *
 *   no token ─► 401    an API key ─► 403    unknown, revoked, expired ─► 401    rate limit ─► 429
 *   no member any more, or role too low ─► 403    ─► handler
 */
import { findCliSession } from '../../db/people/sessions.ts';
import { SluiceError } from '../../errors.ts';
import type { Session, SessionActor, SessionWorkspace } from '../../model/people.ts';
import type { AppDependencies } from '../dashboard/dashboard.ts';
import {
  checkRateLimits,
  type Needs,
  withScope,
  workspaceWith,
} from '../dashboard/sign-in/signed-in.ts';
import type { PollLimiter } from '../limits/limiters.ts';
import { answeredError, problem, revocable } from '../transport/answers.ts';
import type { Answer, Exchange, HeaderList, StreamedAnswer } from '../transport/exchange.ts';
import { checkControls, requireNoQuery } from '../transport/input.ts';
import type { Handler, Parameters } from '../transport/router.ts';

export interface CliDependencies extends AppDependencies {
  readonly pollLimiter: PollLimiter;
}

export interface CliCall {
  readonly session: Session;
  readonly actor: SessionActor;
  readonly address: string;
}

type CliHandler<Call extends CliCall> = (
  exchange: Exchange,
  call: Call,
  parameters: Parameters,
) => Promise<Answer | StreamedAnswer>;

/** `<brand>_cli_` and 43 characters, as `createCliSession` makes it; the scheme in any case. */
const BEARER = /^bearer +([a-z][a-z0-9]{0,31}_(cli|live|obs|key)_[A-Za-z0-9]{43}) *$/i;

/** Neither caches nor proxies may keep an answer to a person. */
export const NO_STORE: HeaderList = [['cache-control', 'no-store']];

function tokenOf(authorization: string): string {
  if (authorization === '') {
    throw new SluiceError('missing_credential', 'Sign in first: sluice login URL.');
  }
  const [, token, kind] = BEARER.exec(authorization) ?? [];
  if (token === undefined) {
    throw new SluiceError(
      'invalid_credential',
      'The Authorization header does not contain a login of this server.',
    );
  }
  if (kind?.toLowerCase() === 'cli') return token;
  throw new SluiceError(
    'session_required',
    'Sign in with sluice login URL; API keys are not accepted here.',
  );
}

async function sessionOf(authorization: string, { db }: CliDependencies): Promise<Session> {
  const session = await findCliSession(db.accounts, tokenOf(authorization));
  if (session !== null) return session;
  throw new SluiceError(
    'invalid_credential',
    'This login was revoked or has expired: sign in again with sluice login URL.',
  );
}

/**
 * Requires the token of a signed-in command line; its user need not be a member any more.
 *
 * @param hasQuery the handler reads the query; without it a parameter is an error
 */
export function withCliSession(
  handler: CliHandler<CliCall>,
  deps: CliDependencies,
  hasQuery = false,
): Handler {
  return async (exchange, parameters) => {
    let answer: Answer;
    try {
      const address = exchange.clientAddress;
      const session = await sessionOf(exchange.authorization, deps);
      await checkRateLimits(session, deps.sessionLimiter);
      checkControls(exchange.query, parameters);
      if (!hasQuery) requireNoQuery(exchange.query);
      const { userId, email: name, id: sessionId } = session;
      const actor = { userId, name, sessionId, origin: `${address}, command line` };
      const made = await handler(exchange, { session, actor, address }, parameters);
      if ('chunks' in made) {
        await exchange.stream(made);
        return;
      }
      answer = made;
    } catch (thrown) {
      const error = answeredError(thrown, 'cli', exchange, deps.events);
      answer = withScope(problem(error), error);
    }
    exchange.answer({ ...answer, headers: [...NO_STORE, ...(answer.headers ?? [])] });
  };
}

/** The same for a member of the login's workspace, with a role of `needs`. */
export function cliCall(
  needs: Needs & { readonly hasQuery?: boolean },
  handler: CliHandler<CliCall & { readonly workspace: SessionWorkspace }>,
  deps: CliDependencies,
): Handler {
  return withCliSession(
    async (exchange, call, parameters) => {
      const { authorization } = exchange;
      const workspace = workspaceWith(call.session, needs);
      const answer = await handler(exchange, { ...call, workspace }, parameters);
      if (!('chunks' in answer)) return answer;
      return revocable(answer, async () => {
        workspaceWith(await sessionOf(authorization, deps), needs);
      });
    },
    deps,
    needs.hasQuery,
  );
}
