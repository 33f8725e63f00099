/** The first page of the dashboard, and the way to it from `/`. */
import type { Store } from '../../db/store.ts';
import type { ReplicaState } from '../../model/overview.ts';
import { overviewPage } from '../../web/app/overview.ts';
import type { RuleReader } from '../api/rules/rule-routes.ts';
import { redirect } from '../transport/page.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, pageRoutes } from './dashboard.ts';
import { ruleFactsOf } from './rule-facts.ts';

export interface OverviewPageDependencies extends DashboardDependencies {
  readonly rules: RuleReader;
  readonly overview: Store['overview'];
  readonly refused: Store['refused'];
  readonly noteOverviewVisit: Store['noteOverviewVisit'];
  readonly observeUrl: string;
  /** null: there is none */
  readonly replicaState: () => ReplicaState | null;
}

export function overviewPages(deps: OverviewPageDependencies): Route[] {
  const { look, rules, overview, refused, noteOverviewVisit, observeUrl, replicaState } = deps;
  const page = pageRoutes(deps);
  return [
    { method: 'GET', path: '/', handler: (exchange) => exchange.answer(redirect('/app')) },
    page('/app', {}, async ({ request, viewer, nowMs }) => {
      const { id } = request.workspace;
      const [counts, settings, refusals, visit] = await Promise.all([
        overview(id),
        rules.settings(id),
        refused(id),
        noteOverviewVisit(id, request.session.userId),
      ]);
      return overviewPage(look, viewer, {
        overview: counts,
        replica: replicaState(),
        rules: ruleFactsOf(rules, settings),
        refused: refusals,
        visit,
        titleOf: rules.titleOf,
        observeUrl,
        nowMs,
        iso: (ms) => new Date(ms).toISOString(),
      });
    }),
  ];
}
