/**
 * The resources that commands read and change in a workspace. The same handlers answer under `/cli/v1`, for a person
 * who has signed in, and in the command itself, on the local database. They read as the read API does, make evidence
 * packages, manage keys, test destinations of alerts and send messages again; the dashboard alone changes rules, members and settings.
 */
import { z } from 'zod';
import { resendDead } from '../../db/alerts/destinations.ts';
import { listKeys } from '../../db/people/keys.ts';
import {
  createRecordedKey,
  revokeRecordedKey,
  setRecordedKeyLimit,
} from '../../db/people/workspace-writes.ts';
import { type Actor, toKeyRecord } from '../../model/people.ts';
import type { ApiContext, AuthorizedHandler } from '../api/authorized.ts';
import { evidencePackage, showEvidenceKey, subjectOf } from '../api/evidence/evidence-routes.ts';
import { listExceptions } from '../api/exceptions/exception-routes.ts';
import { listFindings, showFinding } from '../api/findings/finding-routes.ts';
import { listIncidents } from '../api/findings/incident-routes.ts';
import { listRules, showRule } from '../api/rules/rule-routes.ts';
import { listRuns, searchRuns, showRun } from '../api/runs/run-routes.ts';
import { listTools, showTool } from '../api/tools/tool-routes.ts';
import { keyForm, limitForm, REVOKED_KEYS_LISTED } from '../dashboard/key-pages.ts';
import { requireId } from '../dashboard/sign-in/person-fields.ts';
import { ADMINS, type Needs } from '../dashboard/sign-in/signed-in.ts';
import { json } from '../transport/answers.ts';
import type { Answer, StreamedAnswer } from '../transport/exchange.ts';
import { hexId } from '../transport/input.ts';
import type { Parameters as PathParameters, Route } from '../transport/router.ts';
import { alertsBody, type TestSender, testBody, testDestination } from './alert-calls.ts';

export interface ResourceContext extends ApiContext {
  readonly alertSender: TestSender;
  readonly look: { readonly brand: string };
}

/** Who asks, where, and with which body. */
export interface Call {
  readonly workspace: { readonly id: number; readonly slug: string };
  readonly actor: Actor;
  /** of a signed-in user */
  readonly email?: string;
  readonly read: <Shape extends z.ZodType>(schema: Shape) => Promise<z.infer<Shape>>;
}

type ResourceHandler = (
  context: ResourceContext,
  exchange: Parameters<AuthorizedHandler>[0],
  call: Call,
  parameters: PathParameters,
) => Promise<Answer | StreamedAnswer>;

export interface Resource extends Needs, Pick<Route, 'method' | 'path'> {
  readonly hasQuery?: boolean;
  readonly handle: ResourceHandler;
}

const readable = (
  path: string,
  readerOf: (context: ApiContext) => AuthorizedHandler,
): Resource => ({
  method: 'GET',
  path,
  hasQuery: !path.includes('{'),
  handle: async (context, exchange, { workspace, email }, parameters) => {
    const reader = { workspaceId: workspace.id, ...(email === undefined ? {} : { email }) };
    return await readerOf(context)(exchange, reader, parameters);
  },
});

const evidenceOf = (path: string): Resource => ({
  method: 'GET',
  path,
  handle: (context, exchange, { workspace, actor }, parameters) => {
    const reader = { actor, isKey: false };
    return evidencePackage(context, exchange, workspace.id, subjectOf(parameters), reader);
  },
});

/** Paths are below `/cli/v1`. */
export const RESOURCES: readonly Resource[] = [
  readable('/findings', listFindings),
  readable('/findings/{findingId}', showFinding),
  evidenceOf('/findings/{findingId}/evidence'),
  readable('/incidents', listIncidents),
  evidenceOf('/incidents/{runId}/evidence'),
  readable('/evidence-key', showEvidenceKey),
  readable('/exceptions', listExceptions),
  readable('/runs', listRuns),
  readable('/runs/search', searchRuns),
  readable('/runs/{runId}', showRun),
  readable('/tools', listTools),
  readable('/tools/{toolId}', showTool),
  readable('/rules', listRules),
  readable('/rules/{ruleId}', showRule),
  {
    method: 'GET',
    path: '/keys',
    handle: async ({ db }, _exchange, { workspace }) => {
      const keys = await db.readFresh(listKeys, workspace.id, REVOKED_KEYS_LISTED);
      return json({ workspace: workspace.slug, keys: keys.map(toKeyRecord) });
    },
  },
  {
    method: 'POST',
    path: '/keys',
    roles: ADMINS,
    handle: async ({ db, look }, _exchange, { workspace, actor, read }) => {
      const sent = await read(keyForm);
      const { kind, name, rate_limit_per_minute: rateLimitPerMinute } = sent;
      const { brand } = look;
      const wanted = { kind, name, agentPrefix: sent.prefix, rateLimitPerMinute, brand };
      const { id, key } = await db.write(createRecordedKey, workspace.id, wanted, actor);
      return json({ id, key, kind, name, rate_limit_per_minute: rateLimitPerMinute });
    },
  },
  {
    method: 'POST',
    path: '/keys/{keyId}/limit',
    roles: ADMINS,
    handle: async ({ db }, _exchange, { workspace, actor, read }, { keyId }) => {
      const { rate_limit_per_minute: perMinute } = await read(limitForm);
      const id = requireId(keyId);
      await db.write(setRecordedKeyLimit, workspace.id, id, perMinute, actor);
      return json({ id, rate_limit_per_minute: perMinute });
    },
  },
  {
    method: 'DELETE',
    path: '/keys/{keyId}',
    roles: ADMINS,
    handle: async ({ db }, _exchange, { workspace, actor }, { keyId }) => {
      const id = requireId(keyId);
      await db.write(revokeRecordedKey, workspace.id, id, actor);
      return json({ id, revoked: true });
    },
  },
  // Destinations are added and changed in the dashboard only.
  {
    method: 'GET',
    path: '/alerts',
    roles: ADMINS,
    handle: async ({ db }, _exchange, { workspace }) => json(await alertsBody(db, workspace.id)),
  },
  {
    method: 'POST',
    path: '/alerts/{destinationId}/test',
    roles: ADMINS,
    handle: async ({ db, alertSender }, _exchange, { workspace }, { destinationId }) => {
      const id = requireId(destinationId);
      return json(testBody(await testDestination(db, alertSender, workspace.id, id)));
    },
  },
  {
    method: 'POST',
    path: '/alerts/{destinationId}/send-again',
    roles: ADMINS,
    handle: async ({ db }, _exchange, { workspace, actor, read }, { destinationId }) => {
      const { message_id: message } = await read(z.strictObject({ message_id: hexId }));
      await db.write(resendDead, workspace.id, requireId(destinationId), message, actor);
      return json({ message_id: message, queued: true });
    },
  },
];
