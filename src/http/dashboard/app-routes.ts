/**
 * Every route under `/app`: the dashboard's pages and forms, and signing in. They are for people with
 * a session, never for API keys.
 */
import { noteOverviewVisit } from '../../db/findings/overview.ts';
import { readRuleSettings } from '../../db/findings/rule-settings.ts';
import { listRefusedRequests } from '../../db/telemetry/refused-requests.ts';
import { overviewPage } from '../../web/app/overview.ts';
import { redirect } from '../transport/answers.ts';
import type { Route } from '../transport/router.ts';
import { alertPages } from './alert-pages.ts';
import { auditPages } from './audit-pages.ts';
import { type AppDependencies, pageRoutes } from './dashboard.ts';
import { findingPages, incidentPages, viewRoutes } from './finding-pages.ts';
import { keyPages } from './key-pages.ts';
import { previewPages, ruleFactsOf, rulePages } from './rule-pages.ts';
import { entityPages, runPages, telemetryPages, toolPages } from './run-pages.ts';
import { devicePages, memberPages, settingsPages } from './settings-pages.ts';
import type { CookieJar } from './sign-in/session-cookie.ts';
import { signInPages } from './sign-in/sign-in-pages.ts';
import { exceptionPages, triageRoutes } from './triage-routes.ts';

export function appRoutes(deps: AppDependencies): Route[] {
  return [
    ...signInPages(deps),
    ...overviewPages(deps),
    ...findingPages(deps),
    ...incidentPages(deps),
    ...triageRoutes(deps),
    ...viewRoutes(deps),
    ...exceptionPages(deps),
    ...runPages(deps),
    ...entityPages(deps),
    ...toolPages(deps),
    ...telemetryPages(deps),
    ...rulePages(deps),
    ...previewPages(deps),
    ...keyPages(deps),
    ...devicePages(deps),
    ...memberPages(deps),
    ...auditPages(deps),
    ...alertPages(deps),
    ...settingsPages(deps),
  ];
}

/**
 * Pages from a read replica, but not for a browser that has just changed something: for as long as the
 * replica may be behind, its pages are read from the primary, whichever process answers.
 *
 *   change ──► Set-Cookie, gone after the replica's greatest lag ──► pages of the primary meanwhile
 */
export function readYourWrites(
  primary: readonly Route[],
  replica: readonly Route[],
  { hasChanged }: Pick<CookieJar, 'hasChanged'>,
): Route[] {
  return primary.map((route, index) => {
    const other = replica[index];
    if (route.method !== 'GET' || other === undefined) return route;
    if (other.path !== route.path) throw new Error(`${route.path} and ${other.path} differ`);
    return {
      ...route,
      handler: (exchange, parameters) => {
        const cookies = exchange.browser?.cookie;
        const isFresh = cookies === undefined || hasChanged(cookies);
        return (isFresh ? route : other).handler(exchange, parameters);
      },
    };
  });
}

function overviewPages(deps: AppDependencies): Route[] {
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
