/** The dashboard's pages about findings, and their export as files. */

import { z } from 'zod';
import { SluiceError } from '../errors.ts';
import type { Finding, FindingFilter, PageCursor, Rule, RunSummary } from '../model.ts';
import { findingPage, findingRows, findingsPage, type MarkedRange } from '../web/app/findings.ts';
import { type DashboardDependencies, pageRoute, type View } from './dashboard.ts';
import { csvOf } from './finding-csv.ts';
import { type FindingReader, filterOf, filterQuery } from './finding-routes.ts';
import type { OcsfSource } from './ocsf.ts';
import { exportFindings, type FindingExporter } from './ocsf-export.ts';
import { pageAnswer } from './page.ts';
import { HEX_16, pageCursor, parseQuery, toCursor } from './query.ts';
import type { Route } from './router.ts';
import type { RuleReader } from './rule-routes.ts';

export interface FindingPageDependencies extends DashboardDependencies {
  readonly findings: FindingReader & FindingExporter;
  readonly rules: RuleReader;
  readonly findRun: (workspaceId: number, runId: string) => Promise<RunSummary | null>;
  /** where a pattern hits in an excerpt */
  readonly locate: (pattern: string, excerpt: string) => MarkedRange | null;
  readonly ocsf: OcsfSource;
}

const PER_PAGE = 50;
const SEARCH_CHARS_MAX = 200;

const pageQuery = filterQuery.extend({
  q: z.string().max(SEARCH_CHARS_MAX).optional(),
  cursor: pageCursor.optional(),
});

/** Words people search for stand in rules: their ids, titles, categories. */
function rulesMatching(rules: readonly Rule[], text: string): string[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return rules.flatMap((rule) => {
    const about =
      `${rule.id} ${rule.title} ${rule.category} ${rule.subcategory ?? ''}`.toLowerCase();
    return words.every((word) => about.includes(word)) ? [rule.id] : [];
  });
}

export function findingPages(deps: FindingPageDependencies): Route[] {
  const { findings, rules, look } = deps;
  const titles = new Map(rules.rules.map(({ id, title }) => [id, title]));
  const titleOf = (ruleId: string): string => titles.get(ruleId) ?? ruleId;

  const list = async ({ exchange, request, nowMs }: View) => {
    const query = parseQuery(pageQuery, exchange.query);
    const { q } = query;
    const ruleIds = q === undefined ? undefined : rulesMatching(rules.rules, q);
    const filter: FindingFilter = { ...filterOf(query), ruleIds };
    const cursor: PageCursor | null = query.cursor ?? null;
    const { id } = request.workspace;
    const page = await findings.list(id, filter, cursor, PER_PAGE);
    const next = toCursor(page.next);
    return { findings: page.findings, filter, query: exchange.query, next, titleOf, nowMs };
  };

  const one = async ({ request, viewer, parameters, nowMs }: View) => {
    const id = parameters.findingId ?? '';
    const found = HEX_16.test(id) ? await findings.find(request.workspace.id, id) : null;
    if (found === null) throw new SluiceError('not_found', 'This workspace has no such finding.');
    const run = await deps.findRun(request.workspace.id, found.runId);
    const title = titleOf(found.ruleId);
    return findingPage(look, viewer, { finding: found, title, run, mark: markOf(found), nowMs });
  };

  const markOf = ({ ruleId, conditionIndex, excerpt }: Finding): MarkedRange | null => {
    const rule = rules.rules.find(({ id }) => id === ruleId);
    const condition = rule?.conditions.find(({ index }) => index === conditionIndex);
    return condition === undefined || excerpt === null
      ? null
      : deps.locate(condition.pattern, excerpt);
  };

  const asOcsf = exportFindings(findings, deps.ocsf);
  const file = (name: string) =>
    [
      ['content-disposition', `attachment; filename="${name}"`],
      ['cache-control', 'no-store'],
    ] as const;
  return [
    pageRoute(
      '/app/findings',
      {},
      async (view) => findingsPage(look, view.viewer, await list(view)),
      deps,
    ),
    pageRoute(
      '/app/findings/rows',
      {},
      async (view) => pageAnswer(findingRows(await list(view)).text),
      deps,
    ),
    pageRoute(
      '/app/findings.csv',
      {},
      async ({ exchange, request }) => ({
        contentType: 'text/csv; charset=utf-8',
        headers: file('findings.csv'),
        chunks: csvOf(
          findings,
          request.workspace.id,
          filterOf(parseQuery(filterQuery, exchange.query)),
          titleOf,
        ),
      }),
      deps,
    ),
    pageRoute(
      '/app/findings.ocsf',
      {},
      async ({ exchange, request, parameters }) => ({
        ...(await asOcsf(exchange, { workspaceId: request.workspace.id }, parameters)),
        headers: file('findings.ocsf.ndjson'),
      }),
      deps,
    ),
    pageRoute('/app/findings/{findingId}', {}, one, deps),
  ];
}
