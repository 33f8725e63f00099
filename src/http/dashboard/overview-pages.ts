/** The first page of the dashboard, and the way to it from `/`. */
import { noteOverviewVisit } from '../../db/findings/overview-visits.ts';
import { readRuleSettings } from '../../db/findings/rule-settings.ts';
import { listRefusedRequests } from '../../db/telemetry/refused-requests.ts';
import { overviewPage } from '../../web/app/overview.ts';
import { redirect } from '../transport/page.ts';
import type { Route } from '../transport/router.ts';
import { type AppDependencies, pageRoutes } from './dashboard.ts';
import { ruleFactsOf } from './rule-pages.ts';

export function overviewPages(deps: AppDependencies): Route[] {
  const { look, rules, overview, db, observeUrl, replicaState } = deps;
  const page = pageRoutes(deps);
  return [
    { method: 'GET', path: '/', handler: (exchange) => exchange.answer(redirect('/app')) },
    page('/app', {}, async ({ request, viewer, nowMs }) => {
      const { id } = request.workspace;
      const [counts, settings, refusals, visit] = await Promise.all([
        overview(id),
        db.readFresh(readRuleSettings, id),
        db.readFresh(listRefusedRequests, id),
        // Reads thousands of findings, and writes a time.
        db.readFresh(noteOverviewVisit, id, request.session.userId),
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
