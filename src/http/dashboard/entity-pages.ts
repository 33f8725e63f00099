/** The dashboard's page about an agent, user, tool …; without a name, the index of all. */
import { z } from 'zod';

import { readEntity } from '../../db/runs/entities.ts';
import { listRuns } from '../../db/runs/runs.ts';
import type { EntityRef } from '../../model/shown/entities.ts';
import { entitiesPage, entityPage } from '../../web/app/entities/entity.ts';
import { entityQuery, rangeOfDays } from '../api/entities/entity-routes.ts';
import { InvalidInput } from '../transport/invalid-input.ts';
import { parsePageQuery } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type AppDependencies, pageRoutes, type View, WITH_QUERY } from './dashboard.ts';

/** Runs of a session that its page shows, the newest. */
const CONVERSATION_RUNS = 100;

const { kind, name, days } = entityQuery.shape;
const pageQuery = z.object({ kind: kind.optional(), name: name.optional(), days });

export function entityPages(deps: AppDependencies): Route[] {
  const { db, look, rules } = deps;
  const show = async ({ exchange, request, viewer, nowMs }: View) => {
    const { kind, name, days } = parsePageQuery(pageQuery, exchange.query);
    const { id } = request.workspace;
    const { since, until } = rangeOfDays(days, nowMs);
    const reader = { workspaceId: id, signal: exchange.signal };
    const read = (entity: EntityRef | null) => db.read(readEntity, reader, entity, since, until);
    if (kind === undefined && name === undefined) {
      return entitiesPage(look, viewer, { facts: await read(null), days, nowMs });
    }
    if (kind === undefined || name === undefined) {
      const path = kind === undefined ? 'kind' : 'name';
      throw new InvalidInput('bad_query', [{ path, message: 'is needed, too' }]);
    }
    const entity = { kind, name };
    const facts = await read(entity);
    const filter = { sessionId: name, since, until };
    const conversation =
      kind === 'session'
        ? (await db.read(listRuns, reader, filter, null, CONVERSATION_RUNS)).runs
        : [];
    return entityPage(look, viewer, {
      entity,
      facts,
      days,
      conversation: conversation.filter(({ sessionId }) => sessionId === name).reverse(),
      titleOf: rules.titleOf,
      nowMs,
    });
  };
  return [pageRoutes(deps)('/app/entities', WITH_QUERY, show)];
}
