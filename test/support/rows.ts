/**
 * Decoded rows for tests: every field set to something plain, the interesting ones overridden.
 *
 * Knows no database and no bytes; what a row looks like once stored is said by the tests.
 */
import type { FindingDraft, FindingRunFacts } from '../../src/model/findings.ts';
import type { Hex8, Hex16 } from '../../src/model/json.ts';
import type { RunFacts } from '../../src/model/runs.ts';
import type {
  DecodedRequest,
  LogRow,
  LogSession,
  ResourceRow,
  SpanRow,
} from '../../src/model/telemetry.ts';
import type { TriageMark } from '../../src/model/triage.ts';

/** 2026-11-20T12:00:00Z in milliseconds since 1970: the day on which tests' rows arrive. */
export const NOON_MS = Date.UTC(2026, 10, 20, 12);
export const DAY_MS = 86_400_000;

/** A 16-byte id that ends in a number, so that ids sort as their numbers do. */
export function hex16(number: number): Hex16 {
  return number.toString(16).padStart(32, '0');
}

/** An 8-byte id that ends in a number. */
export function hex8(number: number): Hex8 {
  return number.toString(16).padStart(16, '0');
}

export const RESOURCE_ID = hex16(0xa1);
export const TRACE_ID = hex16(0xc1);

export function resourceRow(fields: Partial<ResourceRow> = {}): ResourceRow {
  return {
    id: RESOURCE_ID,
    serviceName: 'agent',
    attributes: '{"service.name":"agent"}',
    schemaUrl: '',
    droppedAttributes: 0,
    scopeName: 'scope',
    scopeVersion: '1.0',
    scopeAttributes: '{}',
    scopeSchemaUrl: '',
    scopeDroppedAttributes: 0,
    ...fields,
  };
}

/** A root span unless `parentSpanId` says otherwise. */
export function spanRow(fields: Partial<SpanRow> = {}): SpanRow {
  return {
    resourceId: RESOURCE_ID,
    traceId: TRACE_ID,
    spanId: hex8(1),
    parentSpanId: null,
    traceState: '',
    flags: 0,
    name: 'invoke_agent',
    kind: 1,
    startUnixNano: '1763640000000000001',
    endUnixNano: '1763640001000000002',
    statusCode: 0,
    statusMessage: '',
    attributes: '{}',
    events: null,
    links: null,
    droppedAttributes: 0,
    droppedEvents: 0,
    droppedLinks: 0,
    session: null,
    ...fields,
  };
}

export function logRow(fields: Partial<LogRow> = {}): LogRow {
  return {
    resourceId: RESOURCE_ID,
    traceId: null,
    spanId: null,
    timeUnixNano: '1763640000000000003',
    observedUnixNano: '1763640000000000004',
    severityNumber: 9,
    severityText: 'INFO',
    eventName: '',
    body: '"hello"',
    attributes: '{}',
    flags: 0,
    droppedAttributes: 0,
    session: null,
    ...fields,
  };
}

/** A record's session, of which `end` is a record without text that ends it. */
export function sessionFor(
  event: LogSession['event'] | 'end',
  key: Hex16,
  runId: Hex16 | null,
): LogSession {
  return event === 'end'
    ? { key, runId, event: 'nothing', ends: true, hasTrace: false }
    : { key, runId, event, ends: false, hasTrace: false };
}

/** A request with the given rows; the resource is there unless `resources` says otherwise. */
export function decodedRequest(fields: Partial<DecodedRequest> = {}): DecodedRequest {
  return {
    signal: 'traces',
    resources: [resourceRow()],
    spans: [],
    logs: [],
    points: 0,
    rejections: [],
    replacedCharacters: 0,
    ...fields,
  };
}

/** The facts of a run that completed and has no others. */
export function runFacts(fields: Partial<RunFacts> = {}): RunFacts {
  return {
    state: 'completed',
    agentName: null,
    model: null,
    sessionId: null,
    userId: null,
    textGaps: [],
    unreadTexts: 0,
    unreadKeys: [],
    unknownRoles: [],
    captureHint: null,
    ...fields,
  };
}

/** Facts of a finding's run, none of them known, and the triage of a new one. */
export const NO_FACTS: FindingRunFacts & TriageMark = {
  state: 'new',
  assignee: null,
  isExcepted: false,
  agentName: null,
  serviceName: null,
  userId: null,
  sessionId: null,
  model: null,
};

export function findingDraft(fields: Partial<FindingDraft> = {}): FindingDraft {
  return {
    ruleId: 'ATR-2026-00001',
    ruleVersion: '1.0.0',
    ruleStatus: 'stable',
    severity: 'high',
    category: 'prompt-injection',
    subcategory: null,
    description: 'Rule ATR-2026-00001 matched tool_result.',
    conditionIndex: 0,
    conditionDescription: 'asks to ignore instructions',
    field: 'tool_response',
    surface: 'tool_result',
    stepSpanId: hex8(1),
    stepName: 'execute_tool',
    stepNameMatched: false,
    toolName: null,
    excerpt: 'ignore all previous instructions',
    matchSha256: 'd1'.repeat(32),
    place: {
      step: 1,
      source: 'span',
      startUnixNano: '1763640000000000001',
      twin: 0,
      text: 0,
      match: { start: 0, end: 32 },
      inExcerpt: { start: 0, end: 32 },
      nameDigests: [],
    },
    recommendedActions: ['alert'],
    ...fields,
  };
}
