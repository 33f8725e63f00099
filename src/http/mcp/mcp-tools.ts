/**
 * The tools of `/mcp`: reads of one workspace, as the read API shows it, in small pages. Names and texts of
 * runs, and everything else that is read, are data: `mcp-routes.ts` puts them into a marked part.
 */
import { z } from 'zod';
import { readRuleRecords } from '../../db/findings/rule-record.ts';
import { readRuleSettings } from '../../db/findings/rule-settings.ts';
import { redactsExcerpts } from '../../db/people/workspaces.ts';
import { SluiceError } from '../../errors.ts';
import type { JsonValue } from '../../model/json.ts';
import { entriesOf, frameworkCoverage } from '../../model/references/coverage.ts';
import {
  FOUND_TEXTS_MAX,
  PHRASE_CHARS_MAX,
  RUN_STEPS_MAX,
  type StepsView,
  TEXT_UNITS_MAX,
} from '../../model/run-page.ts';
import type { ApiContext, AuthorizedHandler } from '../api/authorized.ts';
import { findingsQuery, listFindings, showFinding } from '../api/findings/finding-routes.ts';
import { incidentsQuery, listIncidents } from '../api/findings/incident-routes.ts';
import { listRules, rulesQuery, showRule, toRuleSettings } from '../api/rules/rule-routes.ts';
import { listRuns, runsQuery, searchQuery, searchRuns } from '../api/runs/run-routes.ts';
import { toRunItem, toRunStep } from '../api/runs/run-schema.ts';
import { hexId, parseQuery, wholeNumber } from '../transport/input.ts';
import { cutEscaped } from './untrusted-content.ts';

/** Longest name or text of a list, as it is escaped. */
const NAME_CHARS_MAX = 300;
/** Longest text of a rule or a finding that is read by itself. */
const RECORD_CHARS_MAX = 2000;
/** Longest part of a step's text that one call reads. */
const TEXT_CHARS_MAX = 8000;
/** Longest beginning of each text when a step is read whole. */
const TEXT_BEGINNING_CHARS_MAX = 600;
const LIMIT_DEFAULT = 10;
const LIMIT_MAX = 20;
/** An incident has up to a dozen matches. */
const INCIDENTS_MAX = 10;
const INCIDENTS_DEFAULT = 5;
const TEXTS_MAX = 100_000;

export interface McpCaller {
  readonly workspaceId: number;
  readonly signal: AbortSignal;
}

export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly query: z.ZodObject;
  /** longest text in an answer, as it is escaped */
  readonly charsMax: number;
  /** @param query arguments as a query string, not checked yet */
  readonly read: (caller: McpCaller, query: string) => Promise<JsonValue>;
}

const limit = wholeNumber(1, LIMIT_MAX, LIMIT_DEFAULT);
const runId = hexId.describe('Id of a run.');

async function bodyOf(
  handler: AuthorizedHandler,
  { workspaceId, signal }: McpCaller,
  query: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<JsonValue> {
  const { body } = await handler({ query, signal }, { workspaceId }, parameters);
  return JSON.parse(String(body)) as JsonValue;
}

/** A list of the read API, with some of its parameters and a smaller page. */
function list(
  tool: Omit<McpTool, 'read' | 'charsMax'>,
  size: 'limit' | 'per_page',
  handler: AuthorizedHandler,
): McpTool {
  return {
    ...tool,
    charsMax: NAME_CHARS_MAX,
    read: async (caller, query) => {
      const given = new URLSearchParams(query);
      given.set(size, String(parseQuery(tool.query, query)[size]));
      return await bodyOf(handler, caller, given.toString());
    },
  };
}

const FINDING_FILTERS = {
  severity: true,
  category: true,
  rule_id: true,
  run_id: true,
  agent: true,
  service: true,
  user_id: true,
  session_id: true,
  surface: true,
  q: true,
  state: true,
  since: true,
  until: true,
  cursor: true,
} as const;

function findingTools(context: ApiContext): McpTool[] {
  const one = z.object({ finding_id: hexId.describe('Id of a finding.') });
  const show = showFinding(context);
  return [
    list(
      {
        name: 'search_findings',
        title: 'Search findings',
        description:
          'Findings of threat rules in agent runs, newest first. A finding is advisory: nothing was blocked. ' +
          'Send next_cursor as cursor, with the same filters, for the next page.',
        query: findingsQuery
          .pick({ ...FINDING_FILTERS, sort: true, group_by: true })
          .extend({ limit }),
      },
      'limit',
      listFindings(context),
    ),
    list(
      {
        name: 'list_incidents',
        title: 'List incidents',
        description:
          'Runs and sessions with findings, those that deserve a look first on top: the chain of matches in step order, ' +
          'and the reasons of the rank. Without state, those with open findings.',
        query: incidentsQuery
          .pick(FINDING_FILTERS)
          .extend({ limit: wholeNumber(1, INCIDENTS_MAX, INCIDENTS_DEFAULT) }),
      },
      'limit',
      listIncidents(context),
    ),
    {
      name: 'get_finding',
      title: 'Read a finding',
      description: 'One finding: rule, step, excerpt, triage state, recommended actions.',
      query: one,
      charsMax: RECORD_CHARS_MAX,
      read: (caller, query) =>
        bodyOf(show, caller, '', { findingId: parseQuery(one, query).finding_id }),
    },
  ];
}

/** View of the steps of a page, with nothing open. */
const VIEW = { page: 1, step: null, finding: null, findings: [], open: null, isList: false };

const noRun = () => new SluiceError('not_found', 'This workspace has no such run.');

function outlineTool({ runs }: ApiContext): McpTool {
  const query = z.object({
    run_id: runId,
    page: wholeNumber(1, RUN_STEPS_MAX, 1).describe('Page of 50 steps.'),
  });
  return {
    name: 'get_run',
    title: 'Read a run',
    description:
      'One run: state, what was checked, and 50 of its steps with kinds and sizes of their texts. ' +
      'read_step reads the texts.',
    query,
    charsMax: NAME_CHARS_MAX,
    read: async ({ workspaceId }, given) => {
      const { run_id: id, page } = parseQuery(query, given);
      const found = await runs.findSteps(workspaceId, id, { ...VIEW, page, isList: true });
      if (found === null) throw noRun();
      const { steps, count, pageSteps } = found.shown;
      return {
        run: { ...toRunItem(found.run, runs.times) },
        page,
        pages: Math.max(1, Math.ceil(count / pageSteps)),
        steps: steps.map(({ number, depth, outline }) => ({
          number,
          depth,
          ...toRunStep(outline),
        })),
      } as unknown as JsonValue;
    },
  };
}

function stepTool({ db, runs }: ApiContext): McpTool {
  const query = z.object({
    run_id: runId,
    step: wholeNumber(1, RUN_STEPS_MAX, 1).describe('Number of the step.'),
    text: wholeNumber(0, TEXTS_MAX, 0)
      .unwrap()
      .optional()
      .describe('Index of a text of the step, to read a part of it; without, all texts begin.'),
    from: wholeNumber(0, TEXT_UNITS_MAX, 0).describe('Where the part begins: 0, or next_from.'),
  });
  return {
    name: 'read_step',
    title: 'Read the texts of a step',
    description:
      'The texts of one step of a run: the beginning of each, or a part of the one that text names. ' +
      'Send next_from as from for the next part.',
    query,
    charsMax: TEXT_CHARS_MAX,
    read: async ({ workspaceId }, given) => {
      const { run_id: id, step: number, text, from } = parseQuery(query, given);
      if (await db.readFresh(redactsExcerpts, workspaceId)) throw redacted();
      const part = { from, to: from + TEXT_CHARS_MAX, at: null, query: null };
      const open = text === undefined ? null : { findingId: null, step: number, text, ...part };
      const view: StepsView = { ...VIEW, step: number, open };
      const found = await runs.findSteps(workspaceId, id, view);
      const step = found?.shown.steps.find((one) => one.number === number);
      if (step === undefined) throw found === null ? noRun() : noStep();
      const shown = step.texts.filter(({ index }) => text === undefined || index === text);
      if (text !== undefined && shown.length === 0) throw noStep();
      const charsMax = text === undefined ? TEXT_BEGINNING_CHARS_MAX : TEXT_CHARS_MAX;
      return {
        step: { number, ...toRunStep(step.outline) },
        texts: shown.map((one) => {
          const kept = cutEscaped(one.text, charsMax);
          const end = one.start + kept.length;
          const { index, surface, length, start } = one;
          const next = end < length ? { next_from: end } : {};
          return { index, surface, length, from: start, text: kept, ...next };
        }),
      } as unknown as JsonValue;
    },
  };
}

const noStep = () => new SluiceError('not_found', 'This run has no such step or text.');
const redacted = () =>
  new SluiceError('conflict', 'This workspace redacts excerpts: texts of runs are not shown.');

function searchTool({ db, runs }: ApiContext): McpTool {
  const query = z.object({
    run_id: runId,
    phrase: z.string().min(1).max(PHRASE_CHARS_MAX).describe('Text to find, in any case.'),
    after: wholeNumber(0, RUN_STEPS_MAX, 0).describe('Search after this step: 0, or next_after.'),
  });
  return {
    name: 'search_run',
    title: 'Search in a run',
    description: `Places of a phrase in the texts of a run, up to ${FOUND_TEXTS_MAX} at a time.`,
    query,
    charsMax: NAME_CHARS_MAX,
    read: async ({ workspaceId }, given) => {
      const { run_id: id, phrase, after } = parseQuery(query, given);
      if (await db.readFresh(redactsExcerpts, workspaceId)) throw redacted();
      const found = await runs.searchSteps(workspaceId, id, phrase, after + 1);
      if (found === null) throw noRun();
      const next = found.next === null ? {} : { next_after: found.next - 1 };
      const hits = found.hits.map((hit) => ({ ...hit }));
      return { hits, steps_searched_in_part: found.cut, ...next };
    },
  };
}

const RUN_FILTERS = {
  state: true,
  evaluation: true,
  service: true,
  agent: true,
  session_id: true,
  user_id: true,
  checked: true,
  has_findings: true,
  since: true,
  until: true,
  cursor: true,
} as const;

function runTools(context: ApiContext): McpTool[] {
  return [
    list(
      {
        name: 'list_runs',
        title: 'List runs',
        description:
          'Agent runs, newest first, with their state and what of them was checked. ' +
          'Send next_cursor as cursor for the next page.',
        query: runsQuery.pick(RUN_FILTERS).extend({ limit }),
      },
      'limit',
      listRuns(context),
    ),
    list(
      {
        name: 'search_runs',
        title: 'Search runs by a text',
        description:
          'Runs with a text in their steps, newest first: a domain, a file, a phrase. A call searches a part of the ' +
          'time range; while there is a next_cursor, send it as cursor, also after a page without runs.',
        query: searchQuery.pick({ ...RUN_FILTERS, text: true }).extend({ limit }),
      },
      'limit',
      searchRuns(context),
    ),
    outlineTool(context),
    stepTool(context),
    searchTool(context),
  ];
}

const FRAMEWORKS = ['owasp_llm', 'owasp_agentic', 'mitre_atlas', 'mitre_attack'] as const;

function ruleTools(context: ApiContext): McpTool[] {
  const { db, rules } = context;
  const one = z.object({
    rule_id: z
      .string()
      .regex(/^ATR-\d{4}-\d{5}$/)
      .describe('As ATR-2026-00001.'),
  });
  const coverage = z.object({
    framework: z.enum(FRAMEWORKS).default('owasp_llm').describe('List whose entries are counted.'),
  });
  const show = showRule(context);
  return [
    list(
      {
        name: 'list_rules',
        title: 'List rules',
        description: 'Threat rules of the pinned corpus, and which of them run in this workspace.',
        query: rulesQuery
          .pick({
            status: true,
            support: true,
            category: true,
            enabled: true,
            reference: true,
            q: true,
            page: true,
          })
          .extend({ per_page: limit }),
      },
      'per_page',
      listRules(context),
    ),
    {
      name: 'get_rule',
      title: 'Read a rule',
      description: 'One rule in full: conditions, references, false positives, support.',
      query: one,
      charsMax: RECORD_CHARS_MAX,
      read: (caller, query) => bodyOf(show, caller, '', { ruleId: parseQuery(one, query).rule_id }),
    },
    {
      name: 'get_coverage',
      title: 'Coverage of a framework',
      description:
        'For each entry of an OWASP or MITRE list: rules that refer to it, those that are on, and their ' +
        'findings of the last 30 days. Also how many rules run in this workspace.',
      query: coverage,
      charsMax: NAME_CHARS_MAX,
      read: async ({ workspaceId }, query) => {
        const { framework } = parseQuery(coverage, query);
        const settings = await db.readFresh(readRuleSettings, workspaceId);
        const records = await db.read(readRuleRecords, workspaceId);
        const all = frameworkCoverage(rules, settings, records);
        const chosen = all.find(({ kind }) => kind === framework);
        const entries = chosen === undefined ? [] : entriesOf(chosen);
        const { counts, experimental, snapshot } = toRuleSettings(settings, rules);
        return {
          snapshot,
          experimental,
          counts,
          framework: chosen?.label ?? framework,
          entries: entries.map(({ id, name, rules: referring, on, findings }) => ({
            id,
            name,
            rules: referring,
            on,
            findings,
          })),
        } as unknown as JsonValue;
      },
    },
  ];
}

export function mcpTools(context: ApiContext): readonly McpTool[] {
  return [...findingTools(context), ...runTools(context), ...ruleTools(context)];
}
