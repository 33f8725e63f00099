/**
 * The read API: who may ask, how faults are answered, and which path leads to which reading.
 * What is read comes through functions that are handed in.
 */
import type {
  Category,
  Credential,
  Hex16,
  KeyKind,
  RuleStatus,
  Severity,
  Surface,
} from '../model.ts';
import type { Events } from '../observe/events.ts';
import type { Authenticator } from './authentication.ts';
import type { Answer, Exchange } from './exchange.ts';
import { listFindings, showFinding } from './finding-routes.ts';
import { json, problem, toSluiceError } from './problem.ts';
import { BadQuery, badQueryAnswer } from './query.ts';
import type { Handler, Parameters, Route } from './router.ts';
import { listRules, type RuleReader, showRule, showSettings } from './rule-routes.ts';

/** A reading that knows who asks. */
export type AuthorizedHandler = (
  exchange: Exchange,
  credential: Credential,
  parameters: Parameters,
) => Answer | Promise<Answer>;

/** A finding as it is read. */
export interface FindingRecord {
  readonly id: Hex16;
  readonly createdAt: Date;
  readonly runId: Hex16;
  readonly ruleId: string;
  readonly ruleVersion: string;
  readonly ruleStatus: RuleStatus;
  readonly severity: Severity;
  readonly category: Category;
  readonly subcategory: string | null;
  readonly corpusVersion: string;
  readonly description: string;
  readonly conditionIndex: number;
  readonly conditionDescription: string;
  readonly field: string;
  readonly surface: Surface;
  readonly stepSpanId: string | null;
  readonly stepName: string;
  readonly excerpt: string | null;
  readonly recommendedActions: readonly string[];
}

export interface FindingCursor {
  readonly atMicros: string;
  readonly id: Hex16;
}

export interface FindingFilter {
  readonly severity?: Severity | undefined;
  readonly category?: Category | undefined;
  readonly ruleId?: string | undefined;
  readonly runId?: Hex16 | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** What reading the findings asks of the rest. */
export interface FindingReader {
  readonly list: (
    workspaceId: number,
    filter: FindingFilter,
    cursor: FindingCursor | null,
    limit: number,
  ) => Promise<{ findings: readonly FindingRecord[]; next: FindingCursor | null }>;
  readonly find: (workspaceId: number, id: Hex16) => Promise<FindingRecord | null>;
}

export interface ReadDependencies {
  readonly authenticator: Authenticator;
  readonly rules: RuleReader;
  readonly findings: FindingReader;
  readonly oauthProviders: readonly string[];
  readonly events: Pick<Events, 'requestFailed'>;
}

function authorized(
  kind: KeyKind | 'any',
  handler: AuthorizedHandler,
  { authenticator, events }: ReadDependencies,
): Handler {
  return async (exchange, parameters) => {
    try {
      const credential = await authenticator.authenticate(exchange.authorization, kind);
      exchange.answer(await handler(exchange, credential, parameters));
    } catch (thrown) {
      const error = toSluiceError(thrown);
      if (error !== thrown) events.requestFailed('read', thrown);
      exchange.answer(error instanceof BadQuery ? badQueryAnswer(error) : problem(error));
    }
  };
}

/** The read routes of the base host. */
export function readRoutes(deps: ReadDependencies): Route[] {
  const { rules, findings, oauthProviders } = deps;
  const get = (path: string, kind: KeyKind | 'any', handler: AuthorizedHandler): Route => ({
    method: 'GET',
    path,
    handler: authorized(kind, handler, deps),
  });
  return [
    get('/api/v1/auth/oauth/providers', 'any', () =>
      json({ providers: oauthProviders, total: oauthProviders.length }),
    ),
    get('/platform/v1/atr/rules', 'workspace', listRules(rules)),
    get('/platform/v1/atr/rules/{ruleId}', 'workspace', showRule(rules)),
    get('/platform/v1/atr/settings', 'workspace', showSettings(rules)),
    get('/platform/v1/risk-findings', 'workspace', listFindings(findings)),
    get('/platform/v1/risk-findings/{findingId}', 'workspace', showFinding(findings)),
  ];
}
