/** The dashboard's pages of runs, entities, logs and metrics, and tools, and the form that marks changes of tools as seen. */
import { z } from 'zod';
import { listFindings } from '../../db/findings/finding-list.ts';
import { findFinding } from '../../db/findings/findings.ts';
import { readEntity } from '../../db/runs/entities.ts';
import { listRuns, suggestRunNames } from '../../db/runs/runs.ts';
import { findTool, listTools } from '../../db/tools/tool-list.ts';
import { acknowledgeTool } from '../../db/tools/tool-writes.ts';
import { SluiceError } from '../../errors.ts';
import type { Finding } from '../../model/findings.ts';
import type { Hex16 } from '../../model/json.ts';
import {
  PHRASE_CHARS_MAX,
  RUN_STEPS_MAX,
  type ShownSteps,
  TEXT_UNITS_MAX,
  type TextView,
} from '../../model/run-page.ts';
import { type PageCursor, waitOf } from '../../model/runs.ts';
import type { EntityRef } from '../../model/shown/entities.ts';
import { entitiesPage, entityPage, type SessionTurn } from '../../web/app/entities/entity.ts';
import { runPage } from '../../web/app/run.ts';
import { runFilters, runsPage } from '../../web/app/runs.ts';
import { NO_RUN_NAMES } from '../../web/app/shell.ts';
import { logFilters, logsPage } from '../../web/app/telemetry/logs.ts';
import { metricPage, metricsPage } from '../../web/app/telemetry/metrics.ts';
import { TOOLS_PATH, toolPage, toolsPage } from '../../web/app/tools/tools.ts';
import { entityQuery, rangeOfDays } from '../api/entities/entity-routes.ts';
import {
  otlpQuery,
  runFilterOf,
  runsInOrder,
  runsQuery,
  searchCursor,
  searchedText,
} from '../api/runs/run-routes.ts';
import { logFilterOf, logsQuery, toLogCursor } from '../api/telemetry/log-routes.ts';
import { rangeOf, seriesQuery } from '../api/telemetry/metric-routes.ts';
import { toolsQuery } from '../api/tools/tool-routes.ts';
import { attachment } from '../transport/answers.ts';
import { NDJSON_TYPE } from '../transport/exchange.ts';
import {
  HEX_16,
  hexId,
  InvalidInput,
  idOf,
  parsePageQuery,
  readForm,
  skippedBy,
  toCursor,
  toSkipCursor,
  wholeNumber,
} from '../transport/input.ts';
import type { Route } from '../transport/router.ts';
import {
  type AppDependencies,
  formRoutes,
  pageRoutes,
  type View,
  WITH_QUERY,
} from './dashboard.ts';

const PER_PAGE = 50;
/** A run has at most one finding per rule. */
const FINDINGS_MAX = 500;
/** A page of a search ends with the block of runs that reaches so many. */
const SEARCH_LIMIT = 20;
const DONE_CHARS_MAX = 40;

const numberUpTo = (max: number, min = 0) => z.coerce.number().int().min(min).max(max).optional();
/** The part of a run that the page shows; `finding` counts before `step`, and `step` before `page`. */
const stepsQuery = z.object({
  page: wholeNumber(1, RUN_STEPS_MAX, 1),
  step: numberUpTo(RUN_STEPS_MAX, 1),
  text: numberUpTo(TEXT_UNITS_MAX),
  finding: hexId.optional(),
  from: numberUpTo(TEXT_UNITS_MAX),
  to: numberUpTo(TEXT_UNITS_MAX),
  at: numberUpTo(TEXT_UNITS_MAX),
  q: z.string().trim().max(PHRASE_CHARS_MAX).optional(),
  after: wholeNumber(0, RUN_STEPS_MAX, 0),
  view: z.enum(['timeline', 'texts']).default('timeline'),
  /** the changes that the form of its findings made */
  done: z.string().max(DONE_CHARS_MAX).optional(),
});

/** Of the list, and of a search by text, which has cursors of another form. */
const listQuery = runsQuery.extend({
  text: searchedText.optional(),
  cursor: z.union([searchCursor, runsQuery.shape.cursor]),
});

function notSorted(): InvalidInput {
  const message = 'is not for a search by text, which shows the newest runs first';
  return new InvalidInput('bad_query', [{ path: 'sort', message }]);
}

function openedText(
  { step, text, from, to, at, q }: z.infer<typeof stepsQuery>,
  finding: Finding | null,
): TextView | null {
  const part = { from: from ?? null, to: to ?? null, at: at ?? null, query: q ?? null };
  if (finding !== null) return { findingId: finding.id, step: 0, text: 0, ...part };
  if (step === undefined || text === undefined) return null;
  return { findingId: null, step, text, ...part };
}

/** The parts of steps that a workspace that redacts can see. */
function withoutTexts(shown: ShownSteps): ShownSteps {
  const steps = shown.steps.map((step) => ({
    ...step,
    ...{ texts: [], open: null, details: null, snippet: null, earlier: 0, textsLeftOut: 0 },
  }));
  return { ...shown, steps, title: null };
}

export function runPages(deps: AppDependencies): Route[] {
  const { db, runs, rules, look } = deps;
  const { titleOf } = rules;
  const page = pageRoutes(deps);

  /** The finding that a query opens, which may be one more than are listed. */
  const opened = async (workspaceId: number, runId: Hex16, id: Hex16, own: readonly Finding[]) => {
    const found = own.find((one) => one.id === id) ?? (await db.find(findFinding, workspaceId, id));
    if (found?.runId === runId) return found;
    throw new SluiceError('not_found', 'This run has no such finding.');
  };

  const one = async ({ exchange, request, viewer, parameters, nowMs }: View) => {
    const query = parsePageQuery(stepsQuery, exchange.query);
    const { id, redactExcerpts: isRedacted } = request.workspace;
    const runId = parameters.runId ?? '';
    const isId = HEX_16.test(runId);
    const own = isId
      ? (await db.read(listFindings, id, { runId }, null, FINDINGS_MAX)).findings
      : [];
    const finding =
      query.finding === undefined || !isId ? null : await opened(id, runId, query.finding, own);
    const open = openedText(query, finding);
    const isList = query.view === 'texts' && query.step === undefined && finding === null;
    const phrase = open === null && !isRedacted && isId ? query.q : undefined;
    const view = {
      page: query.page,
      step: query.step ?? null,
      finding,
      findings: own,
      open,
      isList,
    };
    const [found, search] = await Promise.all([
      isId ? runs.findSteps(id, runId, view) : null,
      phrase === undefined ? null : runs.searchSteps(id, runId, phrase, query.after + 1),
    ]);
    if (found === null) throw new SluiceError('not_found', 'This workspace has no such run.');
    const { run, shown } = found;
    return runPage(look, viewer, {
      run,
      wait: waitOf(run, runs.times),
      shown: isRedacted ? withoutTexts(shown) : shown,
      isList,
      open,
      finding,
      search,
      findings: own,
      titleOf,
      query: exchange.query,
      isRedacted,
      nowMs,
    });
  };

  return [
    page(
      '/app/runs',
      WITH_QUERY,
      async ({ exchange, request, viewer, nowMs }) => {
        const { text, cursor, sort, ...query } = parsePageQuery(listQuery, exchange.query);
        const { id, redactExcerpts: isRedacted } = request.workspace;
        const names = await db.read(suggestRunNames, id);
        const shared = { names, query: exchange.query, isRedacted, nowMs };
        if (text !== undefined) {
          if (sort !== 'newest') throw notSorted();
          const filter = runFilterOf(query, nowMs);
          const from = typeof cursor === 'string' ? cursor : null;
          const given = { text, filter, cursor: from, limit: SEARCH_LIMIT };
          const search = await runs.search(id, given, exchange.signal);
          const { runs: found, next } = search;
          return runsPage(look, viewer, {
            ...shared,
            runs: found,
            next,
            endedEarly: false,
            searchedTo: null,
            search,
          });
        }
        const from = typeof cursor === 'object' ? cursor : undefined;
        const reader = { workspaceId: id, signal: exchange.signal };
        const wanted = { ...query, sort, cursor: from, limit: PER_PAGE };
        const found = await runsInOrder(db, reader, wanted, nowMs);
        return runsPage(look, viewer, {
          ...shared,
          runs: found.runs,
          searchedTo: found.searchedTo,
          next: toCursor(found.next),
          endedEarly: found.next !== null && found.runs.length < PER_PAGE,
          search: null,
        });
      },
      (query) => runFilters(query, NO_RUN_NAMES),
    ),
    page('/app/runs/{runId}', WITH_QUERY, one),
    page('/app/runs/{runId}/otlp.jsonl', WITH_QUERY, async ({ exchange, request, parameters }) => {
      const { signal } = parsePageQuery(otlpQuery, exchange.query);
      const runId = idOf(parameters.runId);
      if (runId === null) throw new SluiceError('not_found', 'This workspace has no such run.');
      return {
        contentType: NDJSON_TYPE,
        headers: attachment(`run-${runId.slice(0, 8)}-${signal}.jsonl`),
        chunks: await runs.exportOtlp(request.workspace.id, runId, signal),
      };
    }),
  ];
}

/** Runs of a session on one page, the newest first. */
const CONVERSATION_RUNS = 20;

const { kind, name, days } = entityQuery.shape;
const pageQuery = z.object({
  kind: kind.optional(),
  name: name.optional(),
  days,
  /** of the runs of a session */
  cursor: runsQuery.shape.cursor,
});

interface RangeOfRuns {
  readonly since: Date;
  readonly until: Date;
  readonly cursor: PageCursor | null;
}

/** The runs of a session, each as a turn; without texts where the workspace redacts. */
async function readConversation(
  { db, runs }: AppDependencies,
  { exchange, request: { workspace } }: View,
  sessionId: string,
  { cursor, ...range }: RangeOfRuns,
) {
  const reader = { workspaceId: workspace.id, signal: exchange.signal };
  const filter = { sessionId, ...range };
  const page = await db.read(listRuns, reader, filter, cursor, CONVERSATION_RUNS);
  const turns: SessionTurn[] = [];
  for (const run of page.runs.filter((one) => one.sessionId === sessionId).reverse()) {
    const turn = workspace.redactExcerpts ? null : await runs.findTurn(workspace.id, run.runId);
    turns.push(turn ?? { run, said: null, answered: null, isWhole: true, tools: [] });
  }
  return { turns, earlier: toCursor(page.next) };
}

export function entityPages(deps: AppDependencies): Route[] {
  const { db, look, rules } = deps;
  const show = async (view: View) => {
    const { exchange, request, viewer, nowMs } = view;
    const { kind, name, days, cursor } = parsePageQuery(pageQuery, exchange.query);
    const { id, redactExcerpts: isRedacted } = request.workspace;
    const { since, until } = rangeOfDays(days, nowMs);
    const reader = { workspaceId: id, signal: exchange.signal };
    const read = (entity: EntityRef | null) => db.read(readEntity, reader, entity, since, until);
    if (kind === undefined && name === undefined) {
      return entitiesPage(look, viewer, { facts: await read(null), days, nowMs });
    }
    if (kind === undefined || name === undefined) {
      const path = kind === undefined ? 'kind' : 'name';
      throw new InvalidInput('bad_query', [{ path, message: 'is needed, too' }]);
    }
    const entity = { kind, name };
    const facts = await read(entity);
    const conversation =
      kind === 'session'
        ? await readConversation(deps, view, name, { since, until, cursor: cursor ?? null })
        : null;
    return entityPage(look, viewer, {
      entity,
      facts,
      days,
      conversation,
      isRedacted,
      titleOf: rules.titleOf,
      nowMs,
    });
  };
  return [pageRoutes(deps)('/app/entities', WITH_QUERY, show)];
}

const metricQuery = seriesQuery.extend({ name: seriesQuery.shape.name.optional() });

export function telemetryPages(deps: AppDependencies): Route[] {
  const { runs, look } = deps;
  const page = pageRoutes(deps);
  return [
    page(
      '/app/logs',
      WITH_QUERY,
      async ({ exchange, request, viewer, nowMs }) => {
        const query = parsePageQuery(logsQuery, exchange.query);
        const { id, redactExcerpts: isRedacted } = request.workspace;
        const { cursor = null, limit } = query;
        const filter = logFilterOf(query, nowMs);
        const list = await runs.logs(id, filter, cursor, limit, exchange.signal);
        const next = toLogCursor(list.next);
        return logsPage(look, viewer, { ...list, next, query: exchange.query, isRedacted });
      },
      logFilters,
    ),
    page('/app/metrics', WITH_QUERY, async ({ exchange, request, viewer, nowMs }) => {
      const { name, by = null, ...query } = parsePageQuery(metricQuery, exchange.query);
      const { id } = request.workspace;
      const { hours } = query;
      const range = rangeOf(query, nowMs);
      if (name === undefined) {
        const list = await runs.metrics.list(id, range, exchange.signal);
        return metricsPage(look, viewer, { list, hours, nowMs });
      }
      const chart = await runs.metrics.chart(id, { name, by }, range, exchange.signal);
      return metricPage(look, viewer, { name, chart, hours, nowMs });
    }),
  ];
}

const VERSION_MAX = 2_147_483_647;
const toolsPageQuery = toolsQuery.omit({ limit: true });
const seenForm = z.object({ version: z.coerce.number().int().min(1).max(VERSION_MAX) });

const noTool = () => new SluiceError('not_found', 'This workspace has no such tool.');

export function toolPages(deps: AppDependencies): Route[] {
  const { db, look, rules } = deps;
  const page = pageRoutes(deps);
  return [
    page(TOOLS_PATH, WITH_QUERY, async ({ exchange, request, viewer, nowMs }) => {
      const query = parsePageQuery(toolsPageQuery, exchange.query);
      const { cursor = null, mcp_server: server, agent, name, changed } = query;
      const reader = { workspaceId: request.workspace.id, signal: exchange.signal };
      const filter = { agent, server, name, changed };
      const listed = await db.readFresh(listTools, reader, filter, skippedBy(cursor), PER_PAGE);
      const next = toCursor(toSkipCursor(listed.next));
      return toolsPage(look, viewer, { ...listed, next, query: exchange.query, nowMs });
    }),
    page(`${TOOLS_PATH}/{toolId}`, {}, async ({ request, viewer, parameters, nowMs }) => {
      const id = idOf(parameters.toolId);
      const found = id === null ? null : await db.readFresh(findTool, request.workspace.id, id);
      if (found === null) throw noTool();
      const description = found.versions[0]?.description ?? '';
      const matching = rules.describedBy(description);
      return toolPage(look, viewer, { ...found, matching, nowMs });
    }),
    formRoutes(deps)(
      `${TOOLS_PATH}/{toolId}/seen`,
      {},
      async ({ exchange, request, parameters }) => {
        const id = idOf(parameters.toolId);
        if (id === null) throw noTool();
        const { version } = await readForm(exchange, seenForm);
        const { workspace, actor } = request;
        const marked = await db.write(acknowledgeTool, workspace.id, id, version, actor);
        if (marked === 0 && (await db.readFresh(findTool, workspace.id, id)) === null)
          throw noTool();
        return `${TOOLS_PATH}?changed=true`;
      },
    ),
  ];
}
