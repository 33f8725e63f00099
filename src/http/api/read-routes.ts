/** The routes of the read API, and the kind of key that each takes. */
import type { KeyKind } from '../../model/people.ts';
import type { Answer, StreamedAnswer } from '../transport/exchange.ts';
import { requireNoQuery } from '../transport/input.ts';
import type { Route } from '../transport/router.ts';
import {
  type ApiContext,
  type AuthorizedDependencies,
  type AuthorizedHandler,
  authorized,
} from './authorized.ts';
import { showEntity } from './entities/entity-routes.ts';
import { downloadEvidence, showEvidenceKey } from './evidence/evidence-routes.ts';
import { listExceptions } from './exceptions/exception-routes.ts';
import { exportFindings } from './findings/finding-export.ts';
import { listFindings, showFinding } from './findings/finding-routes.ts';
import { listIncidents } from './findings/incident-routes.ts';
import { ocsfSourceOf } from './findings/ocsf.ts';
import { listProviders } from './providers/providers.ts';
import { listRules, showRule, showSettings } from './rules/rule-routes.ts';
import { exportRun, listRuns, searchRuns, showRun } from './runs/run-routes.ts';
import { listLogs } from './telemetry/log-routes.ts';
import { listMetrics, showSeries } from './telemetry/metric-routes.ts';
import { listTools, showTool } from './tools/tool-routes.ts';

export interface ReadDependencies extends AuthorizedDependencies, ApiContext {
  readonly oauthProviders: readonly string[];
}

export function readRoutes(deps: ReadDependencies): Route[] {
  const get = (
    path: string,
    kind: KeyKind | 'any',
    handler: AuthorizedHandler<Answer | StreamedAnswer>,
  ): Route => ({ method: 'GET', path, handler: authorized(kind, handler, deps) });
  const getOne = (
    path: string,
    kind: KeyKind | 'any',
    handler: AuthorizedHandler<Answer | StreamedAnswer>,
  ): Route =>
    get(path, kind, (exchange, credential, parameters) => {
      requireNoQuery(exchange.query);
      return handler(exchange, credential, parameters);
    });
  const ocsfSource = ocsfSourceOf(deps.rules.rules, deps.version, deps.baseUrl);
  return [
    getOne('/api/v1/auth/oauth/providers', 'any', listProviders(deps.oauthProviders)),
    get('/platform/v1/atr/rules', 'workspace', listRules(deps)),
    getOne('/platform/v1/atr/rules/{ruleId}', 'workspace', showRule(deps)),
    getOne('/platform/v1/atr/settings', 'workspace', showSettings(deps)),
    get('/platform/v1/risk-findings', 'workspace', listFindings(deps)),
    get('/platform/v1/incidents', 'workspace', listIncidents(deps)),
    get('/platform/v1/risk-findings/ocsf', 'workspace', exportFindings(deps, ocsfSource)),
    getOne('/platform/v1/risk-findings/{findingId}', 'workspace', showFinding(deps)),
    getOne('/platform/v1/risk-findings/{findingId}/evidence', 'workspace', downloadEvidence(deps)),
    getOne('/platform/v1/incidents/{runId}/evidence', 'workspace', downloadEvidence(deps)),
    getOne('/platform/v1/evidence-key', 'workspace', showEvidenceKey(deps)),
    get('/platform/v1/finding-exceptions', 'workspace', listExceptions(deps)),
    get('/platform/v1/runs', 'workspace', listRuns(deps)),
    get('/platform/v1/runs/search', 'workspace', searchRuns(deps)),
    getOne('/platform/v1/runs/{runId}', 'workspace', showRun(deps)),
    get('/platform/v1/runs/{runId}/otlp', 'workspace', exportRun(deps)),
    get('/platform/v1/entities', 'workspace', showEntity(deps)),
    get('/platform/v1/tools', 'workspace', listTools(deps)),
    getOne('/platform/v1/tools/{toolId}', 'workspace', showTool(deps)),
    get('/platform/v1/logs', 'workspace', listLogs(deps)),
    get('/platform/v1/metrics', 'workspace', listMetrics(deps)),
    get('/platform/v1/metrics/series', 'workspace', showSeries(deps)),
  ];
}
