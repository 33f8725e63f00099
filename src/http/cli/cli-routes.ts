/**
 * The routes of a signed-in command line: everything under `/cli/v1`. It reads what the read API shows,
 * of the login's workspace, makes evidence packages, and manages keys, tests destinations of alerts and sends messages again as the
 * user's role may. Nothing else can be changed here: rules, members and settings are for the dashboard alone.
 */
import { z } from 'zod';
import { resendDead } from '../../db/alerts/destinations.ts';
import { endSessions } from '../../db/people/cli-logins.ts';
import { beginDeviceLogin, pollDeviceLogin } from '../../db/people/device-logins.ts';
import { listKeys } from '../../db/people/keys.ts';
import {
  createRecordedKey,
  revokeRecordedKey,
  setRecordedKeyLimit,
} from '../../db/people/workspace-writes.ts';
import { ERRORS } from '../../errors.ts';
import { type DevicePoll, toKeyRecord } from '../../model/people.ts';
import type { AuthorizedHandler } from '../api/authorized.ts';
import { evidencePackage } from '../api/evidence/evidence-package.ts';
import { showEvidenceKey, subjectOf } from '../api/evidence/evidence-routes.ts';
import { listExceptions } from '../api/exceptions/exception-routes.ts';
import { listFindings, showFinding } from '../api/findings/finding-routes.ts';
import { listIncidents } from '../api/findings/incident-routes.ts';
import { listRules, showRule } from '../api/rules/rule-routes.ts';
import { listRuns, searchRuns, showRun } from '../api/runs/run-routes.ts';
import { listTools, showTool } from '../api/tools/tool-routes.ts';
import { keyForm, limitForm, REVOKED_KEYS_LISTED } from '../dashboard/key-pages.ts';
import { name, requireId } from '../dashboard/sign-in/person-fields.ts';
import { ADMINS } from '../dashboard/sign-in/signed-in.ts';
import { networkOf } from '../transport/browser-head.ts';
import type { Answer, Exchange } from '../transport/exchange.ts';
import { readForm, readJson } from '../transport/json-body.ts';
import { answeredError, json, problem } from '../transport/problem.ts';
import { checkControls, hexId } from '../transport/query.ts';
import type { Handler, Route } from '../transport/router.ts';
import { alertsBody, testBody, testDestination } from './alert-calls.ts';
import { type CliDependencies, cliCall, NO_STORE, withCliSession } from './cli-call.ts';

const PATH = '/cli/v1';

function readRoutes(deps: CliDependencies): Route[] {
  const get = (path: string, read: AuthorizedHandler): Route => ({
    method: 'GET',
    path: `${PATH}${path}`,
    handler: cliCall(
      { hasQuery: !path.includes('{') },
      async (exchange, { workspace, session: { email } }, parameters) =>
        await read(exchange, { workspaceId: workspace.id, email }, parameters),
      deps,
    ),
  });
  const evidence = cliCall(
    {},
    (_exchange, { workspace, actor }, parameters) =>
      evidencePackage(deps, workspace.id, subjectOf(parameters), { actor, isKey: false }),
    deps,
  );
  return [
    { method: 'GET', path: `${PATH}/findings/{findingId}/evidence`, handler: evidence },
    { method: 'GET', path: `${PATH}/incidents/{runId}/evidence`, handler: evidence },
    get('/evidence-key', showEvidenceKey(deps)),
    get('/findings', listFindings(deps)),
    get('/findings/{findingId}', showFinding(deps)),
    get('/incidents', listIncidents(deps)),
    get('/exceptions', listExceptions(deps)),
    get('/runs', listRuns(deps)),
    get('/runs/search', searchRuns(deps)),
    get('/runs/{runId}', showRun(deps)),
    get('/tools', listTools(deps)),
    get('/tools/{toolId}', showTool(deps)),
    get('/rules', listRules(deps)),
    get('/rules/{ruleId}', showRule(deps)),
  ];
}

function keyRoutes(deps: CliDependencies): Route[] {
  const { db, look } = deps;
  const list = cliCall(
    {},
    async (_exchange, { workspace }) => {
      const keys = await db.readFresh(listKeys, workspace.id, REVOKED_KEYS_LISTED);
      return json({ workspace: workspace.slug, keys: keys.map(toKeyRecord) });
    },
    deps,
  );
  const create = cliCall(
    { roles: ADMINS },
    async (exchange, { workspace, actor }) => {
      const sent = await readJson(exchange, keyForm);
      const { kind, name, rate_limit_per_minute: rateLimitPerMinute } = sent;
      const { brand } = look;
      const wanted = { kind, name, agentPrefix: sent.prefix, rateLimitPerMinute, brand };
      const { id, key } = await db.write(createRecordedKey, workspace.id, wanted, actor);
      return json({ id, key, kind, name, rate_limit_per_minute: rateLimitPerMinute });
    },
    deps,
  );
  const setLimit = cliCall(
    { roles: ADMINS },
    async (exchange, { workspace, actor }, { keyId }) => {
      const { rate_limit_per_minute: perMinute } = await readJson(exchange, limitForm);
      const id = requireId(keyId);
      await db.write(setRecordedKeyLimit, workspace.id, id, perMinute, actor);
      return json({ id, rate_limit_per_minute: perMinute });
    },
    deps,
  );
  const revoke = cliCall(
    { roles: ADMINS },
    async (_exchange, { workspace, actor }, { keyId }) => {
      const id = requireId(keyId);
      await db.write(revokeRecordedKey, workspace.id, id, actor);
      return json({ id, revoked: true });
    },
    deps,
  );
  return [
    { method: 'GET', path: `${PATH}/keys`, handler: list },
    { method: 'POST', path: `${PATH}/keys`, handler: create },
    { method: 'POST', path: `${PATH}/keys/{keyId}/limit`, handler: setLimit },
    { method: 'DELETE', path: `${PATH}/keys/{keyId}`, handler: revoke },
  ];
}

/** Destinations are added and changed in the dashboard only. */
function alertRoutes(deps: CliDependencies): Route[] {
  const { db, alertSender } = deps;
  const needs = { roles: ADMINS };
  const list = cliCall(
    needs,
    async (_exchange, { workspace }) => json(await alertsBody(db, workspace.id)),
    deps,
  );
  const test = cliCall(
    needs,
    async (_exchange, { workspace }, { destinationId }) => {
      const id = requireId(destinationId);
      return json(testBody(await testDestination(db, alertSender, workspace.id, id)));
    },
    deps,
  );
  const sendAgain = cliCall(
    needs,
    async (exchange, { workspace, actor }, { destinationId }) => {
      const { message_id: message } = await readJson(
        exchange,
        z.strictObject({ message_id: hexId }),
      );
      await db.write(resendDead, workspace.id, requireId(destinationId), message, actor);
      return json({ message_id: message, queued: true });
    },
    deps,
  );
  return [
    { method: 'GET', path: `${PATH}/alerts`, handler: list },
    { method: 'POST', path: `${PATH}/alerts/{destinationId}/test`, handler: test },
    { method: 'POST', path: `${PATH}/alerts/{destinationId}/send-again`, handler: sendAgain },
  ];
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
  return [
    ...deviceRoutes(deps),
    ...readRoutes(deps),
    ...keyRoutes(deps),
    ...alertRoutes(deps),
    ...sessionRoutes(deps),
  ];
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
