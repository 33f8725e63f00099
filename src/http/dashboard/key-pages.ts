/** The page of a workspace's keys, and its forms: create a key, which is shown once, change its limit, revoke it. */
import { z } from 'zod';
import { findKeyArrival, listKeys } from '../../db/people/keys.ts';
import {
  createRecordedKey,
  revokeRecordedKey,
  setRecordedKeyLimit,
} from '../../db/people/workspace-writes.ts';
import { SluiceError } from '../../errors.ts';
import { AGENT_KEY_PREFIXES, RATE_LIMIT_DEFAULT, RATE_LIMIT_MAX } from '../../model/people.ts';
import { arrivalPage, connectSection } from '../../web/app/keys/connect.ts';
import { keysPage } from '../../web/app/keys.ts';
import { shownOncePage } from '../../web/app/shell.ts';
import { pageAnswer } from '../transport/answers.ts';
import { readForm } from '../transport/input.ts';
import type { Route } from '../transport/router.ts';
import { type AppDependencies, formRoutes, pageRoutes, viewerOf } from './dashboard.ts';
import { name, requireId } from './sign-in/person-fields.ts';
import { ADMINS } from './sign-in/signed-in.ts';

const PATH = '/app/keys';
const ARRIVAL = `${PATH}/{keyId}/arrival`;

const limit = z.coerce.number().int().min(1).max(RATE_LIMIT_MAX);
/**
 * Most revoked keys that a page lists, the latest: an admin may create and revoke any number of
 * keys.
 */
export const REVOKED_KEYS_LISTED = 200;

export const limitForm = z.object({ rate_limit_per_minute: limit });
export const keyForm = z.object({
  name,
  kind: z.enum(['agent', 'workspace']),
  prefix: z.enum(AGENT_KEY_PREFIXES).default('live'),
  rate_limit_per_minute: limit.default(RATE_LIMIT_DEFAULT),
});

export function keyPages(deps: AppDependencies): Route[] {
  const { db, look, sendGuides, observeUrl, nowMs } = deps;
  const page = pageRoutes(deps);
  const form = formRoutes(deps);
  return [
    page(PATH, {}, async ({ request, viewer, nowMs: now }) => {
      const keys = await db.readFresh(listKeys, request.workspace.id, REVOKED_KEYS_LISTED);
      return keysPage(look, viewer, { keys, nowMs: now });
    }),
    page(ARRIVAL, {}, async ({ request, viewer, parameters, nowMs: now }) => {
      const id = requireId(parameters.keyId);
      const arrival = await db.readFresh(findKeyArrival, request.workspace.id, id);
      if (arrival === null) {
        throw new SluiceError('not_found', 'This workspace has no such key.');
      }
      return arrivalPage(look, viewer, id, { arrival, nowMs: now });
    }),
    form(PATH, { roles: ADMINS }, async ({ exchange, request }) => {
      const sent = await readForm(exchange, keyForm);
      const wanted = {
        kind: sent.kind,
        name: sent.name,
        agentPrefix: sent.prefix,
        rateLimitPerMinute: sent.rate_limit_per_minute,
        brand: look.brand,
      };
      const { workspace, actor } = request;
      const { id, key } = await db.write(createRecordedKey, workspace.id, wanted, actor);
      const isAgent = sent.kind === 'agent';
      const shown = {
        title: `Key “${sent.name}”`,
        current: PATH,
        lead: 'Copy it now: it is not shown again.',
        secret: key,
        more: isAgent && connectSection(id, key, { guides: sendGuides(), observeUrl }, nowMs()),
      };
      return pageAnswer(shownOncePage(look, viewerOf(request), shown).text);
    }),
    form(`${PATH}/{keyId}/limit`, { roles: ADMINS }, async ({ exchange, request, parameters }) => {
      const { rate_limit_per_minute: perMinute } = await readForm(exchange, limitForm);
      const { workspace, actor } = request;
      const id = requireId(parameters.keyId);
      await db.write(setRecordedKeyLimit, workspace.id, id, perMinute, actor);
      return PATH;
    }),
    form(`${PATH}/{keyId}/revoke`, { roles: ADMINS }, async ({ request, parameters }) => {
      const id = requireId(parameters.keyId);
      await db.write(revokeRecordedKey, request.workspace.id, id, request.actor);
      return PATH;
    }),
  ];
}
