/**
 * Owns the reading of one step by the rows of the conventions that apply to it: attributes, then
 * events, then `raw` attributes that repeat them. Knows no convention itself.
 */
import type { JsonObject, JsonValue } from '../../../model/json.ts';
import type { Step, StepKind, Surface } from '../../../model/steps.ts';
import { textKey } from '../../matcher/text-key.ts';
import { type Budget, createBudget } from './budget.ts';
import type {
  AttributeRow,
  EncodingSender,
  EventRow,
  FlattenedMessages,
  RowReading,
  Side,
} from './convention.ts';
import type { StepConventions } from './convention-index.ts';
import { type ConventionTables, eventRow, logEvent } from './convention-tables.ts';
import { isSchema } from './envelope.ts';
import { type Piece, textsOn } from './messages/message-parts.ts';
import { contentOf, decodeParts, readMessageEvent, readMessages } from './messages/messages.ts';
import { noteRoles } from './messages/words.ts';
import { FALLBACK_SURFACE, readValue, surfaceOn } from './read-value.ts';
import { RowTable } from './row-table.ts';
import { EVENT_NAME_KEYS } from './run-rows.ts';
import { isObject, open, toPlain, toPlainMap } from './value-text.ts';

interface StepTexts {
  readonly pieces: readonly Piece[];
  readonly exceeded: number;
  readonly isCut: boolean;
  readonly unknownRoles: ReadonlySet<string>;
}

const PIECE_EVENTS = 50;

/**
 * The texts of a step, an attribute's row or a few events at a time.
 * @param kind of the step, or for a log record that does not show one, of its span
 */
export function* readStepInPieces(
  step: Step,
  kind: StepKind,
  conventions: Pick<StepConventions, 'tables' | 'rows'>,
): Generator<void, StepTexts, void> {
  const reading = new StepReading(step, kind, conventions);
  const pieces = yield* reading.inPieces();
  const { exceeded, isCut, unknownRoles } = reading;
  return { pieces, exceeded, isCut, unknownRoles };
}

type ToPlain = (value: JsonValue) => JsonValue;

const asIs: ToPlain = (value) => value;

const INPUTS: ReadonlySet<Surface> = new Set(['step_input', 'tool_args', 'query_text']);

class StepReading {
  readonly #step: Step;
  readonly #kind: StepKind;
  readonly #tables: ConventionTables;
  readonly #rows: readonly AttributeRow[];
  /** sides with a text from an attribute or event that is not `raw` */
  readonly #sidesRead = new Set<Side>();
  exceeded = 0;
  isCut = false;
  readonly unknownRoles = new Set<string>();

  constructor(
    step: Step,
    kind: StepKind,
    { tables, rows }: Pick<StepConventions, 'tables' | 'rows'>,
  ) {
    this.#step = step;
    this.#kind = kind;
    this.#tables = tables;
    this.#rows = rows;
  }

  *inPieces(): Generator<void, Piece[], void> {
    const { source } = this.#step;
    const applicable = this.#rows;
    const pieces: Piece[] = [];
    yield* this.#rowsInPieces(applicable, [undefined], pieces);
    yield* this.#eventsInPieces(pieces);
    if (source === 'log') for (const piece of this.#readLog()) pieces.push(piece);
    yield* this.#rowsInPieces(applicable, ['input', 'output'], pieces);
    const repeated: Piece[] = [];
    yield* this.#rowsInPieces(applicable, ['equal'], repeated);
    if (repeated.length === 0) return pieces;
    const known = new Set(pieces.map(({ text }) => textKey(text)));
    const others = repeated.filter(({ text }) => !known.has(textKey(text)));
    return [...pieces, ...others.map((one) => ({ ...one, repeats: Number.POSITIVE_INFINITY }))];
  }

  *#rowsInPieces(
    rows: readonly AttributeRow[],
    raws: readonly AttributeRow['raw'][],
    texts: Piece[],
  ): Generator<void, void, void> {
    for (const row of rows) {
      if (!raws.includes(row.raw)) continue;
      const read = this.#readAttributes([row], this.#step.attributes, toPlain);
      if (read.length === 0) continue;
      for (const piece of read) texts.push(piece);
      yield;
    }
  }

  *#eventsInPieces(texts: Piece[]): Generator<void, void, void> {
    for (const [index, event] of this.#step.events.entries()) {
      if (index % PIECE_EVENTS === PIECE_EVENTS - 1) yield;
      const row = eventRow(this.#tables.events, event.name);
      if (row === undefined) continue;
      for (const piece of this.#readEvent(row, toPlainMap(event.attributes))) texts.push(piece);
    }
  }

  #readLog(): Piece[] {
    const row = logEvent(this.#step, this.#tables);
    if (row === undefined) return this.#readBody();
    const { attributes, body } = this.#step;
    if (row.carries === 'own') return this.#readAttributes(row.attributes, attributes, toPlain);
    // A span event that was converted to a log record still has its message in the attributes.
    const isInAttributes = row.carries === 'message' && (body === null || body === row.event);
    return this.#readEvent(row, isInAttributes ? toPlainMap(attributes) : toPlain(body));
  }

  /** Reads the body of a log record if its event has no row. */
  #readBody(): Piece[] {
    const { attributes, name, scopeName, spanId, body } = this.#step;
    const { namedAsScope, unnamed } = this.#tables;
    const names = [...EVENT_NAME_KEYS.map((key) => attributes[key]), name].filter(
      (one) => typeof one === 'string' && one !== '',
    );
    if (names.length > 0) {
      const isNamedAsScope = names.includes(scopeName) && isObject(body);
      return isNamedAsScope ? this.#readAttributes(namedAsScope, body, toPlain) : [];
    }
    return spanId === null ? [] : this.#readAttributes(unnamed, { body }, toPlain);
  }

  #readAttributes(rows: readonly AttributeRow[], attributes: JsonObject, plain: ToPlain): Piece[] {
    return rows.flatMap((row) => {
      if (row.raw !== undefined && row.raw !== 'equal' && this.#sidesRead.has(row.raw)) return [];
      const pieces = this.#readRow(row, attributes, plain);
      if (row.raw === undefined && row.aside !== true) this.#noteSides(row, pieces);
      return pieces;
    });
  }

  #noteSides({ read }: AttributeRow, pieces: readonly Piece[]): void {
    if (pieces.length === 0 || this.#step.dropped > 0) return;
    if ('side' in read) this.#sidesRead.add(read.side);
    else if (read.as !== 'events') {
      const surface = surfaceOn(read.surface, this.#kind);
      if (surface !== 'tool_name') this.#sidesRead.add(INPUTS.has(surface) ? 'input' : 'output');
    }
  }

  #readRow(row: AttributeRow, attributes: JsonObject, plain: ToPlain): Piece[] {
    const { read } = row;
    if (!isOn(row, this.#kind, this.#step.attributes)) return [];
    if ('key' in row) {
      const value = Object.hasOwn(attributes, row.key) ? attributes[row.key] : undefined;
      const isEcho = row.echoOf !== undefined && value === attributes[row.echoOf];
      return value === undefined || isEcho ? [] : this.#readOne(value, row, row.read, plain);
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
      .filter(([key]) => !except.includes(key.slice(prefix.length)))
      .flatMap(([, value]) => this.#readOne(value, row, read, plain));
  }

  #readFlattened(
    under: readonly (readonly [string, JsonValue])[],
    prefix: string,
    { side, wrappers, renamed }: FlattenedMessages,
    plain: ToPlain,
  ): Piece[] {
    const leaves = under.map(([key, value]) => [key.slice(prefix.length), plain(value)] as const);
    const sent = leaves.map(([, value]) => value);
    return this.#onBudget(sent, (budget) => {
      const fallback = surfaceOn(FALLBACK_SURFACE[side], this.#kind);
      return readMessages(unflatten(leaves, wrappers, renamed), side, fallback, budget);
    });
  }

  /** Reads one value on a separate budget. */
  #readOne(stored: JsonValue, row: AttributeRow, read: RowReading, plain: ToPlain): Piece[] {
    const sent = plain(stored);
    // A plain text may be the beginning of JSON by itself: a model's answer at its limit of tokens.
    return this.#onBudget(read.as === 'text' ? [] : sent, (budget) => {
      const value =
        row.earlierBy === undefined ? sent : this.#newElements(sent, row.earlierBy, budget);
      const maybeSchema =
        row.schemaWith !== undefined && this.#step.attributes[row.schemaWith] !== undefined;
      if (maybeSchema && isSchema(value, budget)) return [];
      if (read.as === 'events') return this.#readEvents(value, budget);
      const { jsonBy, stubs } = row;
      const reading =
        jsonBy !== undefined && read.as === 'exchange'
          ? { ...read, encoded: this.#step.attributes[jsonBy.key] === jsonBy.value }
          : read;
      const pieces = readValue(value, reading, this.#kind, budget);
      return stubs === undefined ? pieces : pieces.filter(({ text }) => !stubs.test(text));
    });
  }

  /** The elements that earlier runs did not send; all, if the number does not fit the list. */
  #newElements(value: JsonValue, earlierBy: string, budget: Budget): JsonValue {
    const earlier = Number(this.#step.attributes[earlierBy] ?? 0);
    const list = Number.isInteger(earlier) && earlier > 0 ? open(value, budget) : value;
    return Array.isArray(list) && earlier <= list.length ? list.slice(earlier) : value;
  }

  /** A list of events in place of span events; each has its name as a member. */
  #readEvents(value: JsonValue, budget: Budget): Piece[] {
    const list = open(value, budget);
    return (Array.isArray(list) ? list : [list]).flatMap((one) => {
      const { 'event.name': name, ...event } = isObject(one) ? one : {};
      const row = typeof name === 'string' ? eventRow(this.#tables.events, name) : undefined;
      if (row !== undefined) return this.#readEvent(row, event);
      return textsOn('step_output', one, budget);
    });
  }

  /** @param carrier plain JSON with the event's content */
  #readEvent(row: EventRow, carrier: JsonValue): Piece[] {
    switch (row.carries) {
      case 'attributes':
        return this.#readCarried(this.#tables.rows, carrier);
      case 'own':
        return this.#readCarried(row.attributes, carrier);
      case 'message': {
        const { onTool, encodedBy, beside, side, role } = row;
        const isToolText =
          onTool !== undefined && this.#kind === 'tool' && isFrom(this.#step, onTool.provider);
        const pieces = this.#onBudget(carriedIn(carrier), (budget) =>
          isToolText
            ? textsOn(onTool.surface, contentOf(carrier, budget), budget)
            : readMessageEvent(
                this.#isEncoded(encodedBy, side) ? decodeParts(carrier, budget) : carrier,
                side,
                role,
                budget,
              ),
        );
        if (pieces.length > 0 && this.#step.dropped === 0) this.#sidesRead.add(side);
        return beside === undefined ? pieces : [...pieces, ...this.#readCarried(beside, carrier)];
      }
      case 'nothing':
        return [];
    }
  }

  #isEncoded(sender: EncodingSender | undefined, side: Side): boolean {
    if (sender === undefined || (side === 'output' && this.#kind === 'agent')) return false;
    const { attributes } = this.#step;
    return isFrom(this.#step, sender.provider) || sender.keys.some((key) => key in attributes);
  }

  /** Reads an event that carries attributes; a log record's body may have them in a JSON string. */
  #readCarried(rows: readonly AttributeRow[] | RowTable, sent: JsonValue): Piece[] {
    const budget = createBudget(sent);
    const carrier = open(sent, budget);
    this.#note(budget);
    if (isObject(carrier)) {
      const applicable = rows instanceof RowTable ? rows.rowsFor(carrier) : rows;
      return this.#readAttributes(applicable, carrier, asIs);
    }
    return budget.exceeded
      ? textsOn(surfaceOn(FALLBACK_SURFACE.input, this.#kind), carrier, budget)
      : [];
  }

  #onBudget(sent: JsonValue, read: (budget: Budget) => Piece[]): Piece[] {
    const budget = createBudget(sent);
    const pieces = read(budget);
    this.#note(budget);
    return pieces;
  }

  #note({ exceeded, cut, unknownRoles }: Budget): void {
    if (exceeded) this.exceeded += 1;
    if (cut) this.isCut = true;
    noteRoles(this.unknownRoles, unknownRoles);
  }
}

function carriedIn(carrier: JsonValue): JsonValue[] {
  return isObject(carrier) ? Object.values(carrier) : [carrier];
}

function isOn(
  { onKinds, notOnKinds, where, whereNot }: AttributeRow,
  kind: StepKind,
  attributes: JsonObject,
): boolean {
  return (
    onKinds?.includes(kind) !== false &&
    notOnKinds?.includes(kind) !== true &&
    (where === undefined || attributes[where.key] === where.value) &&
    (whereNot === undefined || attributes[whereNot.key] !== whereNot.value)
  );
}

function isFrom(step: Step, provider: string | undefined): boolean {
  const { 'gen_ai.provider.name': current, 'gen_ai.system': deprecated } = step.attributes;
  return provider === undefined || current === provider || deprecated === provider;
}

// Owns the conversion of flattened attributes, one per leaf, to the messages that they were:
// `llm.input_messages.0.message.role` … → `[{role, …}]`.
//
// Indexes are the sender's: only their order counts. Must be linear in the number of attributes.

const INDEX = /^\d{1,9}$/;

/** Depth of members; the rest of a deeper key is one name. Bounds the recursion. */
const DEPTH = 64;

/** A member under construction: a leaf, or members by name. */
type Node = JsonValue | Map<string, Node>;

/**
 * @param entries key (without the prefix) and value of every attribute under the prefix; those
 *   whose key does not begin with a number are left out
 * @param wrappers members that are replaced by what is inside them
 * @param renamed member → the name to use instead
 */
function unflatten(
  entries: Iterable<readonly [string, JsonValue]>,
  wrappers: readonly string[] = [],
  renamed: Readonly<Record<string, string>> = {},
): JsonValue[] {
  const names = new Map(Object.entries(renamed));
  const root = new Map<string, Node>();
  for (const [key, value] of entries) {
    const path = split(key)
      .filter((name) => !wrappers.includes(name))
      .map((name) => names.get(name) ?? name);
    const first = path[0];
    if (first !== undefined && INDEX.test(first)) put(root, path, value);
  }
  const list = toJson(root);
  return Array.isArray(list) ? list : [];
}

function split(key: string): string[] {
  const path = key.split('.');
  if (path.length <= DEPTH) return path;
  return [...path.slice(0, DEPTH - 1), path.slice(DEPTH - 1).join('.')];
}

function put(root: Map<string, Node>, path: readonly string[], value: JsonValue): void {
  let node = root;
  for (const name of path.slice(0, -1)) {
    const next = node.get(name);
    if (next instanceof Map) {
      node = next;
      continue;
    }
    const fresh = new Map<string, Node>();
    // A leaf that turns out to have members keeps its own value as `content`.
    if (next !== undefined) fresh.set('content', next);
    node.set(name, fresh);
    node = fresh;
  }
  const last = path.at(-1) ?? '';
  const known = node.get(last);
  if (known instanceof Map) known.set('content', value);
  else node.set(last, value);
}

/** Members that all are numbers become a list, in numeric order. */
function toJson(node: Node): JsonValue {
  if (!(node instanceof Map)) return node;
  const entries = [...node];
  if (entries.length > 0 && entries.every(([name]) => INDEX.test(name))) {
    return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, inner]) => toJson(inner));
  }
  return Object.fromEntries(entries.map(([name, inner]) => [name, toJson(inner)])) as JsonObject;
}
