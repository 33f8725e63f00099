/**
 * The dashboard's own interface, `/app/api`: for people with a session, never for API keys. Which
 * path leads where; what is read and changed comes through functions that are handed in.
 */

import { type FindingReader, listFindings, showFinding } from '../api/findings/finding-routes.ts';
import type { FindingExporter } from '../api/findings/ocsf-export.ts';
import { listRuns, type RunReader, showRun } from '../api/runs/run-routes.ts';
import type { Route } from '../transport/router.ts';
import { type AuditDependencies, auditRoutes } from './audit-routes.ts';
import { type DashboardPageDependencies, dashboardRoutes } from './dashboard-routes.ts';
import { formRoutes } from './form-routes.ts';
import { type KeyDependencies, keyRoutes } from './key-routes.ts';
import { type MemberDependencies, memberRoutes } from './member-routes.ts';
import { asRead, type SettingDependencies, settingRoutes } from './setting-routes.ts';
import { accountRoutes } from './sign-in/account-routes.ts';
import type { AccountDependencies } from './sign-in/accounts.ts';
import { type SignInPageDependencies, signInPages } from './sign-in/sign-in-pages.ts';
import { signedIn } from './sign-in/signed-in.ts';

export interface AppDependencies
  extends AccountDependencies,
    MemberDependencies,
    KeyDependencies,
    SettingDependencies,
    AuditDependencies,
    SignInPageDependencies,
    DashboardPageDependencies {
  readonly findings: FindingReader & FindingExporter;
  readonly runs: RunReader;
}

/** The routes under `/app`: pages and their forms, signing in, and what scripts ask for under `/app/api`. */
export function appRoutes(deps: AppDependencies): Route[] {
  const { findings, runs } = deps;
  const readings = [
    ['/app/api/findings', listFindings(findings)],
    ['/app/api/findings/{findingId}', showFinding(findings)],
    ['/app/api/runs', listRuns(runs)],
    ['/app/api/runs/{runId}', showRun(runs)],
  ] as const;
  return [
    ...signInPages(deps),
    ...dashboardRoutes(deps),
    ...formRoutes(deps),
    ...accountRoutes(deps),
    ...memberRoutes(deps),
    ...keyRoutes(deps),
    ...settingRoutes(deps),
    ...auditRoutes(deps),
    ...readings.map(([path, handler]): Route => {
      return { method: 'GET', path, handler: signedIn({}, asRead(handler), deps) };
    }),
  ];
}
