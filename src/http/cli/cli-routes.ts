/**
 * The routes of a signed-in command line: everything under `/cli/v1`. It reads what the read API shows,
 * of the login's workspace, and manages keys, tests destinations of alerts and sends messages again as the
 * user's role may. Nothing else can be changed here: rules, members and settings are for the dashboard alone.
 */
import { z } from 'zod';

import type { Store } from '../../db/store.ts';
import { toKeyRecord } from '../../model/people.ts';
import type { AuthorizedHandler } from '../api/authorized.ts';
import { type ExceptionReader, listExceptions } from '../api/exceptions/exception-routes.ts';
import type { FindingReader } from '../api/findings/finding-query.ts';
import { listFindings, showFinding } from '../api/findings/finding-routes.ts';
import { type IncidentReader, listIncidents } from '../api/findings/incident-routes.ts';
import { listRules, type RuleReader, showRule } from '../api/rules/rule-routes.ts';
import { listRuns, type RunReader, showRun } from '../api/runs/run-routes.ts';
import { keyForm, limitForm } from '../dashboard/key-pages.ts';
import { requireId } from '../dashboard/sign-in/person-fields.ts';
import { ADMINS } from '../dashboard/sign-in/signed-in.ts';
import { readJson } from '../transport/json-body.ts';
import { json } from '../transport/problem.ts';
import { hexId } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { alertsBody, type TestSender, testBody, testDestination } from './alert-calls.ts';
import { cliCall, withCliSession } from './cli-call.ts';
import { type DeviceDependencies, deviceRoutes } from './device-routes.ts';

export interface CliDependencies extends DeviceDependencies {
  readonly rules: RuleReader;
  readonly findings: FindingReader & IncidentReader;
  readonly exceptions: ExceptionReader;
  readonly runs: RunReader;
  readonly keys: Store['keys'];
  readonly alerts: Store['alerts'];
  readonly alertSender: TestSender;
}

const PATH = '/cli/v1';

function readRoutes(deps: CliDependencies): Route[] {
  const { rules, findings, exceptions, runs } = deps;
  const get = (path: string, read: AuthorizedHandler): Route => ({
    method: 'GET',
    path: `${PATH}${path}`,
    handler: cliCall(
      {},
      async (exchange, { workspace, session: { email } }, parameters) =>
        await read(exchange, { workspaceId: workspace.id, email }, parameters),
      deps,
    ),
  });
  return [
    get('/findings', listFindings(findings)),
    get('/findings/{findingId}', showFinding(findings)),
    get('/incidents', listIncidents(findings, rules.titleOf)),
    get('/exceptions', listExceptions(exceptions)),
    get('/runs', listRuns(runs)),
    get('/runs/{runId}', showRun(runs)),
    get('/rules', listRules(rules)),
    get('/rules/{ruleId}', showRule(rules)),
  ];
}

function keyRoutes(deps: CliDependencies): Route[] {
  const { keys } = deps;
  const list = cliCall(
    {},
    async (_exchange, { workspace }) =>
      json({ workspace: workspace.slug, keys: (await keys.list(workspace.id)).map(toKeyRecord) }),
    deps,
  );
  const create = cliCall(
    { roles: ADMINS },
    async (exchange, { workspace, actor }) => {
      const sent = await readJson(exchange, keyForm);
      const { kind, name, rate_limit_per_minute: rateLimitPerMinute } = sent;
      const wanted = { kind, name, agentPrefix: sent.prefix, rateLimitPerMinute };
      const { id, key } = await keys.create(workspace.id, wanted, actor);
      return json({ id, key, kind, name, rate_limit_per_minute: rateLimitPerMinute });
    },
    deps,
  );
  const setLimit = cliCall(
    { roles: ADMINS },
    async (exchange, { workspace, actor }, { keyId }) => {
      const { rate_limit_per_minute: perMinute } = await readJson(exchange, limitForm);
      const id = requireId(keyId);
      await keys.setLimit(workspace.id, id, perMinute, actor);
      return json({ id, rate_limit_per_minute: perMinute });
    },
    deps,
  );
  const revoke = cliCall(
    { roles: ADMINS },
    async (_exchange, { workspace, actor }, { keyId }) => {
      const id = requireId(keyId);
      await keys.revoke(workspace.id, id, actor);
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
  const { alerts, alertSender } = deps;
  const needs = { roles: ADMINS };
  const list = cliCall(
    needs,
    async (_exchange, { workspace }) => json(await alertsBody(alerts, workspace.id)),
    deps,
  );
  const test = cliCall(
    needs,
    async (_exchange, { workspace }, { destinationId }) => {
      const id = requireId(destinationId);
      return json(testBody(await testDestination(alerts, alertSender, workspace.id, id)));
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
      await alerts.resend(workspace.id, requireId(destinationId), message, actor);
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
    await deps.cliLogins.end(userId, { only: id }, actor, 'cli.logout');
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
