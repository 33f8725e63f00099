/** Keys, made and revoked by people: shown once, listed by their beginning. */
import { z } from 'zod';

import { SluiceError } from '../../errors.ts';
import {
  AGENT_KEY_PREFIXES,
  type AgentKeyPrefix,
  type KeyKind,
  type ListedKey,
  RATE_LIMIT_DEFAULT,
  RATE_LIMIT_MAX,
  type SessionActor,
} from '../../model.ts';
import { readJson } from '../transport/json-body.ts';
import { json } from '../transport/problem.ts';
import type { Route } from '../transport/router.ts';
import { name, toId } from './sign-in/person-fields.ts';
import { ADMINS, type SessionDependencies, signedIn } from './sign-in/signed-in.ts';

/** What is asked of the rest about keys. */
export interface Keys {
  readonly list: (workspaceId: number) => Promise<readonly ListedKey[]>;
  readonly make: (
    workspaceId: number,
    key: {
      readonly kind: KeyKind;
      readonly name: string;
      readonly rateLimitPerMinute: number;
      readonly agentPrefix: AgentKeyPrefix;
    },
    actor: SessionActor,
  ) => Promise<{ readonly id: number; readonly key: string }>;
  readonly revoke: (workspaceId: number, id: number, actor: SessionActor) => Promise<void>;
}

export interface KeyDependencies extends SessionDependencies {
  readonly keys: Keys;
}

const keyBody = z.strictObject({
  kind: z.enum(['agent', 'workspace']),
  name,
  rate_limit_per_minute: z.int().min(1).max(RATE_LIMIT_MAX).default(RATE_LIMIT_DEFAULT),
  prefix: z.enum(AGENT_KEY_PREFIXES).default('live'),
});

/** List, make, revoke. */
export function keyRoutes(deps: KeyDependencies): Route[] {
  const { keys } = deps;
  const list = signedIn(
    {},
    async (_exchange, { workspace }) => {
      const found = await keys.list(workspace.id);
      return json({
        keys: found.map((key) => ({
          id: key.id,
          kind: key.kind,
          name: key.name,
          prefix: key.prefix,
          rate_limit_per_minute: key.rateLimitPerMinute,
          created_at: key.createdAt,
          last_used_at: key.lastUsedAt,
          revoked_at: key.revokedAt,
        })),
      });
    },
    deps,
  );
  const make = signedIn(
    { roles: ADMINS },
    async (exchange, { workspace, actor }) => {
      const body = await readJson(exchange, keyBody);
      const { kind, rate_limit_per_minute: rateLimitPerMinute, prefix: agentPrefix } = body;
      const wanted = { kind, name: body.name, rateLimitPerMinute, agentPrefix };
      const { id, key } = await keys.make(workspace.id, wanted, actor);
      return json(
        { id, key, kind, name: body.name, rate_limit_per_minute: rateLimitPerMinute },
        201,
      );
    },
    deps,
  );
  const revoke = signedIn(
    { roles: ADMINS },
    async (_exchange, { workspace, actor }, { keyId }) => {
      const id = toId(keyId);
      if (id === null) throw new SluiceError('not_found', 'The workspace has no such key.');
      await keys.revoke(workspace.id, id, actor);
      return json({ id, revoked: true });
    },
    deps,
  );
  return [
    { method: 'GET', path: '/app/api/keys', handler: list },
    { method: 'POST', path: '/app/api/keys', handler: make },
    { method: 'DELETE', path: '/app/api/keys/{keyId}', handler: revoke },
  ];
}
