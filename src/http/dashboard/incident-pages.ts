/** The dashboard's list of incidents, which "Findings" of the navigation leads to. */
import { suggestNames } from '../../db/findings/finding-totals.ts';
import { listFindingViews } from '../../db/findings/finding-views.ts';
import { listIncidents } from '../../db/findings/incidents.ts';
import { listTools } from '../../db/tools/tool-list.ts';
import {
  findingFilters,
  INCIDENTS_PATH,
  isNarrow,
  NO_NAMES,
  viewPath,
} from '../../web/app/findings/finding-filters.ts';
import { incidentsPage } from '../../web/app/findings/incidents.ts';
import { filterOf } from '../api/findings/finding-query.ts';
import { redirect } from '../transport/page.ts';
import {
  pageCursor,
  parsePageQuery,
  skippedBy,
  toCursor,
  toSkipCursor,
} from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type AppDependencies, pageRoutes, type View, WITH_QUERY } from './dashboard.ts';
import { evidenceFile, stateQuery } from './finding-pages.ts';

const PER_PAGE = 25;
/** Changed tools above the incidents. */
const CHANGES_SHOWN = 5;
const pageQuery = stateQuery.extend({ cursor: pageCursor.optional() });

export function incidentPages(deps: AppDependencies): Route[] {
  const { db, look } = deps;
  const list = async ({ exchange, request, viewer, nowMs }: View) => {
    const { id } = request.workspace;
    if (exchange.query === '') {
      // A reader with a default view of the findings begins with it.
      const views = await db.readFresh(listFindingViews, id, request.session.userId);
      const first = views.find(({ isDefault }) => isDefault);
      if (first !== undefined) return redirect(viewPath(first.query));
    }
    const query = parsePageQuery(pageQuery, exchange.query);
    const filter = filterOf(query, deps, viewer.email);
    const skip = skippedBy(query.cursor ?? null);
    // One after the other: a page must not hold several of the few connections for reads.
    const reader = { workspaceId: id, signal: exchange.signal };
    const found = await db.read(listIncidents, reader, filter, skip, PER_PAGE);
    const isWhole = !isNarrow(exchange.query) && skip === 0;
    const changes = isWhole
      ? await db.readFresh(listTools, reader, { changed: true }, 0, CHANGES_SHOWN)
      : { tools: [], next: null };
    return incidentsPage(look, viewer, {
      ...found,
      next: toCursor(toSkipCursor(found.next)),
      query: exchange.query,
      names: await db.read(suggestNames, id),
      titleOf: deps.rules.titleOf,
      changes,
      nowMs,
    });
  };
  const page = pageRoutes(deps);
  return [
    page('/app/incidents', WITH_QUERY, list, (query) =>
      findingFilters(query, NO_NAMES, INCIDENTS_PATH),
    ),
    page('/app/incidents/{runId}/evidence.tar', {}, evidenceFile(deps)),
  ];
}
