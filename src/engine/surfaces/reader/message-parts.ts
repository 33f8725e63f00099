/**
 * Owns the reading of a message part: a text, a tool call, a tool's result inside a message. The
 * shapes of parts are data (`part-shapes.ts`, `parts` of a convention).
 *
 * The kind of a part never depends on the role: a tool's result repeated in a prompt stays a result.
 */
import type { JsonObject, JsonValue } from '../../../model/json.ts';
import type { Surface } from '../../../model/steps.ts';
import { CONVENTIONS } from '../conventions/conventions.ts';
import { isBase64 } from './base64.ts';
import { type Budget, isOpenEnded } from './budget.ts';
import type { PartShape } from './convention.ts';
import { BARE_TEXT, CALL, SHARED_PARTS } from './part-shapes.ts';
import { isObject, stringsOf, textsOf, type ValueTexts } from './value-text.ts';

/** A text and its surface, before it has a step. */
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

/** Whether this value is a part of a known dialect. */
export function isPart(value: JsonValue): boolean {
  return isObject(value) && findShape(value) !== null;
}

/**
 * The texts of one part.
 * @param said the surface of what the message's author says; null leaves it out (operator's text)
 * @returns for a part of no known shape: all its strings, as said; of one that was cut: none
 */
export function readPart(part: JsonValue, said: Surface | null, budget: Budget): Piece[] {
  if (!isObject(part)) return onSurface(said, textsOf(part, budget));
  const found = findShape(part);
  // Cut before it showed its shape, a part may be a call, or a tool's result.
  if (found === null && isOpenEnded(part, budget)) return [];
  if (found === null) return onSurface(said, stringsOf(part, budget));
  const { shape, body, around } = found;
  const taken = new Set<string>();
  const take = (names: readonly string[] = []): JsonValue => {
    const name = names.find((one) => !isEmpty(body[one]));
    if (name !== undefined) taken.add(name);
    return name === undefined ? null : unwrap(body[name] ?? null, budget);
  };
  const reference = shape.media === undefined ? null : take(shape.media.reference);
  return [
    ...onSurface(said, textsOf(take(shape.said), budget)),
    ...onSurface('agent_output', textsOf(take(shape.thought), budget)),
    ...onSurface('tool_name', stringsOf(take(shape.toolName), budget)),
    ...onSurface('tool_args', textsOf(take(shape.toolArgs), budget)),
    ...onSurface('tool_result', textsOf(take(shape.toolResult), budget)),
    ...onSurface(said === null ? null : 'step_input', stringsOf(reference, budget)),
    ...onSurface(said, stringsOf([textMembers(body, taken), textMembers(around)], budget)),
  ];
}

/** Members that hold a type, id or name, if the value looks like one. */
const METADATA =
  /^(?:type|role|(?:tool_?)?name|status|state|index|ref|mime_?type|media_?type|content_?type|modality|format|detail|.*id)$/i;
const IDENTIFIER = /^[\w.+/-]{0,100}$/;
/** Members that hold bytes or a signature, if the value is base64. */
const BYTES = /^(?:content|data|bytes|blob|file_?data|.*signature|encrypted_?content)$/i;

/**
 * The structure without the taken members, metadata and bytes. What remains is text: a sender that
 * chooses the members, such as a user or a tool, must not be able to hide text in them.
 */
export function textMembers(structure: JsonObject, taken?: ReadonlySet<string>): JsonObject {
  const rest = Object.entries(structure).filter(
    ([name, value]) => taken?.has(name) !== true && !isMetadata(name, value),
  );
  return Object.fromEntries(rest.map(([name, value]) => [name, textMembersIn(value)]));
}

function textMembersIn(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(textMembersIn);
  return isObject(value) ? textMembers(value) : value;
}

function isMetadata(name: string, value: JsonValue): boolean {
  if (typeof value !== 'string') return false;
  return (METADATA.test(name) && IDENTIFIER.test(value)) || (BYTES.test(name) && isBase64(value));
}

/** Texts, or the texts of one value, as pieces of a surface; of none, no pieces. */
export function onSurface(surface: Surface | null, texts: readonly string[] | ValueTexts): Piece[] {
  if (surface === null) return [];
  if (!('areForms' in texts)) return texts.map((text) => ({ surface, text }));
  return texts.texts.map((text, index) =>
    texts.areForms && index > 0 ? { surface, text, repeats: index } : { surface, text },
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
  const type = part.type;
  // By member first: `{type: "function", function: {…}}`.
  for (const [name, shape] of BY_MEMBER) {
    const body = part[name];
    if (!isObject(body)) continue;
    const { [name]: _, ...around } = part;
    return { shape, body, around };
  }
  const shape = typeof type === 'string' ? BY_TYPE.get(type) : undefined;
  if (shape !== undefined) return { shape, body: part, around: {} };
  // The AI SDK and LiveKit list calls without a type.
  const isCall = typeof part.toolName === 'string' || ('call_id' in part && 'arguments' in part);
  if (type === undefined && isCall) return { shape: CALL, body: part, around: {} };
  return type === undefined && 'text' in part ? { shape: BARE_TEXT, body: part, around: {} } : null;
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
