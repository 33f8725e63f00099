/** The dashboard's pages about runs: the list, and one with its steps, texts and findings. */
import { SluiceError } from '../../errors.ts';
import type { Hex16 } from '../../model/json.ts';
import type { RunSummary } from '../../model/runs.ts';
import type { MarkedRange } from '../../web/app/finding.ts';
import { runPage, type ShownStep } from '../../web/app/run.ts';
import { runFilters, runsPage } from '../../web/app/runs.ts';
import type { FindingReader } from '../api/findings/finding-routes.ts';
import type { FindingExporter } from '../api/findings/ocsf-export.ts';
import type { RuleReader } from '../api/rules/rule-routes.ts';
import { type RunReader, runFilterOf, runsQuery } from '../api/runs/run-routes.ts';
import { HEX_16, parseQuery, toCursor } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, pageRoutes } from './dashboard.ts';
import { marker } from './finding-mark.ts';

export interface RunPageDependencies extends DashboardDependencies {
  readonly runs: RunReader;
  readonly findings: FindingReader & FindingExporter;
  readonly rules: RuleReader;
  /** finds a pattern's hit in an excerpt */
  readonly locate: (pattern: string, excerpt: string) => MarkedRange | null;
  /** the first steps of a run with their texts; null when the workspace has no such run */
  readonly findSteps: (
    workspaceId: number,
    runId: Hex16,
  ) => Promise<{
    readonly run: RunSummary;
    readonly steps: readonly ShownStep[];
    readonly stepsLeftOut: number;
  } | null>;
}

const PER_PAGE = 50;
/** A run has at most one finding per rule. */
const FINDINGS_MAX = 500;

export function runPages(deps: RunPageDependencies): Route[] {
  const { runs, findings, rules, look } = deps;
  const titles = new Map(rules.rules.map(({ id, title }) => [id, title]));
  const titleOf = (ruleId: string): string => titles.get(ruleId) ?? ruleId;
  const markOf = marker(rules.rules, deps.locate);
  const page = pageRoutes(deps);
  return [
    page(
      '/app/runs',
      {},
      async ({ exchange, request, viewer, nowMs }) => {
        const query = parseQuery(runsQuery, exchange.query);
        const { id } = request.workspace;
        const found = await runs.list(id, runFilterOf(query), query.cursor ?? null, PER_PAGE);
        return runsPage(look, viewer, {
          runs: found.runs,
          query: exchange.query,
          next: toCursor(found.next),
          endedEarly: found.next !== null && found.runs.length < PER_PAGE,
          nowMs,
        });
      },
      runFilters,
    ),
    page('/app/runs/{runId}', {}, async ({ request, viewer, parameters, nowMs }) => {
      const runId = parameters.runId ?? '';
      const { id, redactExcerpts } = request.workspace;
      const found = HEX_16.test(runId) ? await deps.findSteps(id, runId) : null;
      if (found === null) throw new SluiceError('not_found', 'This workspace has no such run.');
      const own = await findings.list(id, { runId }, null, FINDINGS_MAX);
      const { run, steps, stepsLeftOut } = found;
      return runPage(look, viewer, {
        run,
        steps: redactExcerpts ? steps.map((step) => ({ ...step, texts: [] })) : steps,
        stepsLeftOut,
        findings: own.findings,
        titleOf,
        markOf,
        isRedacted: redactExcerpts,
        nowMs,
      });
    }),
  ];
}
