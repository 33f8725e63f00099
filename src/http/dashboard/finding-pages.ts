/** The dashboard's pages about findings, and their export as files. */

import { z } from 'zod';
import type { Store } from '../../db/store.ts';
import { SluiceError } from '../../errors.ts';
import { type Finding, type FindingFilter, VIEW_QUERY_CHARS_MAX } from '../../model/findings.ts';
import { FINDING_STATES, LIST_STATES } from '../../model/triage.ts';
import { findingPage, RUN_FINDINGS_MAX } from '../../web/app/finding.ts';
import { findingFilters, NO_NAMES, viewPath } from '../../web/app/findings/finding-filters.ts';
import { listQuery } from '../../web/app/findings/list-address.ts';
import { findingRows, findingsPage } from '../../web/app/findings.ts';
import type { Viewer } from '../../web/app/shell.ts';
import { csvOf } from '../api/findings/finding-csv.ts';
import {
  type FindingReader,
  filterOf,
  filterQuery,
  groupsBefore,
  toGroupCursor,
} from '../api/findings/finding-query.ts';
import { findingsQuery } from '../api/findings/finding-routes.ts';
import type { OcsfSource } from '../api/findings/ocsf.ts';
import {
  type ExportSlots,
  exportQuery,
  type FindingExporter,
  ocsfExport,
} from '../api/findings/ocsf-export.ts';
import type { RuleReader } from '../api/rules/rule-routes.ts';
import type { Answer } from '../transport/exchange.ts';
import { InvalidInput } from '../transport/invalid-input.ts';
import { pageAnswer, redirect } from '../transport/page.ts';
import { HEX_16, pageCursor, parsePageQuery, toCursor } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, pageRoutes, type View } from './dashboard.ts';

/** The reads of findings that pages use. */
export type FindingPageReader = FindingReader &
  FindingExporter &
  Pick<Store['findings'], 'names' | 'neighbours' | 'incidents'>;

export interface FindingPageDependencies extends DashboardDependencies {
  readonly findings: FindingPageReader;
  readonly rules: RuleReader;
  readonly findRun: Store['findRun'];
  readonly triage: Store['triage'];
  readonly exceptions: Store['exceptions'];
  readonly members: Store['members'];
  readonly findingViews: Store['findingViews'];
  readonly ocsf: OcsfSource;
  /** of exports of findings */
  readonly exportSlots: ExportSlots;
}

const PER_PAGE = 50;
const DECIDED = FINDING_STATES.filter((one) => one !== 'new');

/** Of a finding's page: the list that it was opened from. */
export const findingQuery = z.object({ list: z.string().max(VIEW_QUERY_CHARS_MAX).optional() });

/** By default open findings that no exception hides. */
const state = z.enum(LIST_STATES).default('open');
export const stateQuery = filterQuery.extend({ state });
const pageQuery = stateQuery.extend({
  ...findingsQuery.pick({ sort: true, group_by: true }).shape,
  cursor: pageCursor.optional(),
  newest: z.string().regex(HEX_16).optional(),
  /** the effect of the last change (list-address.ts) */
  done: z.string().optional(),
});

/** Checks whether a finding is still in its list, and returns the decisions made since. */
function isListed({ states, isExcepted, assignee }: FindingFilter, finding: Finding): boolean {
  return (
    (states === undefined || states.includes(finding.state)) &&
    (isExcepted === undefined || isExcepted === finding.isExcepted) &&
    (assignee === undefined || assignee === finding.assignee)
  );
}

/** No row is newer than the newest one shown. */
const NOTHING_NEW: Answer = pageAnswer('');

export function findingPages(deps: FindingPageDependencies): Route[] {
  const { findings, rules, look } = deps;
  const { titleOf } = rules;
  const listFilterOf = (query: z.infer<typeof stateQuery>, { email: me }: Viewer): FindingFilter =>
    filterOf(query, { ...findings, me });

  /** A page of the list, whichever way it is grouped. */
  const rowsOf = async (
    workspaceId: number,
    query: z.infer<typeof pageQuery>,
    filter: FindingFilter,
  ) => {
    const { cursor = null, group_by: grouping, sort } = query;
    if (grouping === undefined) {
      const found = await findings.list(workspaceId, filter, cursor, PER_PAGE, sort);
      return { ...found, groups: null };
    }
    const skip = groupsBefore(cursor);
    const found = await findings.groups(workspaceId, filter, grouping, sort, skip, PER_PAGE);
    const next = toGroupCursor(found.next);
    return { ...found, findings: [], next, endedEarly: false };
  };

  const rowsPage = async ({ exchange, request, viewer, nowMs }: View) => {
    const query = parsePageQuery(pageQuery, exchange.query);
    const filter = listFilterOf(query, viewer);
    const { next, ...rows } = await rowsOf(request.workspace.id, query, filter);
    return {
      ...rows,
      address: exchange.query,
      query: listQuery(exchange.query),
      next: toCursor(next),
      titleOf,
      nowMs,
    };
  };

  const list = async (view: View) => {
    const { id } = view.request.workspace;
    const views = await deps.findingViews.list(id, view.request.session.userId);
    const first = views.find(({ isDefault }) => isDefault);
    if (view.exchange.query === '' && first !== undefined) return redirect(viewPath(first.query));
    const filter = listFilterOf(parsePageQuery(pageQuery, view.exchange.query), view.viewer);
    // One after the other: a page must not hold three of the few connections for reads.
    const rows = await rowsPage(view);
    const total = await findings.count(id, filter);
    const excepted = { ...filter, isExcepted: true };
    const hidden = filter.isExcepted === false ? await findings.count(id, excepted) : null;
    const names = await findings.names(id);
    return findingsPage(look, view.viewer, { ...rows, total, hidden, names, views });
  };

  /** The list that a finding was opened from; null without one, and when its query does not belong to a list. */
  const openedFrom = (query: string | undefined, viewer: Viewer) => {
    if (query === undefined) return null;
    try {
      const own = parsePageQuery(pageQuery, query);
      if (own.group_by !== undefined) return null;
      return { query, order: own.sort ?? 'newest', filter: listFilterOf(own, viewer) };
    } catch (error) {
      if (error instanceof InvalidInput) return null;
      throw error;
    }
  };

  const one = async ({ exchange, request, viewer, parameters, nowMs }: View) => {
    const list = openedFrom(parsePageQuery(findingQuery, exchange.query).list, viewer);
    const id = parameters.findingId ?? '';
    const found = HEX_16.test(id) ? await findings.find(request.workspace.id, id) : null;
    if (found === null) throw new SluiceError('not_found', 'This workspace has no such finding.');
    const [run, triage, members, exceptions] = await Promise.all([
      deps.findRun(request.workspace.id, found.runId),
      deps.triage.read(request.workspace.id, id),
      deps.members.list(request.workspace.id),
      deps.exceptions.of(request.workspace.id, id),
    ]);
    const { id: workspaceId } = request.workspace;
    // Itself, those that are listed, and one more.
    const most = RUN_FINDINGS_MAX + 2;
    const ofRun = await findings.list(workspaceId, { runId: found.runId }, null, most, 'severity');
    const same = await findings.groups(workspaceId, { sameAs: id }, 'match', 'newest', 0, 1);
    const repeated = same.groups[0] ?? null;
    const decided =
      repeated === null || repeated.findings < 2
        ? null
        : await findings.list(workspaceId, { sameAs: id, states: DECIDED }, null, 2);
    const neighbours =
      list === null ? null : await findings.neighbours(workspaceId, list.filter, list.order, id);
    return findingPage(look, viewer, {
      finding: found,
      title: titleOf(found.ruleId),
      references: deps.rules.references.idsOf(found.ruleId),
      list:
        list === null || neighbours === null
          ? null
          : { ...neighbours, query: list.query, isListed: isListed(list.filter, found) },
      run,
      triage,
      members,
      exceptions,
      ofRun: ofRun.findings,
      repeated,
      decided: decided?.findings.find((one) => one.id !== id) ?? null,
      titleOf,
      nowMs,
    });
  };

  const slots = deps.exportSlots;
  const referencesOf = (ruleId: string) => findings.references.idsOf(ruleId);
  const asCsv = { exporter: findings, slots, titleOf, referencesOf, baseUrl: findings.baseUrl };
  const asOcsf = ocsfExport(findings, deps.ocsf, slots);
  const ocsfQuery = exportQuery.extend({ state });
  const file = (name: string) =>
    [
      ['content-disposition', `attachment; filename="${name}"`],
      ['cache-control', 'no-store'],
    ] as const;
  const page = pageRoutes(deps);
  return [
    page('/app/findings', {}, list, (query) => findingFilters(query, NO_NAMES)),
    page('/app/findings/rows', {}, async (view) => {
      const { newest } = parsePageQuery(pageQuery, view.exchange.query);
      const data = await rowsPage(view);
      const isSame = newest !== undefined && data.findings[0]?.id === newest;
      return isSame ? NOTHING_NEW : pageAnswer(findingRows(data).text);
    }),
    page('/app/findings.csv', {}, async ({ exchange, request, viewer }) => ({
      contentType: 'text/csv; charset=utf-8',
      headers: file('findings.csv'),
      chunks: csvOf(
        asCsv,
        request.workspace.id,
        listFilterOf(parsePageQuery(stateQuery, exchange.query), viewer),
        exchange.signal,
      ),
    })),
    page('/app/findings.ocsf', {}, async ({ exchange, request, viewer }) => {
      const query = parsePageQuery(ocsfQuery, exchange.query);
      const filter = listFilterOf(query, viewer);
      const exported = await asOcsf(request.workspace.id, filter, query.after, exchange.signal);
      return { ...exported, headers: file('findings.ocsf.ndjson') };
    }),
    page('/app/findings/{findingId}', {}, one),
  ];
}
