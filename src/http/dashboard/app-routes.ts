/**
 * Every route under `/app`: the dashboard's pages and forms, and signing in. They are for people with
 * a session, never for API keys.
 */
import type { Route } from '../transport/router.ts';
import { alertPages } from './alert-pages.ts';
import { auditPages } from './audit-pages.ts';
import type { AppDependencies } from './dashboard.ts';
import { entityPages } from './entity-pages.ts';
import { findingPages, viewRoutes } from './finding-pages.ts';
import { incidentPages } from './incident-pages.ts';
import { keyPages } from './key-pages.ts';
import { overviewPages } from './overview-pages.ts';
import { previewPages, rulePages } from './rule-pages.ts';
import { runPages } from './run-pages.ts';
import { devicePages, memberPages, settingsPages } from './settings-pages.ts';
import type { CookieJar } from './sign-in/session-cookie.ts';
import { signInPages } from './sign-in/sign-in-pages.ts';
import { telemetryPages } from './telemetry-pages.ts';
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
 *
 * @param primary all routes
 * @param replica the same routes, which read the replica
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
