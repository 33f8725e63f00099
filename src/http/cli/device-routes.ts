/**
 * The two endpoints of device authorization (RFC 8628), for `sluice login`: one begins a login, the other
 * is polled until a signed-in person has decided it (dashboard/device-pages.ts). Both take forms without
 * a credential, and answer errors of the protocol as OAuth does: 400 with `error`.
 */
import { z } from 'zod';

import { ERRORS } from '../../errors.ts';
import type { DevicePoll } from '../../model/people.ts';
import { name } from '../dashboard/sign-in/person-fields.ts';
import type { PollLimiter } from '../limits/poll-limiter.ts';
import type { SignInLimiter } from '../limits/sign-in-limiter.ts';
import { networkOf } from '../transport/browser-head.ts';
import type { Answer, Exchange } from '../transport/exchange.ts';
import { readForm } from '../transport/json-body.ts';
import { answeredError, json, problem } from '../transport/problem.ts';
import { checkControls } from '../transport/query.ts';
import type { Handler, Route } from '../transport/router.ts';
import { type CliCallDependencies, NO_STORE } from './cli-call.ts';

export interface DeviceDependencies extends CliCallDependencies {
  readonly signInLimiter: SignInLimiter;
  readonly pollLimiter: PollLimiter;
  readonly baseUrl: string;
  /** PostgreSQL's clock */
  readonly nowMs: () => number;
}

const MS_PER_SECOND = 1000;
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
/** The page on which a person decides. */
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

function open(handle: (exchange: Exchange) => Promise<Answer>, deps: DeviceDependencies): Handler {
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

export function deviceRoutes(deps: DeviceDependencies): Route[] {
  const { cliLogins, signInLimiter, pollLimiter, baseUrl, events } = deps;
  const begin = open(async (exchange) => {
    const address = exchange.clientAddress;
    const form = await readForm(exchange, beginForm);
    await signInLimiter.admit(null, address);
    const begun = await cliLogins.begin({
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
    const poll = await cliLogins.poll(deviceCode);
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
