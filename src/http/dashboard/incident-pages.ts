/** The dashboard's list of incidents, which "Findings" of the navigation leads to. */
import {
  findingFilters,
  INCIDENTS_PATH,
  NO_NAMES,
  viewPath,
} from '../../web/app/findings/finding-filters.ts';
import { incidentsPage } from '../../web/app/findings/incidents.ts';
import { filterOf, groupsBefore, toGroupCursor } from '../api/findings/finding-query.ts';
import { redirect } from '../transport/page.ts';
import { pageCursor, parsePageQuery, toCursor } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { pageRoutes, type View } from './dashboard.ts';
import { type FindingPageDependencies, stateQuery } from './finding-pages.ts';

const PER_PAGE = 25;
const pageQuery = stateQuery.extend({ cursor: pageCursor.optional() });

export function incidentPages(deps: FindingPageDependencies): Route[] {
  const { findings, look } = deps;
  const list = async ({ exchange, request, viewer, nowMs }: View) => {
    const { id } = request.workspace;
    if (exchange.query === '') {
      // A reader with a default view of the findings begins with it.
      const views = await deps.findingViews.list(id, request.session.userId);
      const first = views.find(({ isDefault }) => isDefault);
      if (first !== undefined) return redirect(viewPath(first.query));
    }
    const query = parsePageQuery(pageQuery, exchange.query);
    const filter = filterOf(query, { ...findings, me: viewer.email });
    const skip = groupsBefore(query.cursor ?? null);
    // One after the other: a page must not hold several of the few connections for reads.
    const found = await findings.incidents(id, filter, skip, PER_PAGE, exchange.signal);
    return incidentsPage(look, viewer, {
      ...found,
      next: toCursor(toGroupCursor(found.next)),
      query: exchange.query,
      names: await findings.names(id),
      titleOf: deps.rules.titleOf,
      nowMs,
    });
  };
  return [
    pageRoutes(deps)('/app/incidents', {}, list, (query) =>
      findingFilters(query, NO_NAMES, INCIDENTS_PATH),
    ),
  ];
}
