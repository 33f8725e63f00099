/**
 * What people decide for a workspace: which rules run, its name, redaction. The only place where
 * what rules run can be changed; no API credential gets here.
 */
import { z } from 'zod';

import { SluiceError } from '../../errors.ts';
import type { Rule, SessionActor } from '../../model.ts';
import type { AuthorizedHandler } from '../api/authorized.ts';
import { listRules, type RuleReader, showRule, showSettings } from '../api/rules/rule-routes.ts';
import type { Answer } from '../transport/exchange.ts';
import { readJson } from '../transport/json-body.ts';
import { json, problem } from '../transport/problem.ts';
import type { Route } from '../transport/router.ts';
import { name } from './sign-in/person-fields.ts';
import {
  ADMINS,
  RULE_PLANS,
  type SessionDependencies,
  type SignedInHandler,
  signedIn,
} from './sign-in/signed-in.ts';

/** What changes settings; each also writes the ledger. */
export interface SettingWriter {
  readonly setExperimental: (
    workspaceId: number,
    on: boolean,
    actor: SessionActor,
  ) => Promise<void>;
  /** null drops the override */
  readonly setOverride: (
    workspaceId: number,
    ruleId: string,
    enabled: boolean | null,
    actor: SessionActor,
  ) => Promise<void>;
  /** why a rule may be switched on by nobody; null when it may */
  readonly refusal: (rule: Rule) => { readonly reason: string; readonly detail: string } | null;
  readonly rename: (workspaceId: number, name: string, actor: SessionActor) => Promise<void>;
  /** tells how many excerpts were removed */
  readonly setRedaction: (workspaceId: number, on: boolean, actor: SessionActor) => Promise<number>;
}

export interface SettingDependencies extends SessionDependencies {
  readonly rules: RuleReader;
  readonly settings: SettingWriter;
}

const tierBody = z.strictObject({ experimental: z.boolean() });
const overrideBody = z.strictObject({ enabled: z.boolean().nullable() });
const workspaceBody = z
  .strictObject({ name: name.optional(), redact_excerpts: z.boolean().optional() })
  .refine((body) => Object.keys(body).length > 0, 'must name something to change');

const TO_READ = { plans: RULE_PLANS };
const TO_WRITE = { plans: RULE_PLANS, roles: ADMINS };

/** A reading that keys have too, for whoever is signed in. */
export function asRead(handler: AuthorizedHandler): SignedInHandler {
  return async (exchange, { workspace }, parameters): Promise<Answer> =>
    await handler(exchange, { workspaceId: workspace.id }, parameters);
}

function ruleRoutes(deps: SettingDependencies): Route[] {
  const { rules, settings } = deps;
  const showTier = asRead(showSettings(rules));
  const showOne = asRead(showRule(rules));
  const setTier: SignedInHandler = async (exchange, request, parameters) => {
    const { experimental } = await readJson(exchange, tierBody);
    await settings.setExperimental(request.workspace.id, experimental, request.actor);
    return await showTier(exchange, request, parameters);
  };
  const setOverride: SignedInHandler = async (exchange, request, parameters) => {
    const { enabled } = await readJson(exchange, overrideBody);
    const rule = rules.rules.find(({ id }) => id === parameters.ruleId);
    if (rule === undefined) throw new SluiceError('not_found', 'The snapshot has no such rule.');
    const refused = enabled === true ? settings.refusal(rule) : null;
    if (refused !== null) {
      const { reason, detail } = refused;
      return problem(new SluiceError('rule_refused', detail), { reason });
    }
    await settings.setOverride(request.workspace.id, rule.id, enabled, request.actor);
    return await showOne(exchange, request, parameters);
  };
  const path = '/app/api/atr';
  const one = `${path}/rules/{ruleId}`;
  return [
    {
      method: 'GET',
      path: `${path}/rules`,
      handler: signedIn(TO_READ, asRead(listRules(rules)), deps),
    },
    { method: 'GET', path: one, handler: signedIn(TO_READ, showOne, deps) },
    { method: 'PUT', path: one, handler: signedIn(TO_WRITE, setOverride, deps) },
    { method: 'GET', path: `${path}/settings`, handler: signedIn(TO_READ, showTier, deps) },
    { method: 'PUT', path: `${path}/settings`, handler: signedIn(TO_WRITE, setTier, deps) },
  ];
}

function workspaceRoutes(deps: SettingDependencies): Route[] {
  const { settings } = deps;
  const show = signedIn(
    {},
    async (_exchange, { workspace }) =>
      json({
        slug: workspace.slug,
        name: workspace.name,
        plan: workspace.plan,
        redact_excerpts: workspace.redactExcerpts,
      }),
    deps,
  );
  const change = signedIn(
    { roles: ADMINS },
    async (exchange, { workspace, actor }) => {
      const body = await readJson(exchange, workspaceBody);
      if (body.name !== undefined) await settings.rename(workspace.id, body.name, actor);
      const redact = body.redact_excerpts;
      const removed =
        redact === undefined ? 0 : await settings.setRedaction(workspace.id, redact, actor);
      return json({
        slug: workspace.slug,
        name: body.name ?? workspace.name,
        plan: workspace.plan,
        redact_excerpts: redact ?? workspace.redactExcerpts,
        excerpts_removed: removed,
      });
    },
    deps,
  );
  return [
    { method: 'GET', path: '/app/api/settings', handler: show },
    { method: 'PUT', path: '/app/api/settings', handler: change },
  ];
}

/** Rules as people read and switch them, and the workspace's own settings. */
export function settingRoutes(deps: SettingDependencies): Route[] {
  return [...ruleRoutes(deps), ...workspaceRoutes(deps)];
}
