/** The dashboard's pages of findings and incidents, the export of findings as files, and saved views. */
import { z } from 'zod';
import { exceptionsFor } from '../../db/findings/exceptions.ts';
import { listFindingGroups } from '../../db/findings/finding-groups.ts';
import { findNeighbours, listFindings } from '../../db/findings/finding-list.ts';
import { countFindings, suggestNames } from '../../db/findings/finding-totals.ts';
import {
  deleteFindingView,
  listFindingViews,
  saveFindingView,
  setDefaultFindingView,
} from '../../db/findings/finding-views.ts';
import { findFinding } from '../../db/findings/findings.ts';
import { listIncidents } from '../../db/findings/incidents.ts';
import { readTriage } from '../../db/findings/triage.ts';
import { listMembers } from '../../db/people/memberships.ts';
import { findRun } from '../../db/runs/runs.ts';
import { listTools } from '../../db/tools/tool-list.ts';
import { SluiceError } from '../../errors.ts';
import { type Finding, type FindingFilter, VIEW_QUERY_CHARS_MAX } from '../../model/findings.ts';
import { FINDING_STATES, LIST_STATES } from '../../model/triage.ts';
import { findingPage, RUN_FINDINGS_MAX } from '../../web/app/finding.ts';
import {
  FINDINGS_PATH,
  findingFilters,
  INCIDENTS_PATH,
  isNarrow,
  listQuery,
  NO_NAMES,
  viewPath,
} from '../../web/app/findings/finding-filters.ts';
import { incidentsPage } from '../../web/app/findings/incidents.ts';
import { findingRows, findingsPage } from '../../web/app/findings.ts';
import type { Viewer } from '../../web/app/shell.ts';
import { evidencePackage, subjectOf } from '../api/evidence/evidence-routes.ts';
import { csvOf, ocsfExport, ocsfQuery as ocsfFilterQuery } from '../api/findings/finding-export.ts';
import { filterOf, filterQuery } from '../api/findings/finding-query.ts';
import { findingsInOrder, findingsQuery } from '../api/findings/finding-routes.ts';
import { attachment, pageAnswer, redirect } from '../transport/answers.ts';
import type { Answer } from '../transport/exchange.ts';
import {
  flag,
  HEX_16,
  InvalidInput,
  pageCursor,
  parsePageQuery,
  readForm,
  skippedBy,
  toCursor,
  toSkipCursor,
} from '../transport/input.ts';
import type { Route } from '../transport/router.ts';
import {
  type AppDependencies,
  formRoutes,
  pageRoutes,
  type View,
  WITH_QUERY,
} from './dashboard.ts';
import { name, requireId } from './sign-in/person-fields.ts';

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

function evidenceFile(deps: AppDependencies) {
  return ({ exchange, request: { workspace, actor }, parameters }: View) => {
    const reader = { actor, isKey: false };
    return evidencePackage(deps, exchange, workspace.id, subjectOf(parameters), reader);
  };
}

/** Checks whether a finding is still in its list, and returns the decisions made since. */
function isListed({ states, isExcepted, assignee }: FindingFilter, finding: Finding): boolean {
  return (
    (states === undefined || states.includes(finding.state)) &&
    (isExcepted === undefined || isExcepted === finding.isExcepted) &&
    (assignee === undefined || assignee === finding.assignee)
  );
}

/** Counts the findings of a list that exceptions hide; null for a list that shows them. */
async function hiddenBy(db: AppDependencies['db'], workspaceId: number, filter: FindingFilter) {
  if (filter.isExcepted !== false) return null;
  return await db.read(countFindings, workspaceId, { ...filter, isExcepted: true });
}

/** No row is newer than the newest one shown. */
const NOTHING_NEW: Answer = pageAnswer('');

export function findingPages(deps: AppDependencies): Route[] {
  const { db, rules, look } = deps;
  const { titleOf } = rules;
  const listFilterOf = (query: z.infer<typeof stateQuery>, { email: me }: Viewer): FindingFilter =>
    filterOf(query, deps, me);

  const rowsPage = async ({ exchange, request, viewer, nowMs }: View) => {
    const query = parsePageQuery(pageQuery, exchange.query);
    const filter = listFilterOf(query, viewer);
    const { next, ...rows } = await findingsInOrder(
      db,
      request.workspace.id,
      query,
      filter,
      PER_PAGE,
    );
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
    const views = await db.readFresh(listFindingViews, id, view.request.session.userId);
    const first = views.find(({ isDefault }) => isDefault);
    if (view.exchange.query === '' && first !== undefined) return redirect(viewPath(first.query));
    const filter = listFilterOf(parsePageQuery(pageQuery, view.exchange.query), view.viewer);
    // One after the other: a page must not hold three of the few connections for reads.
    const rows = await rowsPage(view);
    const total = await db.read(countFindings, id, filter);
    const hidden = await hiddenBy(db, id, filter);
    const names = await db.read(suggestNames, id);
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
    const { id: workspaceId } = request.workspace;
    const found = HEX_16.test(id) ? await db.find(findFinding, workspaceId, id) : null;
    if (found === null) throw new SluiceError('not_found', 'This workspace has no such finding.');
    const [run, triage, members, exceptions] = await Promise.all([
      db.find(findRun, workspaceId, found.runId),
      db.read(readTriage, workspaceId, id),
      db.readFresh(listMembers, workspaceId),
      db.readFresh(exceptionsFor, workspaceId, id),
    ]);
    // Itself, those that are listed, and one more.
    const most = RUN_FINDINGS_MAX + 2;
    const { runId } = found;
    const ofRun = await db.read(listFindings, workspaceId, { runId }, null, most, 'severity');
    const like = { sameAs: id };
    const same = await db.read(listFindingGroups, workspaceId, like, 'match', 'newest', 0, 1);
    const repeated = same.groups[0] ?? null;
    const decided =
      repeated === null || repeated.findings < 2
        ? null
        : await db.read(listFindings, workspaceId, { ...like, states: DECIDED }, null, 2);
    const neighbours =
      list === null
        ? null
        : await db.read(findNeighbours, workspaceId, list.filter, list.order, id);
    return findingPage(look, viewer, {
      finding: found,
      title: titleOf(found.ruleId),
      references: deps.rules.references.idsOf(found.ruleId),
      list:
        list === null || neighbours === null
          ? null
          : { ...neighbours, query: list.query, isListed: isListed(list.filter, found) },
      run: run?.run ?? null,
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
  const asOcsf = ocsfExport(db, deps.ocsf, slots);
  const ocsfQuery = ocsfFilterQuery.extend({ state });
  const page = pageRoutes(deps);
  return [
    page('/app/findings', WITH_QUERY, list, (query) => findingFilters(query, NO_NAMES)),
    page('/app/findings/rows', WITH_QUERY, async (view) => {
      const { newest } = parsePageQuery(pageQuery, view.exchange.query);
      const data = await rowsPage(view);
      const isSame = newest !== undefined && data.findings[0]?.id === newest;
      return isSame ? NOTHING_NEW : pageAnswer(findingRows(data).text);
    }),
    page('/app/findings.csv', WITH_QUERY, async ({ exchange, request, viewer }) => {
      const filter = listFilterOf(parsePageQuery(stateQuery, exchange.query), viewer);
      const reader = { workspaceId: request.workspace.id, signal: exchange.signal };
      return {
        contentType: 'text/csv; charset=utf-8',
        headers: attachment('findings.csv'),
        chunks: csvOf(deps, slots, reader, filter),
      };
    }),
    page('/app/findings.ocsf', WITH_QUERY, async ({ exchange, request, viewer }) => {
      const { version, ...query } = parsePageQuery(ocsfQuery, exchange.query);
      const filter = listFilterOf(query, viewer);
      const reader = { workspaceId: request.workspace.id, signal: exchange.signal };
      const exported = await asOcsf(reader, filter, query.after, version);
      return { ...exported, headers: attachment('findings.ocsf.ndjson') };
    }),
    page('/app/findings/{findingId}', WITH_QUERY, one),
    page('/app/findings/{findingId}/evidence.tar', {}, evidenceFile(deps)),
  ];
}

const VIEWS = `${FINDINGS_PATH}/views`;
const box = z.literal('on').optional();
/** Which part of the list a person sees is not part of a view. */
const PASSING = ['cursor', 'newest', 'workspace', 'done'];

const viewForm = z.object({
  name,
  query: z
    .string()
    .max(VIEW_QUERY_CHARS_MAX)
    .transform((text) => {
      const query = new URLSearchParams(text);
      for (const [key, value] of [...query]) {
        if (value === '' || PASSING.includes(key)) query.delete(key);
      }
      return query.toString();
    }),
  shared: box,
  default: box,
});

export function viewRoutes(deps: AppDependencies): Route[] {
  const { db } = deps;
  const form = formRoutes(deps);
  return [
    form(VIEWS, {}, async ({ exchange, request: { workspace, actor } }) => {
      const { shared, default: first, ...sent } = await readForm(exchange, viewForm);
      const view = { ...sent, isShared: shared === 'on', isDefault: first === 'on' };
      await db.write(saveFindingView, workspace.id, view, actor);
      return viewPath(sent.query);
    }),
    form(`${VIEWS}/{viewId}/default`, {}, async ({ exchange, request, parameters }) => {
      const sent = await readForm(exchange, z.object({ default: flag }));
      const id = requireId(parameters.viewId);
      const { workspace, actor } = request;
      await db.write(setDefaultFindingView, workspace.id, id, sent.default, actor);
      return viewPath('');
    }),
    form(`${VIEWS}/{viewId}/delete`, {}, async ({ request, parameters }) => {
      const id = requireId(parameters.viewId);
      await db.write(deleteFindingView, request.workspace.id, id, request.actor);
      return viewPath('');
    }),
  ];
}

const INCIDENTS_PER_PAGE = 25;
/** Changed tools above the incidents. */
const CHANGES_SHOWN = 5;
const incidentsPageQuery = stateQuery.extend({ cursor: pageCursor.optional() });

export function incidentPages(deps: AppDependencies): Route[] {
  const { db, look } = deps;
  const list = async ({ exchange, request, viewer, nowMs }: View) => {
    const { id } = request.workspace;
    if (exchange.query === '') {
      // A reader with a default view of the findings begins with it.
      const views = await db.readFresh(listFindingViews, id, request.session.userId);
      const first = views.find(({ isDefault }) => isDefault);
      if (first !== undefined) return redirect(viewPath(first.query));
    }
    const query = parsePageQuery(incidentsPageQuery, exchange.query);
    const filter = filterOf(query, deps, viewer.email);
    const skip = skippedBy(query.cursor ?? null);
    // One after the other: a page must not hold several of the few connections for reads.
    const reader = { workspaceId: id, signal: exchange.signal };
    const found = await db.read(listIncidents, reader, filter, skip, INCIDENTS_PER_PAGE);
    const hidden = await hiddenBy(db, id, filter);
    const isWhole = !isNarrow(exchange.query) && skip === 0;
    const changes = isWhole
      ? await db.readFresh(listTools, reader, { changed: true }, 0, CHANGES_SHOWN)
      : { tools: [], next: null };
    return incidentsPage(look, viewer, {
      ...found,
      hidden,
      next: toCursor(toSkipCursor(found.next)),
      query: exchange.query,
      names: await db.read(suggestNames, id),
      titleOf: deps.rules.titleOf,
      changes,
      nowMs,
    });
  };
  const page = pageRoutes(deps);
  return [
    page('/app/incidents', WITH_QUERY, list, (query) =>
      findingFilters(query, NO_NAMES, INCIDENTS_PATH),
    ),
    page('/app/incidents/{runId}/evidence.tar', {}, evidenceFile(deps)),
  ];
}
