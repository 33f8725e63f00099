/**
 * What the read API answers about the run of the ingest examples: made by the functions that make the
 * answers, with the rules of the loaded corpus. A corpus without such rules gives no example.
 */
import type {
  Finding,
  JsonObject,
  Rule,
  RuleSettings,
  RunSummary,
  StepOutline,
} from '../../../model.ts';
import { toFinding } from '../findings/finding-routes.ts';
import { toOcsf } from '../findings/ocsf.ts';
import { ATTACK, RUN, SPAN_IDS, TIMES, TRACE_ID } from '../otlp/otlp-examples.ts';
import {
  type RuleBook,
  rulesQuery,
  toRule,
  toRulePage,
  toRuleSettings,
} from '../rules/rule-routes.ts';
import { toRunItem, toRunStep } from '../runs/run-routes.ts';
import type { ApiSettings, Example } from './operation.ts';

const FINDING_ID = '7d0c8a4be1f34c0f9b6f2a1d5e8c3b42';
const STORED_AT = new Date('2025-11-20T12:01:04.512Z');
/** The rule that finds the attack of the example run, and its condition. */
const RULE_ID = 'ATR-2026-00001';
const CONDITION_INDEX = 0;

/** Of a workspace that has decided nothing. */
const NO_DECISIONS: RuleSettings = { experimental: false, overrides: new Map() };

/** What is sent is JSON; what is undefined is not in it. */
const example = (name: string, summary: string, value: unknown): Example => ({
  name,
  summary,
  value: JSON.parse(JSON.stringify(value)) as JsonObject,
});

const chars = (rule: Rule): number => JSON.stringify(rule).length;

/** A rule that runs and is quickly read. */
function shortRule({ rules, decide }: RuleBook): Rule | undefined {
  return rules
    .filter((rule) => decide(rule, NO_DECISIONS).enabled)
    .reduce<Rule | undefined>(
      (best, rule) => (best === undefined || chars(rule) < chars(best) ? rule : best),
      undefined,
    );
}

/** The query that the list's example answers. */
export const RULES_EXAMPLE_QUERY = 'enabled=true&per_page=2';

export function ruleExamples({ book }: ApiSettings) {
  const parsed = Object.fromEntries(new URLSearchParams(RULES_EXAMPLE_QUERY));
  const page = toRulePage(rulesQuery.parse(parsed), NO_DECISIONS, book);
  const rule = shortRule(book);
  return {
    ruleId: rule?.id ?? RULE_ID,
    list: [example('enabled_rules', `Answer to \`?${RULES_EXAMPLE_QUERY}\`.`, page)],
    one:
      rule === undefined
        ? []
        : [example('rule', 'A rule of the loaded corpus.', toRule(rule, NO_DECISIONS, book))],
    settings: [example('settings', 'Nothing is decided yet.', toRuleSettings(NO_DECISIONS, book))],
  };
}

function findingOf({ rules, snapshot }: RuleBook): Finding | null {
  const rule = rules.find(({ id }) => id === RULE_ID);
  const condition = rule?.conditions[CONDITION_INDEX];
  if (rule === undefined || condition === undefined) return null;
  return {
    id: FINDING_ID,
    createdAt: STORED_AT,
    runId: TRACE_ID,
    corpusVersion: snapshot.version,
    ruleId: rule.id,
    ruleVersion: rule.version,
    ruleStatus: rule.status,
    severity: rule.severity,
    category: rule.category,
    subcategory: rule.subcategory,
    description: `${rule.id} "${rule.title}" matched the input of a step`,
    conditionIndex: condition.index,
    conditionDescription: condition.description,
    field: condition.field,
    surface: 'step_input',
    stepSpanId: SPAN_IDS.root,
    stepName: `invoke_agent ${RUN.agent}`,
    excerpt: ATTACK,
    recommendedActions: rule.recommendedActions,
  };
}

/** The query that the examples of the findings' list and export answer. */
export const FINDINGS_EXAMPLE_QUERY = `run_id=${TRACE_ID}&rule_id=${RULE_ID}`;

export function findingExamples({ book, version }: ApiSettings) {
  const finding = findingOf(book);
  if (finding === null) return { findingId: FINDING_ID, list: [], one: [], event: [] };
  const title = book.rules.find(({ id }) => id === finding.ruleId)?.title;
  const event = toOcsf(finding, { productVersion: version, ruleTitle: () => title });
  const item = toFinding(finding);
  const answer = `Answer to \`?${FINDINGS_EXAMPLE_QUERY}\`.`;
  return {
    findingId: FINDING_ID,
    list: [example('of_a_run', answer, { findings: [item], next_cursor: null })],
    one: [example('finding', 'What the attack in the example run is found by.', item)],
    event: [example('event', `A line of the answer to \`?${FINDINGS_EXAMPLE_QUERY}\`.`, event)],
  };
}

const SUMMARY: Omit<RunSummary, 'corpusVersion'> = {
  runId: TRACE_ID,
  state: 'completed',
  evaluation: 'evaluated',
  name: `invoke_agent ${RUN.agent}`,
  serviceName: RUN.agent,
  agentName: RUN.agent,
  model: RUN.model,
  sessionId: null,
  userId: null,
  startUnixNano: TIMES.root[0],
  endUnixNano: TIMES.root[1],
  firstArrivalAt: new Date('2025-11-20T12:00:03.051Z'),
  lastArrivalAt: new Date('2025-11-20T12:00:03.051Z'),
  spans: 2,
  logRecords: 0,
  evaluatedAt: STORED_AT,
  evaluatedSteps: 2,
  unreadSteps: 0,
  texts: 4,
  truncatedTexts: 0,
  textGaps: [],
  severities: ['high', 'high'],
};

const STEPS: readonly StepOutline[] = [
  {
    source: 'span',
    name: `invoke_agent ${RUN.agent}`,
    kind: 'agent',
    spanId: SPAN_IDS.root,
    parentSpanId: null,
    serviceName: RUN.agent,
    startUnixNano: TIMES.root[0],
    endUnixNano: TIMES.root[1],
    statusCode: 0,
    surfaces: [{ surface: 'step_input', texts: 1, bytes: ATTACK.length }],
    isCut: false,
  },
  {
    source: 'span',
    name: `execute_tool ${RUN.tool}`,
    kind: 'tool',
    spanId: SPAN_IDS.tool,
    parentSpanId: SPAN_IDS.root,
    serviceName: RUN.agent,
    startUnixNano: TIMES.tool[0],
    endUnixNano: TIMES.tool[1],
    statusCode: 0,
    surfaces: [
      { surface: 'tool_name', texts: 1, bytes: 10 },
      { surface: 'tool_args', texts: 1, bytes: 14 },
      { surface: 'tool_result', texts: 1, bytes: 14 },
    ],
    isCut: false,
  },
];

/** The query that the example of the runs' list answers. */
export const RUNS_EXAMPLE_QUERY = 'has_findings=true&limit=1';

export function runExamples({ book }: ApiSettings) {
  const item = toRunItem({ ...SUMMARY, corpusVersion: book.snapshot.version });
  const run = { ...item, steps: STEPS.map(toRunStep), steps_left_out: 0 };
  const page = { runs: [item], next_cursor: null };
  return {
    list: [example('with_findings', `Answer to \`?${RUNS_EXAMPLE_QUERY}\`.`, page)],
    one: [example('run', 'The run of the ingest example.', run)],
  };
}
