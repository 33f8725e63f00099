/** The dashboard's pages of tools, and the form that marks changes as seen. */
import { z } from 'zod';
import { findTool, listTools } from '../../db/tools/tool-list.ts';
import { acknowledgeTool } from '../../db/tools/tool-writes.ts';
import { SluiceError } from '../../errors.ts';
import { TOOLS_PATH, toolPage, toolsPage } from '../../web/app/tools/tools.ts';
import { toolsQuery } from '../api/tools/tool-routes.ts';
import { readForm } from '../transport/json-body.ts';
import { idOf, parsePageQuery, skippedBy, toCursor, toSkipCursor } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type AppDependencies, formRoutes, pageRoutes, WITH_QUERY } from './dashboard.ts';

const PER_PAGE = 50;
const VERSION_MAX = 2_147_483_647;
const pageQuery = toolsQuery.omit({ limit: true });
const seenForm = z.object({ version: z.coerce.number().int().min(1).max(VERSION_MAX) });

const noTool = () => new SluiceError('not_found', 'This workspace has no such tool.');

export function toolPages(deps: AppDependencies): Route[] {
  const { db, look, rules } = deps;
  const page = pageRoutes(deps);
  return [
    page(TOOLS_PATH, WITH_QUERY, async ({ exchange, request, viewer, nowMs }) => {
      const query = parsePageQuery(pageQuery, exchange.query);
      const { cursor = null, mcp_server: server, agent, name, changed } = query;
      const reader = { workspaceId: request.workspace.id, signal: exchange.signal };
      const filter = { agent, server, name, changed };
      const listed = await db.readFresh(listTools, reader, filter, skippedBy(cursor), PER_PAGE);
      const next = toCursor(toSkipCursor(listed.next));
      return toolsPage(look, viewer, { ...listed, next, query: exchange.query, nowMs });
    }),
    page(`${TOOLS_PATH}/{toolId}`, {}, async ({ request, viewer, parameters, nowMs }) => {
      const id = idOf(parameters.toolId);
      const found = id === null ? null : await db.readFresh(findTool, request.workspace.id, id);
      if (found === null) throw noTool();
      const description = found.versions[0]?.description ?? '';
      const matching = rules.describedBy(description);
      return toolPage(look, viewer, { ...found, matching, nowMs });
    }),
    formRoutes(deps)(
      `${TOOLS_PATH}/{toolId}/seen`,
      {},
      async ({ exchange, request, parameters }) => {
        const id = idOf(parameters.toolId);
        if (id === null) throw noTool();
        const { version } = await readForm(exchange, seenForm);
        const { workspace, actor } = request;
        const marked = await db.write(acknowledgeTool, workspace.id, id, version, actor);
        if (marked === 0 && (await db.readFresh(findTool, workspace.id, id)) === null)
          throw noTool();
        return `${TOOLS_PATH}?changed=true`;
      },
    ),
  ];
}
