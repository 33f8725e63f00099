/** The routes of the read API, and the kind of key that each takes. */
import type { KeyKind } from '../../model/people.ts';
import type { Answer, StreamedAnswer } from '../transport/exchange.ts';
import { requireNoQuery } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type AuthorizedDependencies, type AuthorizedHandler, authorized } from './authorized.ts';
import { type ExceptionReader, listExceptions } from './exceptions/exception-routes.ts';
import type { FindingReader } from './findings/finding-query.ts';
import { listFindings, showFinding } from './findings/finding-routes.ts';
import { type IncidentReader, listIncidents } from './findings/incident-routes.ts';
import { ocsfSourceOf } from './findings/ocsf.ts';
import { exportFindings, type FindingExporter } from './findings/ocsf-export.ts';
import { listProviders } from './providers/providers.ts';
import { listRules, type RuleReader, showRule, showSettings } from './rules/rule-routes.ts';
import { exportRun, listRuns, type RunReader, showRun } from './runs/run-routes.ts';
import { searchRuns } from './runs/run-search-routes.ts';

export interface ReadDependencies extends AuthorizedDependencies {
  readonly rules: RuleReader;
  readonly findings: FindingReader & FindingExporter & IncidentReader;
  readonly exceptions: ExceptionReader;
  readonly runs: RunReader;
  /** of this program */
  readonly version: string;
  readonly oauthProviders: readonly string[];
}

/** The read routes of the base host. */
export function readRoutes(deps: ReadDependencies): Route[] {
  const { rules, findings, exceptions, runs, version, oauthProviders } = deps;
  const get = (
    path: string,
    kind: KeyKind | 'any',
    handler: AuthorizedHandler<Answer | StreamedAnswer>,
  ): Route => ({ method: 'GET', path, handler: authorized(kind, handler, deps) });
  /** An operation without parameters in its query. */
  const getOne = (path: string, kind: KeyKind | 'any', handler: AuthorizedHandler): Route =>
    get(path, kind, (exchange, credential, parameters) => {
      requireNoQuery(exchange.query);
      return handler(exchange, credential, parameters);
    });
  const ocsfSource = ocsfSourceOf(rules.rules, version, findings.baseUrl);
  return [
    getOne('/api/v1/auth/oauth/providers', 'any', listProviders(oauthProviders)),
    get('/platform/v1/atr/rules', 'workspace', listRules(rules)),
    getOne('/platform/v1/atr/rules/{ruleId}', 'workspace', showRule(rules)),
    getOne('/platform/v1/atr/settings', 'workspace', showSettings(rules)),
    get('/platform/v1/risk-findings', 'workspace', listFindings(findings)),
    get('/platform/v1/incidents', 'workspace', listIncidents(findings, rules.titleOf)),
    get('/platform/v1/risk-findings/ocsf', 'workspace', exportFindings(findings, ocsfSource)),
    getOne('/platform/v1/risk-findings/{findingId}', 'workspace', showFinding(findings)),
    get('/platform/v1/finding-exceptions', 'workspace', listExceptions(exceptions)),
    get('/platform/v1/runs', 'workspace', listRuns(runs)),
    get('/platform/v1/runs/search', 'workspace', searchRuns(runs)),
    getOne('/platform/v1/runs/{runId}', 'workspace', showRun(runs)),
    get('/platform/v1/runs/{runId}/otlp', 'workspace', exportRun(runs)),
  ];
}
