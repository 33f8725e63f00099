/**
 * Owns a cache of messages that were read before. A model call repeats the conversation so far, so the messages of
 * a run occur many times, and system prompts occur in many runs.
 *
 * A message is found by its JSON, and its result includes everything that reading it does to a budget. A message is not
 * kept if something in it was cut, because whether that is noted depends on the value around it, nor if it could exceed
 * the rest of its budget: then it is read in another way.
 *
 * A list in JSON is divided into its elements without parsing it; only those that are not known are parsed:
 *
 *   [{"role":"user",…}, {"role":"assistant",…}, {"role":"tool",…}]
 *    └─ known: its texts   └─ known                └─ JSON.parse ──► read
 */
import type { JsonValue } from '../../../../model/json.ts';
import { type Budget, DEPTH_MAX, take } from '../budget.ts';
import { isToolDefinition } from './catalogues.ts';
import { elementsOf } from './list-elements.ts';
import type { Piece } from './message-parts.ts';
import { noteRoles } from './words.ts';

/** Characters of messages and of their texts that a thread keeps. */
export const READ_BEFORE_CHARS_MAX = 8 * 1024 * 1024;
/** A longer message, such as one with a picture, is not kept. */
const MESSAGE_CHARS_MAX = 256 * 1024;

/** Facts of a message that decide whether a list with it is read. */
interface Form {
  /** all values in it */
  readonly nodes: number;
  readonly depth: number;
  readonly isDefinition: boolean;
}

interface Read {
  readonly pieces: readonly Piece[];
  readonly chars: number;
  readonly nodes: number;
  readonly unknownRoles: readonly string[];
  readonly form: Form;
}

/** Messages that were read or found last, and those before them; one of each per thread. */
let latest = new Map<string, Read>();
let earlier: ReadonlyMap<string, Read> = new Map();
let latestChars = 0;

function find(key: string): Read | undefined {
  const known = latest.get(key);
  if (known !== undefined) return known;
  const before = earlier.get(key);
  if (before !== undefined) keep(key, before);
  return before;
}

function keep(key: string, read: Read): void {
  const chars = read.pieces.reduce((sum, { text }) => sum + text.length, key.length);
  if (latestChars + chars > READ_BEFORE_CHARS_MAX / 2) {
    earlier = latest;
    latest = new Map();
    latestChars = 0;
  }
  latestChars += chars;
  latest.set(key, read);
}

/** Reads a message with what is left of a budget. */
type ReadMessage = (message: JsonValue, budget: Budget) => readonly Piece[];

/**
 * Reads a message, unless the same one was read before.
 * @param message not cut by its sender, and none inside it is
 * @param how everything else that `read` depends on
 */
export function readOnce(
  message: JsonValue,
  how: string,
  budget: Budget,
  read: ReadMessage,
): readonly Piece[] {
  const key = `${how}${JSON.stringify(message)}`;
  const before = find(key);
  return again(before, budget) ?? readFirst(message, key, before?.form, budget, read);
}

interface Element {
  readonly text: string;
  readonly key: string;
  readonly before: Read | undefined;
  readonly message: JsonValue;
  readonly form: Form;
}

/**
 * Reads a list of messages in JSON as `readOnce` reads each of them.
 * @param how everything else that `read` depends on
 * @param leavesDefinitions a list of nothing but tools' definitions has no texts
 * @returns null if this is no list of objects, or more than the budget has: nothing was read then
 */
export function readListOnce(
  json: string,
  how: string,
  leavesDefinitions: boolean,
  budget: Budget,
  read: ReadMessage,
): Piece[] | null {
  const texts = json.length > budget.chars ? null : elementsOf(json);
  if (texts === null) return null;
  const elements: Element[] = [];
  let nodes = 1;
  for (const text of texts) {
    const element = toElement(text, how);
    if (element === null) return null;
    nodes += element.form.nodes;
    if (nodes > budget.nodes || element.form.depth >= DEPTH_MAX) return null;
    elements.push(element);
  }
  take(budget, 'chars', json.length);
  take(budget, 'nodes', nodes);
  if (leavesDefinitions && elements.every(({ form }) => form.isDefinition)) return [];
  return elements.flatMap(({ text, key, before, message, form }) => {
    const known = again(before, budget);
    if (known !== null) return known;
    return readFirst(before === undefined ? message : JSON.parse(text), key, form, budget, read);
  });
}

/** @returns null if it is not valid JSON */
function toElement(text: string, how: string): Element | null {
  const key = `${how}${text}`;
  const before = find(key);
  if (before !== undefined) return { text, key, before, message: null, form: before.form };
  try {
    const message: JsonValue = JSON.parse(text);
    return { text, key, before, message, form: formOf(message) };
  } catch {
    // The whole list is not valid either: it is read as a text, or as JSON that was cut.
    return null;
  }
}

/** Takes from the budget what reading the message took; null if the budget has less. */
function again(before: Read | undefined, budget: Budget): readonly Piece[] | null {
  if (before === undefined || before.chars > budget.chars || before.nodes > budget.nodes) {
    return null;
  }
  take(budget, 'chars', before.chars);
  take(budget, 'nodes', before.nodes);
  noteRoles(budget.unknownRoles, before.unknownRoles);
  return before.pieces;
}

function readFirst(
  message: JsonValue,
  key: string,
  form: Form | undefined,
  budget: Budget,
  read: ReadMessage,
): readonly Piece[] {
  const own: Budget = {
    ...budget,
    exceeded: false,
    cut: false,
    hasCutJson: false,
    unknownRoles: new Set(),
  };
  const pieces = read(message, own);
  const [chars, nodes] = [budget.chars - own.chars, budget.nodes - own.nodes];
  // With so much left after all of it, no string of the message was too long for the budget.
  const isSame = !own.exceeded && !own.hasCutJson && key.length <= own.chars;
  if (isSame && key.length <= MESSAGE_CHARS_MAX) {
    const unknownRoles = [...own.unknownRoles];
    keep(key, { pieces, chars, nodes, unknownRoles, form: form ?? formOf(message) });
  }
  budget.chars = own.chars;
  budget.nodes = own.nodes;
  budget.exceeded ||= own.exceeded;
  budget.cut ||= own.cut;
  budget.hasCutJson ||= own.hasCutJson;
  noteRoles(budget.unknownRoles, own.unknownRoles);
  return pieces;
}

function formOf(message: JsonValue): Form {
  let nodes = 0;
  let depth = -1;
  for (let level = [message]; level.length > 0; depth += 1) {
    nodes += level.length;
    const next: JsonValue[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      for (const member of Object.values(value)) next.push(member);
    }
    level = next;
  }
  return { nodes, depth, isDefinition: isToolDefinition(message) };
}
