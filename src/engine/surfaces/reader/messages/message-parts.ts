/**
 * Owns the reading of a message part: a text, a tool call, a tool's result inside a message. The
 * shapes of parts are data (`part-shapes.ts`, `parts` of a convention), found by the words of a
 * part's type (`words.ts`).
 *
 * The kind of a part never depends on the role: a tool's result repeated in a prompt stays a result.
 */
import type { JsonObject, JsonValue } from '../../../../model/json.ts';
import type { Surface } from '../../../../model/steps.ts';
import { CONVENTIONS } from '../../conventions/conventions.ts';
import { isBase64 } from '../base64.ts';
import { type Budget, isOpenEnded } from '../budget.ts';
import type { PartShape } from '../convention.ts';
import { isObject, stringsOf, textsOf } from '../value-text.ts';
import {
  BARE_TEXT,
  CALL,
  MEDIA,
  OF_TOOL,
  OPAQUE,
  RESULT,
  SHARED_PARTS,
  THOUGHT,
} from './part-shapes.ts';
import {
  actOfMember,
  actOfType,
  bareType,
  isCallId,
  isMediaType,
  isMessageClass,
  isToolType,
  tagsOf,
  thoughtOf,
} from './words.ts';

export interface Piece {
  readonly surface: Surface;
  readonly text: string;
  /**
   * number of pieces right before this one whose content it has again: the JSON that they are in, or another
   * form of it. The cap of a surface is spent on them first; `Infinity` for everything else of the step.
   */
  readonly repeats?: number;
}

const PARTS = [SHARED_PARTS, ...CONVENTIONS.flatMap(({ parts }) => parts ?? [])];
const BY_TYPE = new Map(PARTS.flatMap(({ byType }) => Object.entries(byType ?? {})));
const BY_MEMBER = PARTS.flatMap(({ byMember }) => Object.entries(byMember ?? {}));

export function isPart(value: JsonValue): boolean {
  return isObject(value) && findShape(value) !== null;
}

/**
 * The texts of one part.
 * @param said the surface of what the message's author says; null leaves it out (operator's text)
 * @returns for a part of no known shape: all its strings, as said; of one that was cut: none
 */
export function readPart(part: JsonValue, said: Surface | null, budget: Budget): Piece[] {
  if (!isObject(part)) return textsOn(said, part, budget);
  const found = findShape(part);
  // Cut before it showed its shape, a part may be a call, or a tool's result.
  if (found === null && isOpenEnded(part, budget)) return [];
  if (found === null) return onSurface(said, unknownTexts(part, budget));
  const { shape, body, around } = found;
  const taken = new Set<string>();
  const take = (names: readonly string[] = []): JsonValue => {
    const name = names.find((one) => !taken.has(one) && !isEmpty(body[one]));
    if (name !== undefined) taken.add(name);
    return name === undefined ? null : unwrap(body[name] ?? null, budget);
  };
  const reference = shape.media === undefined ? null : take(shape.media.reference);
  const spoken = textsOn(said, take(shape.said), budget);
  const thought = textsOn('agent_output', take(shape.thought), budget);
  const name = onSurface('tool_name', stringsOf(take(shape.toolName), budget));
  const args = take(shape.toolArgs);
  // A call of an unknown form has its arguments as direct members.
  const isBareCall = shape === CALL && args === null;
  const rest = shape.rest ?? (isBareCall ? 'tool_args' : said);
  return [
    ...spoken,
    ...thought,
    ...name,
    ...textsOn('tool_args', args, budget),
    ...textsOn('tool_result', take(shape.toolResult), budget),
    ...onSurface(said === null ? null : 'step_input', stringsOf(reference, budget)),
    // Text that the model cites is not its own.
    ...onSurface('tool_result', stringsOf(textMembersIn(take(['citations'])), budget)),
    ...onSurface(rest, stringsOf(textMembers(body, taken), budget)),
    ...onSurface(shape.rest ?? said, stringsOf(textMembers(around), budget)),
  ];
}

/** All strings of a part of no known shape, unless it has metadata and bytes only. */
function unknownTexts(part: JsonObject, budget: Budget): string[] {
  if (stringsOf(textMembers(part), budget).length === 0) return [];
  return stringsOf(withoutBytes(part), budget);
}

/** Shorter base64 may be a word. */
const BYTES_CHARS_MIN = 24;

function withoutBytes(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutBytes);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(
    ([name, one]) =>
      !(typeof one === 'string' && one.length >= BYTES_CHARS_MIN && isBytes(name, one)),
  );
  return Object.fromEntries(kept.map(([name, one]) => [name, withoutBytes(one)]));
}

/** Members that hold a type, id or name, if the value looks like one. */
const METADATA =
  /^(?:type|[$@_]*(?:(?:block|part|content|item|message)_?)?(?:type|kind)_*|role|source|(?:tool_?|server_?)?(?:name|label)|status|state|index|ref|mime_?type|media_?type|content_?type|modality|format|detail|encoding|.*version|.*id)$/i;
const IDENTIFIER = /^[\w.+/-]{0,100}$/;
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.+Z-]{0,20}$/;
/** Members that hold bytes or a signature, if the value is base64. */
const BYTES =
  /^(?:content|data|bytes|blob|file_?data|.*signature|(?:encrypted|redacted)_?content)$/i;

/**
 * The structure without the taken members, metadata and bytes. What remains is text: a sender that
 * chooses the members, such as a user or a tool, must not be able to hide text in them.
 */
export function textMembers(structure: JsonObject, taken?: ReadonlySet<string>): JsonObject {
  // `{type: "text", media_type: "text/plain", data}`: one word of text looks like base64.
  const isText = structure.type === 'text';
  const rest = Object.entries(structure).filter(
    ([name, value]) =>
      taken?.has(name) !== true &&
      !isMetadata(name, value) &&
      !(typeof value === 'string' && !(isText && name === 'data') && isBytes(name, value)),
  );
  return Object.fromEntries(rest.map(([name, value]) => [name, textMembersIn(value)]));
}

function textMembersIn(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(textMembersIn);
  return isObject(value) ? textMembers(value) : value;
}

function isMetadata(name: string, value: JsonValue): boolean {
  if (typeof value !== 'string') return false;
  return (METADATA.test(name) && IDENTIFIER.test(value)) || TIME.test(value);
}

function isBytes(name: string, value: string): boolean {
  return BYTES.test(name) && isBase64(value);
}

export function onSurface(surface: Surface | null, texts: readonly string[]): Piece[] {
  return surface === null ? [] : texts.map((text) => ({ surface, text }));
}

export function textsOn(surface: Surface | null, value: JsonValue, budget: Budget): Piece[] {
  if (surface === null) return [];
  const { texts, areForms } = textsOf(value, budget, surface);
  return texts.map((text, index) =>
    areForms && index > 0 ? { surface, text, repeats: index } : { surface, text },
  );
}

/** Pieces, and the value that they were read from as a whole. */
export function withWhole(pieces: readonly Piece[], whole: readonly Piece[]): Piece[] {
  const { length } = pieces;
  return [...pieces, ...whole.map((one, index) => ({ ...one, repeats: length + index }))];
}

interface FoundShape {
  readonly shape: PartShape;
  readonly body: JsonObject;
  /** the other members, if the body is a member */
  readonly around: JsonObject;
}

function findShape(part: JsonObject): FoundShape | null {
  // By member first: `{type: "function", function: {…}}`.
  for (const [name, shape] of BY_MEMBER) if (isObject(part[name])) return under(part, name, shape);
  const types = tagsOf(part);
  if (types.some(isMessageClass)) return null;
  for (const type of types) {
    const shape = shapeOfType(type);
    if (shape !== undefined) return whole(part, shape);
  }
  if ('role' in part || 'messages' in part) return null;
  const isUntyped = types.length === 0;
  const member = byActOfMember(part, isUntyped);
  if (member !== null) return member;
  const act = actOfUntyped(part, isUntyped);
  if (act !== undefined) return whole(part, act === 'call' ? CALL : RESULT);
  // A tool's message has its type, too.
  if (types.some(isToolType) && !('content' in part) && !('data' in part)) {
    // OpenCode: what went in and came out is a state of the call.
    return whole(isObject(part.state) ? { ...part, ...part.state, state: null } : part, OF_TOOL);
  }
  return isUntyped && 'text' in part ? whole(part, BARE_TEXT) : null;
}

function whole(part: JsonObject, shape: PartShape): FoundShape {
  return { shape, body: part, around: {} };
}

function under(part: JsonObject, name: string, shape: PartShape): FoundShape {
  const { [name]: body, ...around } = part;
  return { shape, body: isObject(body) ? body : { result: body ?? null }, around };
}

function shapeOfType(type: string): PartShape | undefined {
  const known = BY_TYPE.get(type) ?? BY_TYPE.get(bareType(type));
  if (known !== undefined) return known;
  const act = actOfType(type);
  if (act !== undefined) return act === 'call' ? CALL : RESULT;
  const thought = thoughtOf(type);
  if (thought !== undefined) return thought === 'opaque' ? OPAQUE : THOUGHT;
  return isMediaType(type) ? MEDIA : undefined;
}

/**
 * `{functionCall: {…}}`, `{toolResult: {…}}`.
 * @param isUntyped without a type and other text, a result may also be a string or a list
 */
function byActOfMember(part: JsonObject, isUntyped: boolean): FoundShape | null {
  for (const [name, body] of Object.entries(part)) {
    const act = actOfMember(name);
    if (act === undefined || isEmpty(body)) continue;
    const isBare = () => isUntyped && isEmpty(Object.keys(textMembers(part, new Set([name]))));
    if (isObject(body) || (act === 'result' && isBare()))
      return under(part, name, act === 'call' ? CALL : RESULT);
  }
  return null;
}

const ARGUMENTS = ['arguments', 'input', 'args'];
const RESULTS = ['content', 'output', 'result', 'results', 'errorText'];
/** Members of a call without a type, as AutoGen writes it. */
const BARE_CALL = new Set(['id', 'name', 'arguments', 'index', 'call_id']);

/** The AI SDK, LiveKit, AutoGen and Cohere list calls and results without a type. */
function actOfUntyped(part: JsonObject, isUntyped: boolean) {
  const isBareCall =
    typeof part.name === 'string' &&
    'arguments' in part &&
    Object.keys(part).every((name) => BARE_CALL.has(name));
  if (isUntyped && (typeof part.toolName === 'string' || isBareCall)) return 'call';
  if (!Object.entries(part).some(([name, value]) => isCallId(name, value))) return undefined;
  if (ARGUMENTS.some((name) => name in part)) return 'call';
  return RESULTS.some((name) => name in part) ? 'result' : undefined;
}

function isEmpty(value: JsonValue | undefined): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (Array.isArray(value) && value.length === 0)
  );
}

/** Types that the AI SDK wraps results in. Any other structure may be the tool's own. */
const WRAPPED = /^(?:(?:error-)?(?:text|json)|content)$/;

function unwrap(value: JsonValue, budget: Budget): JsonValue {
  if (!isObject(value) || typeof value.type !== 'string' || !WRAPPED.test(value.type)) return value;
  const { type: _, value: inner, ...rest } = value;
  if (inner === undefined && isOpenEnded(value, budget)) return null;
  return inner === undefined || Object.keys(rest).length > 0 ? value : inner;
}
