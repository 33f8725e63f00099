/**
 * Owns what a run's steps say about the run itself: how it ended, who ran it, and whether its text
 * came whole. The keys of every convention stand here as ordered lists: the first that is there
 * counts.
 *
 * Must never hold a run's text: names, ids and words of this file only.
 */
import type { JsonObject, JsonValue, RunFacts, RunState, Step, TextGap } from '../../../model.ts';
import type { StepKind } from './convention.ts';
import { PLACEHOLDERS } from './value-text.ts';

/** A name or id; longer ones are no such thing and cut. */
const CHARS_MAX = 256;

/** On the topmost agent span first, then on any step in time order. */
const NAME_KEYS = {
  agentName: [
    'langfuse.trace.name',
    'gen_ai.agent.name',
    'gen_ai.workflow.name',
    'traceloop.workflow.name',
    'ai.telemetry.functionId',
    'resource.name',
    'agent_name',
    'agent.name',
    'lk.agent_name',
    'flue.workflow.name',
    'flue.task.agent',
  ],
  model: [
    'gen_ai.response.model',
    'gen_ai.request.model',
    'langfuse.observation.model.name',
    'llm.response.model_name',
    'llm.model_name',
    'ai.response.model',
    'ai.model.id',
    'mlflow.llm.model',
    'ai.model.name',
    'braintrust.metadata.model',
    'langsmith.metadata.ls_model_name',
    'embedding.model_name',
    'model_name',
    'model',
  ],
  // `mcp.session.id` (a transport) and `langsmith.trace.session_id` (a project) are none.
  sessionId: [
    'gen_ai.conversation.id',
    'langfuse.session.id',
    'session.id',
    'traceloop.association.properties.conversation_id',
    'traceloop.association.properties.session_id',
    'traceloop.association.properties.thread_id',
    'traceloop.association.properties.chat_id',
    'ai.telemetry.metadata.sessionId',
    'ai.settings.context.sessionId',
    'langsmith.metadata.session_id',
    'langsmith.metadata.thread_id',
    'langsmith.metadata.conversation_id',
    'gcp.vertex.agent.session_id',
    'conversation.id',
    'voltagent.conversation_id',
    'genkit:metadata:agent:sessionId',
    'genkit:sessionId',
    'gen_ai.session.id',
    'langfuse.trace.metadata.langfuse_session_id',
    'langfuse.observation.metadata.langfuse_session_id',
    'lmnr.association.properties.session_id',
    'mlflow.trace.session',
    'spring.ai.chat.client.conversation.id',
    'lk.room_sid',
    'flue.session.name',
  ],
  userId: [
    'user.id',
    'langfuse.user.id',
    'enduser.id',
    'traceloop.association.properties.user_id',
    'ai.telemetry.metadata.userId',
    'gen_ai.user',
    'gen_ai.user.id',
    'llm.user',
    'gen_ai.request.user',
    'user.email',
    'user.account_id',
    'user.account_uuid',
    'user.name',
    'langfuse.trace.metadata.langfuse_user_id',
    'langfuse.observation.metadata.langfuse_user_id',
    'langsmith.metadata.user_id',
    'lmnr.association.properties.user_id',
    'mlflow.trace.user',
  ],
} as const;

/** What one span says about how it ended, beside its status. */
const FAILURES: readonly ((attributes: JsonObject) => boolean)[] = [
  (attributes) => typeof attributes['error.type'] === 'string' && attributes['error.type'] !== '',
  (attributes) => attributes['genkit:state'] === 'error',
  (attributes) => attributes['langfuse.observation.level'] === 'ERROR',
  (attributes) => attributes['gen_ai.task.status'] === 'failure',
  (attributes) => attributes.success === false || attributes.success === 'false',
  (attributes) => Number(attributes['logfire.level_num']) >= 17,
];

const STATUS_ERROR = 2;

/**
 * Reads a run's facts.
 * @param steps of one run, in time order
 * @param kinds of the steps, by their index
 * @param state as the store has it: by the span without a parent, or by the time that passed
 */
export function runFactsOf(
  steps: readonly Step[],
  kinds: readonly StepKind[],
  state: RunState,
): RunFacts {
  const top = topmostAgent(steps, kinds);
  const inOrder = top === null ? steps : [top, ...steps];
  const find = (keys: readonly string[]) => firstOf(inOrder, keys);
  return {
    state: top === null ? state : endOf(top, state),
    agentName: find(NAME_KEYS.agentName) ?? nameIn(top),
    model: firstOf(ofKind(steps, kinds, 'llm'), NAME_KEYS.model) ?? find(NAME_KEYS.model),
    sessionId: find(NAME_KEYS.sessionId),
    userId: find(NAME_KEYS.userId),
    textGaps: textGapsOf(steps),
  };
}

function ofKind(steps: readonly Step[], kinds: readonly StepKind[], kind: StepKind): Step[] {
  return steps.filter((_, index) => kinds[index] === kind);
}

/** Marks by which a producer says that a span is the run's own, whatever stands above it. */
const ROOT_MARKS = [
  'langfuse.internal.as_root',
  'langfuse.internal.is_app_root',
  'genkit:isRoot',
] as const;

function isMarkedRoot({ source, attributes }: Step): boolean {
  return source === 'span' && ROOT_MARKS.some((key) => String(attributes[key]) === 'true');
}

/**
 * The span its producer calls the root; else the first span of an agent, or else of a workflow, that
 * stands below no other: a run may be wrapped in the server's or the queue's spans, which say nothing
 * about the agent, and hold agents called by others, which are steps of it.
 */
function topmostAgent(steps: readonly Step[], kinds: readonly StepKind[]): Step | null {
  const marked = steps.find(isMarkedRoot);
  if (marked !== undefined) return marked;
  const isAgent = new Map<string, boolean>();
  const parents = new Map<string, string | null>();
  steps.forEach((step, index) => {
    if (step.source !== 'span' || step.spanId === null) return;
    parents.set(step.spanId, step.parentSpanId);
    isAgent.set(step.spanId, kinds[index] === 'agent' || kinds[index] === 'chain');
  });
  const known = new Map<string, boolean>();
  /** Is the span, or one above it, an agent's? Each span is asked once; a circle ends at itself. */
  const isBelowAgent = (start: string | null): boolean => {
    const path: string[] = [];
    let above = start;
    let answer = false;
    while (above !== null && parents.has(above)) {
      const before = known.get(above);
      if (before !== undefined || isAgent.get(above) === true) {
        answer = before ?? true;
        break;
      }
      known.set(above, false);
      path.push(above);
      above = parents.get(above) ?? null;
    }
    for (const spanId of path) known.set(spanId, answer);
    return answer;
  };
  let workflow: Step | null = null;
  for (const [index, step] of steps.entries()) {
    const { source, spanId, parentSpanId } = step;
    if (source !== 'span' || spanId === null || isAgent.get(spanId) !== true) continue;
    if (isBelowAgent(parentSpanId)) continue;
    if (kinds[index] === 'agent') return step;
    workflow ??= step;
  }
  return workflow;
}

/**
 * How the topmost agent ended. A run that timed out waits for a span above the agent; that one
 * belongs to somebody else when the agent was called from another process.
 */
function endOf({ statusCode, attributes, hasRemoteParent }: Step, state: RunState): RunState {
  const hasEnded = state === 'completed' || state === 'failed' || hasRemoteParent;
  if (!hasEnded) return state;
  const failed = statusCode === STATUS_ERROR || FAILURES.some((shows) => shows(attributes));
  return failed ? 'failed' : 'completed';
}

/** `invoke_agent planner` → `planner` */
function nameIn(top: Step | null): string | null {
  const name = /^(?:invoke_agent|invoke_workflow) (.+)$/.exec(top?.name ?? '')?.[1];
  return name === undefined ? null : name.slice(0, CHARS_MAX);
}

/** The value of the first key that any step has; of several steps the first one's. */
function firstOf(steps: readonly Step[], keys: readonly string[]): string | null {
  for (const key of keys) {
    for (const { attributes } of steps) {
      const value = Object.hasOwn(attributes, key) ? asName(attributes[key]) : null;
      if (value !== null) return value;
    }
  }
  return null;
}

function asName(value: JsonValue | undefined): string | null {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return null;
  // Some producers write every value as JSON, so that a name comes in quotes.
  const name = /^"(.*)"$/s.exec(value)?.[1] ?? value;
  return name.trim() === '' || PLACEHOLDERS.has(name) ? null : name.slice(0, CHARS_MAX);
}

const PLACEHOLDER_CHARS_MAX = 64;
const EXTERNAL = /^gen_ai\..*_ref$|^body_ref$/;
/** Gemini CLI's mark. */
const CUT_CHARS_MAX = 64;
const CUT = /\.\.\.\[TRUNCATED: original length \d+\]$/;

/** Why not all of the run's text is here, by what its steps say; each reason once. */
function textGapsOf(steps: readonly Step[]): TextGap[] {
  const gaps = new Set<TextGap>();
  for (const { attributes, events, dropped } of steps) {
    if (dropped > 0) gaps.add('dropped_by_sender');
    for (const map of [attributes, ...events.map((event) => event.attributes)]) {
      for (const [key, value] of Object.entries(map)) noteGap(key, value, gaps);
    }
  }
  return [...gaps].sort();
}

function noteGap(key: string, value: JsonValue, gaps: Set<TextGap>): void {
  if (EXTERNAL.test(key)) gaps.add('stored_elsewhere');
  if (key === 'body_truncated' && (value === true || value === 'true')) gaps.add('cut_by_sender');
  if (typeof value !== 'string') return;
  if (value.endsWith(']') && CUT.test(value.slice(-CUT_CHARS_MAX))) gaps.add('cut_by_sender');
  if (value.length < PLACEHOLDER_CHARS_MAX && PLACEHOLDERS.has(value.trim()))
    gaps.add('withheld_by_sender');
}
