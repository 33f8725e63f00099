/**
 * Owns the facts of a run that its steps show: its state, its agent, model, session and user, and
 * whether text is missing. Which attributes show them is in the conventions (`run`).
 *
 * Must never return a run's text: only names, ids and the words of this file.
 */
import type { JsonObject, JsonValue } from '../../../model/json.ts';
import type { RunFacts, RunState } from '../../../model/runs.ts';
import type { Step, StepKind, Surface, TextGap } from '../../../model/steps.ts';
import { CAPTURE } from '../conventions/capture.ts';
import type { StepSelector } from './convention.ts';
import {
  AGENT_SPAN_NAMES,
  CUT_FLAGS,
  cutMarkAt,
  isPlaceholder,
  nameKeys,
  REFERENCES,
  ROOT_MARKS,
  SIZED_TEXTS,
  SIZES,
  STEP_NAMES,
  showsFailure,
  WITHHELD_FLAGS,
} from './run-rows.ts';

/** A longer value is no name or id; it is cut. */
const CHARS_MAX = 256;
const PLACEHOLDER_CHARS_MAX = 64;
const STATUS_ERROR = 2;

const AGENT_KEYS = nameKeys('agentName');
const MODEL_KEYS = nameKeys('model');
const SESSION_KEYS = nameKeys('sessionId');
const USER_KEYS = nameKeys('userId');
/** The id of an installation, as Claude Code sends it beside the address of its user. */
const ANONYMOUS_ID = /^[0-9a-f]{64}$/;
const ADDRESS_KEYS = ['user.email'];

interface NotedInTexts {
  readonly cutSteps: number;
  readonly unreadTexts: number;
  readonly unreadKeys: readonly string[];
  readonly unknownRoles: readonly string[];
}

const NOTHING_NOTED: NotedInTexts = {
  cutSteps: 0,
  unreadTexts: 0,
  unreadKeys: [],
  unknownRoles: [],
};

/**
 * Reads a run's facts. Names are read from the topmost agent span, then from any step in time
 * order.
 * @param state as the store has it: by the span without a parent, or by timeout
 * @param noted what reading its texts showed
 */
export function runFactsOf(
  steps: readonly Step[],
  kinds: readonly StepKind[],
  surfaces: readonly Surface[],
  state: RunState,
  { cutSteps, unreadTexts, unreadKeys, unknownRoles }: NotedInTexts = NOTHING_NOTED,
): RunFacts {
  const top = topmostAgent(steps, kinds);
  const ordered = top === null ? steps : [top, ...steps];
  const textGaps = textGapsOf(steps, cutSteps > 0);
  const isCaptured =
    surfaces.some((surface) => surface !== 'tool_name') && !textGaps.includes('withheld_by_sender');
  const models = steps.filter((_, index) => kinds[index] === 'llm');
  return {
    state: top === null ? state : endOf(top, state),
    agentName: firstOf(ordered, AGENT_KEYS) ?? agentOfStep(top),
    model: firstOf(models, [...MODEL_KEYS, ...STEP_NAMES]) ?? firstOf(ordered, MODEL_KEYS),
    sessionId: firstOf(ordered, SESSION_KEYS),
    userId: userOf(ordered),
    textGaps,
    unreadTexts,
    unreadKeys,
    unknownRoles,
    // Text that is not read is sent all the same.
    captureHint: isCaptured || unreadTexts > 0 ? null : captureHintOf(steps),
  };
}

/** The model that a step names; null where it names none. */
export function modelOf(step: Step, kind: StepKind): string | null {
  return firstOf([step], kind === 'llm' ? [...MODEL_KEYS, ...STEP_NAMES] : MODEL_KEYS);
}

function userOf(steps: readonly Step[]): string | null {
  const id = firstOf(steps, USER_KEYS);
  return id !== null && ANONYMOUS_ID.test(id) ? (firstOf(steps, ADDRESS_KEYS) ?? id) : id;
}

function isMarkedRoot({ source, attributes }: Step): boolean {
  return source === 'span' && ROOT_MARKS.some((key) => String(attributes[key]) === 'true');
}

/**
 * The span that its product marks as the root; else the first span of an agent, or else of a
 * workflow, below no other such span. A run may be wrapped in spans of a server or a queue, which
 * say nothing about the agent, and contain agents that were called by others, which are its steps.
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
  const cached = new Map<string, boolean>();
  /** Checks whether the span or an ancestor is an agent's. Linear over all calls; a cycle ends at itself. */
  const isBelowAgent = (start: string | null): boolean => {
    const path: string[] = [];
    let ancestor = start;
    let result = false;
    while (ancestor !== null && parents.has(ancestor)) {
      const known = cached.get(ancestor);
      if (known !== undefined || isAgent.get(ancestor) === true) {
        result = known ?? true;
        break;
      }
      cached.set(ancestor, false);
      path.push(ancestor);
      ancestor = parents.get(ancestor) ?? null;
    }
    for (const spanId of path) cached.set(spanId, result);
    return result;
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
 * How the topmost agent ended. A run that timed out waits for a span above the agent; if the agent
 * was called from another process, that span is not part of the run.
 */
function endOf({ statusCode, attributes, hasRemoteParent }: Step, state: RunState): RunState {
  const hasEnded = state === 'completed' || state === 'failed' || hasRemoteParent;
  if (!hasEnded) return state;
  return statusCode === STATUS_ERROR || showsFailure(attributes) ? 'failed' : 'completed';
}

/** By its step's own name for what it runs, else by the span's: `invoke_agent planner` → `planner`. */
function agentOfStep(top: Step | null): string | null {
  const named = top === null ? null : firstOf([top], STEP_NAMES);
  if (named !== null) return named;
  for (const pattern of AGENT_SPAN_NAMES) {
    const name = pattern.exec(top?.name ?? '')?.[1];
    if (name !== undefined) return name.slice(0, CHARS_MAX);
  }
  return null;
}

/** The value of the first key that any step has, on the first step that has it. */
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
  // Some products encode every value as JSON, which puts a name in quotes.
  const name = /^"(.*)"$/s.exec(value)?.[1] ?? value;
  return name.trim() === '' || isPlaceholder(name) ? null : name.slice(0, CHARS_MAX);
}

/** Finds missing text by the attributes of a run's steps and events. */
interface NotedGaps {
  readonly gaps: Set<TextGap>;
  readonly sizes: Set<string>;
  /** attributes with a text whose size may be sent */
  readonly texts: Set<string>;
}

/** Why text of the run is missing, each reason once. */
function textGapsOf(steps: readonly Step[], isCut: boolean): TextGap[] {
  const noted: NotedGaps = { gaps: new Set(), sizes: new Set(), texts: new Set() };
  if (isCut) noted.gaps.add('cut_by_sender');
  for (const { attributes, events, dropped } of steps) {
    if (dropped > 0) noted.gaps.add('dropped_by_sender');
    noteGaps(attributes, noted);
    for (const event of events) noteGaps(event.attributes, noted);
  }
  const { gaps, sizes, texts } = noted;
  const isThere = (key: string): boolean => texts.has(key);
  for (const size of sizes) {
    if (![...(SIZES.get(size) ?? [])].some(isThere)) gaps.add('withheld_by_sender');
  }
  return [...gaps].sort();
}

function noteGaps(attributes: JsonObject, { gaps, sizes, texts }: NotedGaps): void {
  for (const key of Object.keys(attributes)) {
    const value = attributes[key];
    if (REFERENCES.test(key)) gaps.add('stored_elsewhere');
    if (CUT_FLAGS.has(key) && (value === true || value === 'true')) gaps.add('cut_by_sender');
    if (WITHHELD_FLAGS.has(key)) gaps.add('withheld_by_sender');
    if (SIZES.has(key) && Number(value) > 0) sizes.add(key);
    if (SIZED_TEXTS.has(key) && value !== '') texts.add(key);
    if (typeof value !== 'string') continue;
    if (cutMarkAt(value) !== -1) gaps.add('cut_by_sender');
    if (value.length < PLACEHOLDER_CHARS_MAX && isPlaceholder(value.trim())) {
      gaps.add('withheld_by_sender');
    }
  }
}

interface Sender {
  readonly scopes: ReadonlySet<string>;
  readonly services: ReadonlySet<string>;
  readonly keys: ReadonlySet<string>;
}

/**
 * The line of configuration or code that makes the instrumentation of these steps send text; null for
 * one that is not known, or that needs none. Linear in the number of attributes.
 */
export function captureHintOf(steps: readonly Step[]): string | null {
  const sender: Sender = {
    scopes: new Set(steps.map(({ scopeName }) => scopeName)),
    services: new Set(steps.flatMap(({ serviceName }) => serviceName ?? [])),
    keys: new Set(steps.flatMap(({ attributes }) => Object.keys(attributes))),
  };
  return CAPTURE.find(([fits]) => isFrom(sender, fits))?.[1] ?? null;
}

function isFrom({ scopes, services, keys }: Sender, fits: StepSelector): boolean {
  return (
    anyBegins(scopes, fits.scopes) ||
    anyBegins(services, fits.services) ||
    anyBegins(keys, fits.attributes)
  );
}

function anyBegins(names: ReadonlySet<string>, prefixes: readonly string[] = []): boolean {
  return prefixes.some((prefix) => {
    for (const name of names) if (name.startsWith(prefix)) return true;
    return false;
  });
}
