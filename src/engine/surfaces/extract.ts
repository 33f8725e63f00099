/**
 * Owns the way from steps to surface texts: walks the conventions' tables over every step's
 * attributes, events, body and status. Knows no convention itself.
 *
 * Order is part of the contract: steps as given, within a step the tables' order, then events in
 * theirs, the status message last. A text stands once per step and surface.
 */
import type { JsonObject, JsonValue, Step, Surface, SurfaceText } from '../../model.ts';
import { textKey } from '../text-key.ts';
import { type Budget, createBudget } from './budget.ts';
import type { AttributeRow, Convention, EventRow, Place, Reading } from './convention.ts';
import { contentOf, readExchange, readMessageEvent, readMessages } from './messages.ts';
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

export interface Extraction {
  /** by step, then in telling order */
  readonly texts: readonly SurfaceText[];
  /** values of which something was left closed, or out, because they exceed their budget */
  readonly exceeded: number;
}

/**
 * The texts of a run, by surface. Takes time and memory linear in the steps' size.
 * @param steps in time order
 * @param conventions in telling order
 */
export function extractSurfaces(
  steps: readonly Step[],
  conventions: readonly Convention[] = CONVENTIONS,
): Extraction {
  const reader: Reader = {
    rows: conventions.flatMap((convention) => convention.attributes),
    events: new Map(
      conventions.flatMap((convention) => convention.events).map((row) => [row.event, row]),
    ),
    exceeded: 0,
  };
  const kinds = kindsOf(steps);
  const texts = steps.flatMap((step, index) => {
    const seen = new Set<string>();
    return readStep(step, kinds[index] ?? 'other', reader).flatMap(({ surface, text }) => {
      const key = `${surface} ${textKey(text)}`;
      if (seen.has(key) || !isText(text)) return [];
      seen.add(key);
      return [{ step: index, surface, text }];
    });
  });
  return { texts, exceeded: reader.exceeded };
}

/** The conventions' tables, and the one count that reading with them keeps. */
interface Reader {
  readonly rows: readonly AttributeRow[];
  readonly events: ReadonlyMap<string, EventRow>;
  exceeded: number;
}

/** Reads one value on a budget of its own, so that none is read less for its neighbours. */
function onBudget(reader: Reader, read: (budget: Budget) => Piece[]): Piece[] {
  const budget = createBudget();
  const pieces = read(budget);
  if (budget.exceeded) reader.exceeded += 1;
  return pieces;
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

function readStep(step: Step, kind: StepKind, reader: Reader): Piece[] {
  const fromEvents = step.events.flatMap(({ name, attributes }) => {
    const row = reader.events.get(name);
    return row === undefined
      ? []
      : readEvent(row, (budget) => toPlainMap(attributes, budget), step, kind, reader);
  });
  return [
    ...readAttributes(step.attributes, kind, reader),
    ...fromEvents,
    ...(step.source === 'log' ? readLog(step, kind, reader) : readStatus(step, kind, reader)),
  ];
}

function readLog(step: Step, kind: StepKind, reader: Reader): Piece[] {
  const row = logEvent(step, reader.events);
  if (row === undefined) return [];
  return readEvent(row, (budget) => toPlain(step.body, budget), step, kind, reader);
}

/** A status message means something with an error only (OTLP, `Status.message`). */
function readStatus({ statusCode, statusMessage }: Step, kind: StepKind, reader: Reader): Piece[] {
  if (statusCode !== STATUS_ERROR) return [];
  return onBudget(reader, (budget) =>
    place(resolve(FAILURE_PLACE, kind), textsOf(statusMessage, budget)),
  );
}

/** @param plain makes a value of the map plain JSON */
function readAttributes(
  attributes: JsonObject,
  kind: StepKind,
  reader: Reader,
  plain: (value: JsonValue, budget: Budget) => JsonValue = toPlain,
): Piece[] {
  const readOne = (value: JsonValue | undefined, read: Reading) =>
    value === undefined
      ? []
      : onBudget(reader, (budget) => readValue(plain(value, budget), read, kind, budget));
  return reader.rows.flatMap((row) => {
    if ('key' in row) {
      return Object.hasOwn(attributes, row.key) ? readOne(attributes[row.key], row.read) : [];
    }
    return Object.entries(attributes)
      .filter(([key]) => key.startsWith(row.prefix))
      .flatMap(([, value]) => readOne(value, row.read));
  });
}

function readValue(value: JsonValue, read: Reading, kind: StepKind, budget: Budget): Piece[] {
  switch (read.as) {
    case 'text': {
      const values = Array.isArray(value) ? value : [value];
      return place(
        resolve(read.place, kind),
        values.flatMap((one) => textsOf(one, budget)),
      );
    }
    case 'structure':
      return place(resolve(read.place, kind), textsOf(value, budget));
    case 'messages':
      return readMessages(value, read.side, resolve(UNSAID[read.side], kind), budget);
    case 'exchange': {
      const surface = resolve(read.place, kind);
      const isTool = kind === 'tool' || kind === 'retriever';
      return isTool
        ? place(surface, textsOf(value, budget))
        : readExchange(value, read.side, surface, budget);
    }
  }
}

/** Where text without an author stands, by the side it was found on. */
const UNSAID = {
  input: { tool: 'tool_args', else: 'step_input' },
  output: { tool: 'tool_result', else: 'agent_output' },
} as const satisfies Record<string, Place>;

/** @param carry the event's attributes or body, plain, on a budget */
function readEvent(
  row: EventRow,
  carry: (budget: Budget) => JsonValue,
  step: Step,
  kind: StepKind,
  reader: Reader,
): Piece[] {
  if (row.carries === 'attributes') return readCarried(carry, kind, reader);
  const { onTool } = row;
  return onBudget(reader, (budget) => {
    const carrier = carry(budget);
    return onTool !== undefined && kind === 'tool' && isFrom(step, onTool.provider)
      ? place(onTool.surface, textsOf(contentOf(carrier, budget), budget))
      : readMessageEvent(carrier, row.side, row.role, budget);
  });
}

/** Reads an event that carries attributes; from a log body they come plain, or in a string. */
function readCarried(
  carry: (budget: Budget) => JsonValue,
  kind: StepKind,
  reader: Reader,
): Piece[] {
  const budget = createBudget();
  const carrier = open(carry(budget), budget);
  if (budget.exceeded) reader.exceeded += 1;
  if (isObject(carrier)) return readAttributes(carrier, kind, reader, (value) => value);
  return budget.exceeded ? place(resolve(UNSAID.input, kind), textsOf(carrier, budget)) : [];
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
