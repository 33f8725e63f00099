/** The routes of a signed-in command line: everything under `/cli/v1`. */
import { z } from 'zod';
import { endSessions } from '../../db/people/cli-logins.ts';
import { beginDeviceLogin, pollDeviceLogin } from '../../db/people/device-logins.ts';
import { ERRORS } from '../../errors.ts';
import type { DevicePoll } from '../../model/people.ts';
import { name } from '../dashboard/sign-in/person-fields.ts';
import { answeredError, json, problem } from '../transport/answers.ts';
import { networkOf } from '../transport/browser-head.ts';
import type { Answer, Exchange } from '../transport/exchange.ts';
import { checkControls, readForm, readJson } from '../transport/input.ts';
import type { Handler, Route } from '../transport/router.ts';
import { type CliDependencies, cliCall, NO_STORE, withCliSession } from './cli-call.ts';
import { type Call, RESOURCES } from './resources.ts';

const PATH = '/cli/v1';

function resourceRoutes(deps: CliDependencies): Route[] {
  return RESOURCES.map(({ method, path, handle, ...needs }) => ({
    method,
    path: `${PATH}${path}`,
    handler: cliCall(
      needs,
      async (exchange, { workspace, actor, session: { email } }, parameters) => {
        const read: Call['read'] = (schema) => readJson(exchange, schema);
        return await handle(deps, exchange, { workspace, actor, email, read }, parameters);
      },
      deps,
    ),
  }));
}

function sessionRoutes(deps: CliDependencies): Route[] {
  const path = `${PATH}/session`;
  const show = cliCall(
    {},
    async (_exchange, { session, workspace }) =>
      json({
        email: session.email,
        workspace: workspace.slug,
        role: workspace.role,
        plan: workspace.plan,
        device_name: session.userAgent,
        expires_at: session.expiresAt,
      }),
    deps,
  );
  // Signing out works for a user who has left the workspace, too.
  const end = withCliSession(async (_exchange, { session, actor, address }) => {
    const { id, userId } = session;
    await endSessions(deps.db.accounts, userId, { only: id }, actor, 'cli.logout');
    deps.events.signedOut({ user: userId, address });
    return json({ ended: true });
  }, deps);
  return [
    { method: 'GET', path, handler: show },
    { method: 'DELETE', path, handler: end },
  ];
}

export function cliRoutes(deps: CliDependencies): Route[] {
  return [...deviceRoutes(deps), ...resourceRoutes(deps), ...sessionRoutes(deps)];
}

const MS_PER_SECOND = 1000;
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
const VERIFICATION_PATH = '/app/device';

const clientId = z.literal('sluice');
const beginForm = z.object({ client_id: clientId, device_name: name.default('a command line') });
const tokenForm = z.object({
  client_id: clientId,
  grant_type: z.literal(GRANT_TYPE),
  device_code: z.string().regex(/^[\w-]{43}$/, 'must be a device_code of this server'),
});

/** RFC 8628, 3.5: the values of `error`. */
const POLL_ERRORS = {
  waiting: 'authorization_pending',
  slow_down: 'slow_down',
  denied: 'access_denied',
  expired: 'expired_token',
} as const;

function open(handle: (exchange: Exchange) => Promise<Answer>, deps: CliDependencies): Handler {
  return async (exchange, parameters) => {
    let answer: Answer;
    try {
      checkControls(exchange.query, parameters);
      answer = await handle(exchange);
    } catch (thrown) {
      const error = answeredError(thrown, 'cli', exchange, deps.events);
      const code = ERRORS[error.code].status === 400 ? { error: 'invalid_request' } : {};
      answer = problem(error, code);
    }
    exchange.answer({ ...answer, headers: [...NO_STORE, ...(answer.headers ?? [])] });
  };
}

/** @param nowMs by PostgreSQL's clock, as the login's end */
function tokenAnswer(poll: DevicePoll, nowMs: number): Answer {
  if (poll.state !== 'approved') return json({ error: POLL_ERRORS[poll.state] }, 400);
  const { token, expiresAt, email, workspace, role } = poll;
  return json({
    access_token: token,
    token_type: 'Bearer',
    expires_in: Math.floor((expiresAt.getTime() - nowMs) / MS_PER_SECOND),
    expires_at: expiresAt.toISOString(),
    email,
    workspace,
    role,
  });
}

export function deviceRoutes(deps: CliDependencies): Route[] {
  const { db, signInLimiter, pollLimiter, baseUrl, events } = deps;
  const begin = open(async (exchange) => {
    const address = exchange.clientAddress;
    const form = await readForm(exchange, beginForm);
    await signInLimiter.admit(null, address);
    const begun = await beginDeviceLogin(db.accounts, {
      name: form.device_name,
      address,
      network: networkOf(address, 4, 4),
    });
    const uri = `${baseUrl}${VERIFICATION_PATH}`;
    return json({
      device_code: begun.deviceCode,
      user_code: begun.userCode,
      verification_uri: uri,
      verification_uri_complete: `${uri}?user_code=${begun.userCode}`,
      expires_in: begun.expiresInSeconds,
      interval: begun.intervalSeconds,
    });
  }, deps);
  const token = open(async (exchange) => {
    const address = exchange.clientAddress;
    await pollLimiter.admit(address);
    const { device_code: deviceCode } = await readForm(exchange, tokenForm);
    const poll = await pollDeviceLogin(db.accounts, deviceCode, deps.look.brand);
    if (poll.state === 'approved') {
      events.signInTried('device', 'succeeded', { user: poll.userId, address });
    }
    return tokenAnswer(poll, deps.nowMs());
  }, deps);
  return [
    { method: 'POST', path: '/cli/v1/device-authorization', handler: begin },
    { method: 'POST', path: '/cli/v1/token', handler: token },
  ];
}
