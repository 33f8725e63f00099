/** Plain things for pages to show: every field set, the interesting ones overridden. */
import type { Finding } from '../../../src/model/findings.ts';
import type { Rule } from '../../../src/model/rules.ts';
import type { RunSummary } from '../../../src/model/runs.ts';
import type { StepOutline } from '../../../src/model/steps.ts';
import { NO_USAGE } from '../../../src/model/usage.ts';
import type { RuleFacts } from '../../../src/web/app/rule-counts.ts';
import type { Look, Viewer } from '../../../src/web/app/shell.ts';
import { findingDraft, hex8, hex16, NO_FACTS } from '../../support/rows.ts';

export const LOOK: Look = {
  brand: 'sluice',
  assets: { style: '/assets/style.css', script: '/assets/app.js', icon: '/assets/icon.svg' },
};

/** What somebody hostile would like to see run. */
export const HOSTILE = `"><img src=x onerror=alert(1)>'<script>alert(2)</script>&`;
const ESCAPED = '&quot;&gt;&lt;img src=x onerror=alert(1)&gt;&#39;&lt;script&gt;';

/** Whether a page contains the hostile text, and only as text. */
export function holdsAsText(page: string): boolean {
  return page.includes(ESCAPED) && !page.includes('<img') && !page.includes('<script>alert');
}

export const NOW_MS = Date.UTC(2026, 10, 21, 12);

export function viewer(fields: Partial<Viewer> = {}): Viewer {
  return {
    email: 'ada@people.test',
    role: 'owner',
    workspaceName: 'Crew',
    workspaceSlug: 'crew',
    plan: 'team',
    isAdmin: true,
    ...fields,
  };
}

export const MEMBER = viewer({ role: 'member', isAdmin: false });

export function finding(fields: Partial<Finding> = {}): Finding {
  return {
    ...findingDraft(),
    ...NO_FACTS,
    id: hex16(0xf1),
    createdAt: new Date(NOW_MS - 5 * 60_000),
    runId: hex16(0xc1),
    corpusVersion: '4.0.0',
    corpusIdentity: 'c0'.repeat(20),
    ...fields,
  };
}

export function run(fields: Partial<RunSummary> = {}): RunSummary {
  return {
    runId: hex16(0xc1),
    state: 'completed',
    evaluation: 'evaluated',
    name: 'invoke_agent shop',
    serviceName: 'shop',
    agentName: 'shopper',
    model: 'model-1',
    sessionId: 'session 1/2',
    userId: 'user-1',
    startUnixNano: '1763640000000000000',
    endUnixNano: '1763640002000000000',
    firstArrivalAt: new Date(NOW_MS - 3_600_000),
    lastArrivalAt: new Date(NOW_MS - 3_590_000),
    settlesFrom: new Date(NOW_MS - 3_590_000),
    isOfSession: false,
    spans: 4,
    repeatedSpans: 0,
    logRecords: 1,
    evaluatedAt: new Date(NOW_MS - 3_500_000),
    evaluatedSteps: 5,
    unreadSteps: 0,
    texts: 6,
    surfaces: ['step_input', 'tool_result', 'tool_name'],
    truncatedTexts: 0,
    textCapBytes: 65_536,
    unparsedValues: 0,
    title: null,
    ...NO_USAGE,
    textGaps: [],
    unreadTexts: 0,
    unreadKeys: [],
    unknownRoles: [],
    captureHint: null,
    corpusVersion: '4.0.0',
    corpusIdentity: 'c0'.repeat(20),
    severities: [],
    ...fields,
  };
}

export function outline(fields: Partial<StepOutline> = {}): StepOutline {
  return {
    source: 'span',
    name: 'execute_tool',
    kind: 'tool',
    spanId: hex8(1),
    parentSpanId: null,
    serviceName: 'shop',
    startUnixNano: '1763640000000000000',
    endUnixNano: '1763640001000000000',
    statusCode: 0,
    surfaces: [],
    isCut: false,
    ...fields,
  };
}

export function rule(fields: Partial<Rule> = {}): Rule {
  return {
    id: 'ATR-2026-00001',
    title: 'Asks to ignore instructions',
    version: '1.0.0',
    status: 'stable',
    severity: 'high',
    category: 'prompt-injection',
    subcategory: 'direct',
    description: 'An invented rule.',
    author: 'nobody',
    date: '2026-01-01',
    references: {},
    condition: 'any',
    conditions: [
      {
        index: 0,
        field: 'user_input',
        surfaces: ['step_input', 'tool_args'],
        operator: 'regex',
        pattern: 'ignore all',
        description: 'says so',
        supported: true,
        reason: null,
      },
    ],
    suppressInCodeBlocks: false,
    support: 'as_written',
    unsupportedReasons: [],
    ownExamples: { truePositives: 3, trueNegatives: 4, failed: [] },
    measured: {
      caughtEvasions: { texts: 0, found: 0 },
      otherEvasions: { texts: 0, found: 0 },
      falsePositives: { texts: 0, found: 0 },
    },
    quality: {
      maturity: 'test',
      confidence: 57,
      wildFpRate: 52.58,
      wildSamples: 5352,
      wildValidated: '2026-08-05',
      falsePositives: ['A guide that quotes the attack'],
    },
    recommendedActions: ['block_input', 'alert'],
    file: 'rules/one.yaml',
    ...fields,
  };
}

export function ruleFacts(fields: Partial<RuleFacts> = {}): RuleFacts {
  return {
    snapshot: {
      version: '4.0.0',
      date: '2026-09-19',
      files: 1800,
      sha256: 'a'.repeat(64),
      identity: '0123456789abcdef0123456789abcdef01234567',
    },
    corpus: { as_written: 672, degraded: 10, unsupported: 53, fails_own_examples: 1065 },
    states: {
      as_written: 47,
      degraded: 4,
      off_by_tier: 623,
      off_by_override: 2,
      unsupported: 53,
      draft_or_deprecated: 6,
      fails_own_examples: 1065,
    },
    experimental: false,
    overrides: 0,
    orphans: [],
    ...fields,
  };
}
