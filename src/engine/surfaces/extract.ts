/**
 * Owns the way from steps to surface texts: walks the conventions' tables over every step's
 * attributes, events, body and status. Knows no convention itself.
 *
 * Order is part of the contract: steps as given, within a step the tables' order, then events in
 * theirs, the status message last. A text stands once per step and surface.
 */
import type { JsonObject, JsonValue, Step, Surface, SurfaceText } from '../../model.ts';
import type { AttributeRow, Convention, EventRow, Place, Reading } from './convention.ts';
import { contentOf, readMessageEvent, readMessages } from './messages.ts';
import { OTEL_GENAI } from './otel-genai.ts';
import { OTEL_GENAI_DEPRECATED } from './otel-genai-deprecated.ts';
import { FAILURE_PLACE, OTEL_INFRASTRUCTURE } from './otel-infrastructure.ts';
import { type Piece, place } from './parts.ts';
import { type StepKind, stepKindOf } from './step-kind.ts';
import { isObject, isText, open, textsOf, toPlain, toPlainMap } from './value-text.ts';

/** Every convention read, in the order in which a step's texts are told. */
export const CONVENTIONS: readonly Convention[] = [
  OTEL_GENAI,
  OTEL_GENAI_DEPRECATED,
  OTEL_INFRASTRUCTURE,
];

const STATUS_ERROR = 2;

/**
 * The texts of a run, by surface.
 * @param steps in time order
 * @param conventions in telling order
 * @returns by step, then in telling order
 */
export function extractSurfaces(
  steps: readonly Step[],
  conventions: readonly Convention[] = CONVENTIONS,
): SurfaceText[] {
  const attributes = conventions.flatMap((convention) => convention.attributes);
  const events = new Map(
    conventions.flatMap((convention) => convention.events).map((row) => [row.event, row]),
  );
  const kinds = kindsOf(steps);
  return steps.flatMap((step, index) => {
    const seen = new Set<string>();
    return readStep(step, kinds[index] ?? 'other', attributes, events).flatMap(
      ({ surface, text }) => {
        const key = `${surface} ${text}`;
        if (!isText(text) || seen.has(key)) return [];
        seen.add(key);
        return [{ step: index, surface, text }];
      },
    );
  });
}

/** The kind of every step. A log record that does not show its own has that of its span. */
function kindsOf(steps: readonly Step[]): StepKind[] {
  const own = steps.map((step) => stepKindOf(step.attributes));
  const ofSpan = new Map(
    steps.map((step, index) => [step.source === 'span' ? step.spanId : null, own[index]]),
  );
  return steps.map((step, index) => {
    const kind = own[index] ?? 'other';
    if (kind !== 'other' || step.spanId === null) return kind;
    return ofSpan.get(step.spanId) ?? kind;
  });
}

function readStep(
  step: Step,
  kind: StepKind,
  rows: readonly AttributeRow[],
  events: ReadonlyMap<string, EventRow>,
): Piece[] {
  const fromEvents = step.events.flatMap(({ name, attributes }) => {
    const row = events.get(name);
    return row === undefined ? [] : readEvent(row, toPlainMap(attributes), step, kind, rows);
  });
  return [
    ...readAttributes(toPlainMap(step.attributes), rows, kind),
    ...fromEvents,
    ...(step.source === 'log' ? readLog(step, kind, rows, events) : readStatus(step, kind)),
  ];
}

function readLog(
  step: Step,
  kind: StepKind,
  rows: readonly AttributeRow[],
  events: ReadonlyMap<string, EventRow>,
): Piece[] {
  const row = logEvent(step, events);
  return row === undefined ? [] : readEvent(row, toPlain(step.body), step, kind, rows);
}

/** A status message means something with an error only (OTLP, `Status.message`). */
function readStatus({ statusCode, statusMessage }: Step, kind: StepKind): Piece[] {
  if (statusCode !== STATUS_ERROR) return [];
  return place(resolve(FAILURE_PLACE, kind), textsOf(statusMessage));
}

function readAttributes(
  attributes: JsonObject,
  rows: readonly AttributeRow[],
  kind: StepKind,
): Piece[] {
  return rows.flatMap((row) => {
    if ('key' in row) {
      const value = Object.hasOwn(attributes, row.key) ? attributes[row.key] : undefined;
      return value === undefined ? [] : readValue(value, row.read, kind);
    }
    return Object.entries(attributes)
      .filter(([key]) => key.startsWith(row.prefix))
      .flatMap(([, value]) => readValue(value, row.read, kind));
  });
}

function readValue(value: JsonValue, read: Reading, kind: StepKind): Piece[] {
  switch (read.as) {
    case 'text': {
      const texts = Array.isArray(value) ? value.flatMap(textsOf) : textsOf(value);
      return place(resolve(read.place, kind), texts);
    }
    case 'structure':
      return place(resolve(read.place, kind), textsOf(value));
    case 'messages':
      return readMessages(value, read.side, resolve(UNSAID[read.side], kind));
    case 'exchange': {
      const surface = resolve(read.place, kind);
      const isTool = kind === 'tool' || kind === 'retriever';
      return isTool ? place(surface, textsOf(value)) : readMessages(value, read.side, surface);
    }
  }
}

/** Where text without an author stands, by the side it was found on. */
const UNSAID = {
  input: { tool: 'tool_args', else: 'step_input' },
  output: { tool: 'tool_result', else: 'agent_output' },
} as const satisfies Record<string, Place>;

function readEvent(
  row: EventRow,
  carrier: JsonValue,
  step: Step,
  kind: StepKind,
  rows: readonly AttributeRow[],
): Piece[] {
  if (row.carries === 'attributes') {
    const attributes = open(carrier);
    return isObject(attributes) ? readAttributes(attributes, rows, kind) : [];
  }
  const { onTool } = row;
  if (onTool !== undefined && kind === 'tool' && isFrom(step, onTool.provider)) {
    return place(onTool.surface, textsOf(contentOf(carrier)));
  }
  return readMessageEvent(carrier, row.side, row.role);
}

/** A log record's event stands in an attribute, in its own field, or is all its body says. */
function logEvent(step: Step, events: ReadonlyMap<string, EventRow>): EventRow | undefined {
  for (const name of [step.attributes['event.name'], step.name, step.body]) {
    const row = typeof name === 'string' ? events.get(name) : undefined;
    if (row !== undefined) return row;
  }
  return undefined;
}

function isFrom(step: Step, provider: string | undefined): boolean {
  const { 'gen_ai.provider.name': current, 'gen_ai.system': deprecated } = step.attributes;
  return provider === undefined || current === provider || deprecated === provider;
}

function resolve(where: Place, kind: StepKind): Surface {
  return typeof where === 'string' ? where : (where[kind] ?? where.else);
}
