/**
 * Every route under `/app`: the dashboard's pages and forms, and signing in. They are for people with
 * a session, never for API keys.
 */
import type { Route } from '../transport/router.ts';
import { type AlertPageDependencies, alertPages } from './alert-pages.ts';
import { type AuditPageDependencies, auditPages } from './audit-pages.ts';
import { type DevicePageDependencies, devicePages } from './device-pages.ts';
import { type ExceptionPageDependencies, exceptionPages } from './exception-pages.ts';
import { type FindingPageDependencies, findingPages } from './finding-pages.ts';
import { incidentPages } from './incident-pages.ts';
import { type KeyPageDependencies, keyPages } from './key-pages.ts';
import { type MemberPageDependencies, memberPages } from './member-pages.ts';
import { type OverviewPageDependencies, overviewPages } from './overview-pages.ts';
import { type PreviewPageDependencies, previewPages } from './preview-pages.ts';
import { type RulePageDependencies, rulePages } from './rule-pages.ts';
import { type RunPageDependencies, runPages } from './run-pages.ts';
import { type SettingsPageDependencies, settingsPages } from './settings-pages.ts';
import { type SignInPageDependencies, signInPages } from './sign-in/sign-in-pages.ts';
import { type TriageDependencies, triageRoutes } from './triage-routes.ts';
import { type ViewDependencies, viewRoutes } from './view-routes.ts';

export interface AppDependencies
  extends SignInPageDependencies,
    OverviewPageDependencies,
    FindingPageDependencies,
    TriageDependencies,
    ViewDependencies,
    ExceptionPageDependencies,
    RunPageDependencies,
    RulePageDependencies,
    PreviewPageDependencies,
    KeyPageDependencies,
    DevicePageDependencies,
    MemberPageDependencies,
    AuditPageDependencies,
    AlertPageDependencies,
    SettingsPageDependencies {}

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
