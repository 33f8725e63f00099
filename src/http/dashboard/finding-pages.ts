/** The dashboard's pages about findings, and their export as files. */

import { z } from 'zod';
import type { Store } from '../../db/store.ts';
import { SluiceError } from '../../errors.ts';
import type { FindingFilter } from '../../model/findings.ts';
import type { Rule } from '../../model/rules.ts';
import type { PageCursor } from '../../model/runs.ts';
import { findingPage } from '../../web/app/finding.ts';
import { findingFilters, findingRows, findingsPage } from '../../web/app/findings.ts';
import { csvOf } from '../api/findings/finding-csv.ts';
import { type FindingReader, filterOf, filterQuery } from '../api/findings/finding-routes.ts';
import type { OcsfSource } from '../api/findings/ocsf.ts';
import { ExportSlots, exportFindings, type FindingExporter } from '../api/findings/ocsf-export.ts';
import type { RuleReader } from '../api/rules/rule-routes.ts';
import type { Answer } from '../transport/exchange.ts';
import { pageAnswer } from '../transport/page.ts';
import { HEX_16, pageCursor, parseQuery, toCursor } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, pageRoutes, type View } from './dashboard.ts';

export interface FindingPageDependencies extends DashboardDependencies {
  readonly findings: FindingReader & FindingExporter;
  readonly rules: RuleReader;
  readonly findRun: Store['findRun'];
  readonly triage: Store['triage'];
  readonly members: Store['members'];
  readonly ocsf: OcsfSource;
}

const PER_PAGE = 50;
const SEARCH_CHARS_MAX = 200;

const searchQuery = z.object({ q: z.string().max(SEARCH_CHARS_MAX).optional() });
const pageQuery = filterQuery.extend({
  ...searchQuery.shape,
  cursor: pageCursor.optional(),
  newest: z.string().regex(HEX_16).optional(),
});

/** No row is newer than the newest one shown. */
const NOTHING_NEW: Answer = pageAnswer('');

/** The ids of the rules whose id, title or category contain every word of the text. */
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

  /** The search of a query, as a filter. */
  const searched = (query: string): FindingFilter => {
    const { q } = parseQuery(searchQuery, query);
    return q === undefined ? {} : { ruleIds: rulesMatching(rules.rules, q) };
  };

  const list = async ({ exchange, request, nowMs }: View) => {
    const query = parseQuery(pageQuery, exchange.query);
    const filter: FindingFilter = { ...filterOf(query), ...searched(exchange.query) };
    const cursor: PageCursor | null = query.cursor ?? null;
    const { id } = request.workspace;
    const found = await findings.list(id, filter, cursor, PER_PAGE);
    const next = toCursor(found.next);
    return { findings: found.findings, filter, query: exchange.query, next, titleOf, nowMs };
  };

  const one = async ({ request, viewer, parameters, nowMs }: View) => {
    const id = parameters.findingId ?? '';
    const found = HEX_16.test(id) ? await findings.find(request.workspace.id, id) : null;
    if (found === null) throw new SluiceError('not_found', 'This workspace has no such finding.');
    const [run, triage, members] = await Promise.all([
      deps.findRun(request.workspace.id, found.runId),
      deps.triage.read(request.workspace.id, id),
      deps.members.list(request.workspace.id),
    ]);
    const title = titleOf(found.ruleId);
    return findingPage(look, viewer, { finding: found, title, run, triage, members, nowMs });
  };

  const slots = new ExportSlots();
  const asCsv = { exporter: findings, slots, titleOf };
  const asOcsf = exportFindings(findings, deps.ocsf, { slots, narrow: searched });
  const file = (name: string) =>
    [
      ['content-disposition', `attachment; filename="${name}"`],
      ['cache-control', 'no-store'],
    ] as const;
  const page = pageRoutes(deps);
  return [
    page(
      '/app/findings',
      {},
      async (view) => findingsPage(look, view.viewer, await list(view)),
      findingFilters,
    ),
    page('/app/findings/rows', {}, async (view) => {
      const { newest } = parseQuery(pageQuery, view.exchange.query);
      const data = await list(view);
      const isSame = newest !== undefined && data.findings[0]?.id === newest;
      return isSame ? NOTHING_NEW : pageAnswer(findingRows(data).text);
    }),
    page('/app/findings.csv', {}, async ({ exchange, request }) => ({
      contentType: 'text/csv; charset=utf-8',
      headers: file('findings.csv'),
      chunks: csvOf(asCsv, request.workspace.id, {
        ...filterOf(parseQuery(filterQuery, exchange.query)),
        ...searched(exchange.query),
      }),
    })),
    page('/app/findings.ocsf', {}, async ({ exchange, request, parameters }) => ({
      ...(await asOcsf(exchange, { workspaceId: request.workspace.id }, parameters)),
      headers: file('findings.ocsf.ndjson'),
    })),
    page('/app/findings/{findingId}', {}, one),
  ];
}
