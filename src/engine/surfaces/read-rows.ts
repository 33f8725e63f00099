/**
 * Owns the reading of one step by the rows of the conventions that are about it: attributes, then
 * events, then what only repeats them raw. Knows no convention itself.
 */
import type { JsonObject, JsonValue, Step, Surface } from '../../model.ts';
import { type Budget, createBudget } from './budget.ts';
import type {
  AttributeRow,
  Convention,
  EventRow,
  FlattenedMessages,
  Place,
  Reading,
  Side,
  StepKind,
} from './convention.ts';
import { closeCut } from './cut-json.ts';
import { isSchema, takeOff } from './envelope.ts';
import { unflatten } from './flatten.ts';
import { contentOf, readExchange, readMessageEvent, readMessages } from './messages.ts';
import { type Piece, place } from './parts.ts';
import { isObject, open, stringsOf, textsOf, toPlain, toPlainMap } from './value-text.ts';

/** The tables of the conventions that are about a step. */
export interface Tables {
  readonly rows: readonly AttributeRow[];
  readonly events: ReadonlyMap<string, EventRow>;
  readonly namedAsScope: readonly AttributeRow[];
  readonly unnamed: readonly AttributeRow[];
}

/**
 * The tables of several conventions as one. What the first of them says of a key, or of an event's
 * name, counts: a producer may use the general ones in its own way.
 */
export function tablesOf(conventions: readonly Convention[]): Tables {
  const events = new Map<string, EventRow>();
  for (const row of conventions.flatMap((convention) => convention.events)) {
    if (!events.has(row.event)) events.set(row.event, row);
  }
  const known = new Set<string>();
  const rows = conventions.flatMap(({ attributes }) => {
    const fresh = attributes.filter((row) => !('key' in row && known.has(row.key)));
    for (const row of fresh) if ('key' in row) known.add(row.key);
    return fresh;
  });
  const namedAsScope = conventions.flatMap((convention) => convention.namedAsScope ?? []);
  const unnamed = conventions.flatMap((convention) => convention.unnamed ?? []);
  return { rows, events, namedAsScope, unnamed };
}

export interface StepTexts {
  readonly pieces: readonly Piece[];
  /** values of which something was left closed, or out, because they exceed their budget */
  readonly exceeded: number;
}

/**
 * The texts of a step.
 * @param kind of the step, or for a log record that does not show one, of its span
 */
export function readStep(step: Step, kind: StepKind, tables: Tables): StepTexts {
  const reading = new StepReading(step, kind, tables);
  return { pieces: reading.pieces(), exceeded: reading.exceeded };
}

/** The row of a log record's event, which stands in an attribute, its own field, or is its body. */
export function logEvent(
  { attributes, name, body }: Step,
  { events }: Pick<Tables, 'events'>,
): EventRow | undefined {
  // LiteLLM spells the attribute its own way.
  for (const told of [attributes['event.name'], name, body, attributes.event_name]) {
    const row = typeof told === 'string' ? rowOf(events, told) : undefined;
    if (row !== undefined) return row;
  }
  return undefined;
}

const MIDDLE = /(?<=^\w+\.).+(?=\.\w+$)/;
const EVENT_CHARS_MAX = 256;

/** The row of an event's name, or the one of all names that begin and end alike. */
function rowOf(events: ReadonlyMap<string, EventRow>, name: string): EventRow | undefined {
  const exact = events.get(name);
  if (exact !== undefined || name.length > EVENT_CHARS_MAX) return exact;
  return events.get(name.replace(MIDDLE, '*'));
}

/** Makes a value plain JSON. */
type ToPlain = (value: JsonValue, budget: Budget) => JsonValue;

const asIs: ToPlain = (value) => value;

/** Where text without an author stands, by the side it was found on. */
const UNSAID = {
  input: { tool: 'tool_args', retriever: 'step_input', else: 'step_input' },
  output: { tool: 'tool_result', retriever: 'tool_result', else: 'agent_output' },
} as const satisfies Record<Side, Place>;

const INPUTS: ReadonlySet<Surface> = new Set(['step_input', 'tool_args', 'query_text']);

class StepReading {
  readonly #step: Step;
  readonly #kind: StepKind;
  readonly #tables: Tables;
  /** the sides of the step of which something was told properly */
  readonly #told = new Set<Side>();
  exceeded = 0;

  constructor(step: Step, kind: StepKind, tables: Tables) {
    this.#step = step;
    this.#kind = kind;
    this.#tables = tables;
  }

  pieces(): Piece[] {
    const { rows, events } = this.#tables;
    const step = this.#step;
    const isRaw = (row: AttributeRow) => row.raw !== undefined;
    return [
      ...this.#readAttributes(
        rows.filter((row) => !isRaw(row)),
        step.attributes,
        toPlain,
      ),
      ...step.events.flatMap(({ name, attributes }) => {
        const row = rowOf(events, name);
        return row === undefined ? [] : this.#readEvent(row, attributes, toPlainMap);
      }),
      ...(step.source === 'log' ? this.#readLog() : []),
      ...this.#readAttributes(rows.filter(isRaw), step.attributes, toPlain),
    ];
  }

  #readLog(): Piece[] {
    const row = logEvent(this.#step, this.#tables);
    if (row === undefined) return this.#readBody();
    const { attributes, body } = this.#step;
    if (row.carries !== 'own') return this.#readEvent(row, body, toPlain);
    return this.#readAttributes(row.attributes, attributes, toPlain);
  }

  /** The body of a log record whose event no row is about. */
  #readBody(): Piece[] {
    const { attributes, name, scopeName, spanId, body } = this.#step;
    const { namedAsScope, unnamed } = this.#tables;
    const names = [attributes['event.name'], attributes.event_name, name].filter(
      (told) => typeof told === 'string' && told !== '',
    );
    if (names.length > 0) {
      const isOne = names.includes(scopeName) && isObject(body);
      return isOne ? this.#readAttributes(namedAsScope, body, toPlain) : [];
    }
    return spanId === null ? [] : this.#readAttributes(unnamed, { body }, toPlain);
  }

  #readAttributes(rows: readonly AttributeRow[], attributes: JsonObject, plain: ToPlain): Piece[] {
    return rows.flatMap((row) => {
      if (row.raw !== undefined && this.#told.has(row.raw)) return [];
      const pieces = this.#readRow(row, attributes, plain);
      if (row.raw === undefined) this.#noteSides(row, pieces);
      return pieces;
    });
  }

  #noteSides({ read }: AttributeRow, pieces: readonly Piece[]): void {
    if (pieces.length === 0 || this.#step.dropped > 0) return;
    if ('side' in read) this.#told.add(read.side);
    else if (read.as !== 'events') {
      const surface = resolve(read.place, this.#kind);
      if (surface !== 'tool_name') this.#told.add(INPUTS.has(surface) ? 'input' : 'output');
    }
  }

  #readRow(row: AttributeRow, attributes: JsonObject, plain: ToPlain): Piece[] {
    const { read } = row;
    if (!isOn(row, this.#kind)) return [];
    if ('key' in row) {
      const value = Object.hasOwn(attributes, row.key) ? attributes[row.key] : undefined;
      return value === undefined ? [] : this.#readOne(value, row, row.read, plain);
    }
    if ('of' in row) return this.#readOne(this.#step.name, row, row.read, asIs);
    const { prefix } = row;
    const under = Object.entries(attributes).filter(([key]) => key.startsWith(prefix));
    if (under.length === 0) return [];
    if (read.as === 'flattened') return this.#readFlattened(under, prefix, read, plain);
    const suffix = 'suffix' in row ? (row.suffix ?? '') : '';
    const except = 'except' in row ? (row.except ?? []) : [];
    return under
      .filter(([key]) => key.endsWith(suffix))
      .filter(([key]) => !except.some((other) => key.startsWith(other, prefix.length)))
      .flatMap(([, value]) => this.#readOne(value, row, read, plain));
  }

  #readFlattened(
    under: readonly (readonly [string, JsonValue])[],
    prefix: string,
    { side, wrappers, renamed }: FlattenedMessages,
    plain: ToPlain,
  ): Piece[] {
    return this.#onBudget((budget) => {
      const leaves = under.map(
        ([key, value]) => [key.slice(prefix.length), plain(value, budget)] as const,
      );
      const unsaid = resolve(UNSAID[side], this.#kind);
      return readMessages(unflatten(leaves, wrappers, renamed), side, unsaid, budget);
    });
  }

  /** Reads one value on a budget of its own, so that none is read less for its neighbours. */
  #readOne(value: JsonValue, row: AttributeRow, read: Reading, plain: ToPlain): Piece[] {
    return this.#onBudget((budget) => {
      const sent = plain(value, budget);
      const whole = row.mayBeCut === true && typeof sent === 'string' ? closeCut(sent) : sent;
      const told = row.earlierBy === undefined ? whole : this.#newIn(whole, row.earlierBy, budget);
      const maybeSchema =
        row.schemaWith !== undefined && this.#step.attributes[row.schemaWith] !== undefined;
      if (maybeSchema && isSchema(told, budget)) return [];
      return this.#readValue(told, read, budget);
    });
  }

  /** What a list has from this run; all of it when the number is none of elements of it. */
  #newIn(value: JsonValue, earlierBy: string, budget: Budget): JsonValue {
    const earlier = Number(this.#step.attributes[earlierBy] ?? 0);
    const list = Number.isInteger(earlier) && earlier > 0 ? open(value, budget) : value;
    return Array.isArray(list) && earlier <= list.length ? list.slice(earlier) : value;
  }

  #readValue(value: JsonValue, read: Reading, budget: Budget): Piece[] {
    switch (read.as) {
      case 'text': {
        const values = Array.isArray(value) ? value : [value];
        return place(
          resolve(read.place, this.#kind),
          values.flatMap((one) => textsOf(one, budget)),
        );
      }
      case 'messages':
        return this.#readTold(value, read, budget);
      case 'events':
        return this.#readEvents(value, budget);
      case 'structure':
      case 'exchange':
        return this.#readInside(value, read, budget);
    }
  }

  /** Messages, in an envelope or not, and in one piece or not. */
  #readTold(
    value: JsonValue,
    { side, envelope, streamed }: Extract<Reading, { as: 'messages' }>,
    budget: Budget,
  ): Piece[] {
    const unsaid = resolve(UNSAID[side], this.#kind);
    const { names, values } = takeOff(value, envelope, budget);
    const pieces = values.flatMap((one) => readMessages(one, side, unsaid, budget));
    return [
      ...place(
        'tool_name',
        names.flatMap((name) => stringsOf(name, budget)),
      ),
      ...(streamed === true ? joinSaid(pieces) : pieces),
    ];
  }

  /** What is inside an envelope, if there is one. */
  #readInside(
    value: JsonValue,
    read: Extract<Reading, { as: 'structure' | 'exchange' }>,
    budget: Budget,
  ): Piece[] {
    const surface = resolve(read.place, this.#kind);
    const isTold = read.as === 'exchange' && this.#kind !== 'tool' && this.#kind !== 'retriever';
    const isEncoded = isTold && read.encoded === true;
    if (isEncoded && typeof value === 'string' && QUOTED.test(value)) {
      return readExchange(open(value, budget, 1), read.side, surface, budget);
    }
    const { names, values } = takeOff(value, read.envelope, budget);
    return [
      ...place(
        'tool_name',
        names.flatMap((name) => stringsOf(name, budget)),
      ),
      ...values.flatMap((one) =>
        isTold
          ? // What an envelope holds is as it was said.
            (isEncoded && one === value ? readMessages : readExchange)(
              one,
              read.side,
              surface,
              budget,
            )
          : place(surface, textsOf(one, budget)),
      ),
    ];
  }

  /** A list of events that would else be span events: each names itself. */
  #readEvents(value: JsonValue, budget: Budget): Piece[] {
    const list = open(value, budget);
    return (Array.isArray(list) ? list : [list]).flatMap((one) => {
      const { 'event.name': name, ...event } = isObject(one) ? one : {};
      const row = typeof name === 'string' ? rowOf(this.#tables.events, name) : undefined;
      if (row !== undefined) return this.#readEvent(row, event, asIs);
      return place('step_output', textsOf(one, budget));
    });
  }

  #readEvent<Carrier extends JsonValue>(
    row: EventRow,
    carrier: Carrier,
    plain: (carrier: Carrier, budget: Budget) => JsonValue,
  ): Piece[] {
    switch (row.carries) {
      case 'attributes':
        return this.#readCarried(this.#tables.rows, (budget) => plain(carrier, budget));
      case 'own':
        return this.#readCarried(row.attributes, (budget) => plain(carrier, budget));
      case 'message': {
        const { onTool, beside } = row;
        this.#told.add(row.side);
        const pieces = this.#onBudget((budget) => {
          const told = plain(carrier, budget);
          return onTool !== undefined &&
            this.#kind === 'tool' &&
            isFrom(this.#step, onTool.provider)
            ? place(onTool.surface, textsOf(contentOf(told, budget), budget))
            : readMessageEvent(told, row.side, row.role, budget);
        });
        if (beside === undefined) return pieces;
        return [...pieces, ...this.#readCarried(beside, (budget) => plain(carrier, budget))];
      }
      case 'nothing':
        return [];
    }
  }

  /** Reads an event that carries attributes; from a log body they come plain, or in a string. */
  #readCarried(rows: readonly AttributeRow[], carry: (budget: Budget) => JsonValue): Piece[] {
    const budget = createBudget();
    const carrier = open(carry(budget), budget);
    if (budget.exceeded) this.exceeded += 1;
    if (isObject(carrier)) return this.#readAttributes(rows, carrier, asIs);
    return budget.exceeded
      ? place(resolve(UNSAID.input, this.#kind), textsOf(carrier, budget))
      : [];
  }

  #onBudget(read: (budget: Budget) => Piece[]): Piece[] {
    const budget = createBudget();
    const pieces = read(budget);
    if (budget.exceeded) this.exceeded += 1;
    return pieces;
  }
}

/** A string that its producer wrote as JSON. */
const QUOTED = /^\s*"/;

function isOn({ onKinds, notOnKinds }: AttributeRow, kind: StepKind): boolean {
  return onKinds?.includes(kind) !== false && notOnKinds?.includes(kind) !== true;
}

/** What the model said, in one text where its first bit stood. */
function joinSaid(pieces: readonly Piece[]): Piece[] {
  const isSaid = ({ surface }: Piece) => surface === 'agent_output';
  const said = pieces.filter(isSaid).map(({ text }) => text);
  const first = pieces.findIndex(isSaid);
  return pieces.flatMap((piece, index) => {
    if (!isSaid(piece)) return [piece];
    return index === first ? place('agent_output', [said.join('')]) : [];
  });
}

function isFrom(step: Step, provider: string | undefined): boolean {
  const { 'gen_ai.provider.name': current, 'gen_ai.system': deprecated } = step.attributes;
  return provider === undefined || current === provider || deprecated === provider;
}

/** The surface a place means on a step of that kind. */
export function resolve(where: Place, kind: StepKind): Surface {
  return typeof where === 'string' ? where : (where[kind] ?? where.else);
}
