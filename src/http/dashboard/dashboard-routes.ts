/** Every page of the dashboard. */
import { type Overview, overviewPage } from '../../web/app/overview.ts';
import { redirect } from '../transport/page.ts';
import type { Route } from '../transport/router.ts';
import { pageRoute } from './dashboard.ts';
import { type FindingPageDependencies, findingPages } from './finding-pages.ts';
import { type RunPageDependencies, runPages } from './run-pages.ts';
import { type WorkspacePageDependencies, workspacePages } from './workspace-pages.ts';

export interface DashboardPageDependencies
  extends FindingPageDependencies,
    RunPageDependencies,
    WorkspacePageDependencies {
  readonly overview: (workspaceId: number) => Promise<Overview>;
  readonly observeUrl: string;
}

function overviewRoute(deps: DashboardPageDependencies): Route {
  const { look, rules, overview, observeUrl } = deps;
  return pageRoute(
    '/app',
    {},
    async ({ request, viewer, nowMs }) => {
      const { id } = request.workspace;
      const [counts, settings] = await Promise.all([overview(id), rules.settings(id)]);
      const enabled = rules.rules.filter((rule) => rules.decide(rule, settings).enabled).length;
      return overviewPage(look, viewer, {
        overview: counts,
        rules: {
          counts: rules.counts,
          enabled,
          experimental: settings.experimental,
          version: rules.snapshot.version,
        },
        observeUrl,
        nowMs,
        iso: (ms) => new Date(ms).toISOString(),
      });
    },
    deps,
  );
}

/** The routes under `/app` that show pages, and the way there. */
export function dashboardRoutes(deps: DashboardPageDependencies): Route[] {
  return [
    {
      method: 'GET',
      path: '/',
      handler: (exchange) => exchange.answer(redirect('/app')),
    },
    overviewRoute(deps),
    ...findingPages(deps),
    ...runPages(deps),
    ...workspacePages(deps),
  ];
}
