/**
 * Owns the reading of chat messages in any dialect: who says what, and so on which surface it
 * stands. Shared by every convention. Must lose no text for being written in an unknown dialect:
 * what is not recognised stands, whole, where the value's side says.
 */
import type { JsonObject, JsonValue, Surface } from '../../model.ts';
import type { Side } from './convention.ts';
import { isPart, type Piece, place, readPart } from './parts.ts';
import { isObject, open, stringsOf, textsOf } from './value-text.ts';

type Author = 'user' | 'operator' | 'model' | 'tool';

const AUTHORS = new Map<string, Author>([
  ['user', 'user'],
  ['human', 'user'],
  ['customer', 'user'],
  ['system', 'operator'],
  ['developer', 'operator'],
  ['instruction', 'operator'],
  ['assistant', 'model'],
  ['ai', 'model'],
  ['model', 'model'],
  ['bot', 'model'],
  ['tool', 'tool'],
  ['function', 'tool'],
]);

/**
 * What came out of a step was not said by its operator, whatever the label (a Gemini CLI fault).
 */
const PLACES: Readonly<Record<Side, Readonly<Record<Author, Surface | null>>>> = {
  input: { user: 'step_input', operator: null, model: 'agent_output', tool: 'tool_result' },
  output: {
    user: 'step_input',
    operator: 'agent_output',
    model: 'agent_output',
    tool: 'tool_result',
  },
};

/**
 * Reads a value that holds messages: a list, one message, an envelope with `messages`, or plain
 * text.
 * @param value plain JSON, or such JSON inside strings
 * @param side did the value go into the step or come out of it
 * @param unsaid where text stands that has no author
 */
export function readMessages(value: JsonValue, side: Side, unsaid: Surface): Piece[] {
  const opened = open(value);
  if (Array.isArray(opened)) return opened.flatMap((one) => readOne(one, side, unsaid));
  return isObject(opened) ? readOne(opened, side, unsaid) : place(unsaid, textsOf(value));
}

/**
 * Reads an event that is one message: `{content, role?, tool_calls?}`, or a choice with `message`.
 * @param carrier the span event's attributes or the log record's body
 * @param role the role the event's name tells
 */
export function readMessageEvent(carrier: JsonValue, side: Side, role: string): Piece[] {
  return readMessage(toMessage(carrier, role), side, placeOf(role, side) ?? 'step_input');
}

/** The text of an event that is one message, without its reading. */
export function contentOf(carrier: JsonValue): JsonValue {
  const message = toMessage(carrier, '');
  return message.content ?? message.parts ?? null;
}

function toMessage(carrier: JsonValue, role: string): JsonObject {
  const opened = open(carrier);
  if (!isObject(opened)) return { role, content: opened };
  // .NET producers put the whole message into one attribute.
  const body = open(opened['gen_ai.event.content'] ?? opened);
  if (!isObject(body)) return { role, content: body };
  const inner = open(body.message ?? null);
  const { message: _, ...around } = body;
  if (isObject(inner)) return { role, ...around, ...inner };
  return inner === null ? { role, ...body } : { role, ...around, content: inner };
}

function readOne(one: JsonValue, side: Side, unsaid: Surface): Piece[] {
  const opened = open(one);
  if (!isObject(opened)) return place(unsaid, textsOf(one));
  if ('role' in opened || 'parts' in opened) return readMessage(opened, side, unsaid);
  if (isPart(opened)) return readPart(opened, unsaid);
  if (authorOf(opened) !== undefined) return readMessage(opened, side, unsaid);
  if ('messages' in opened) return readEnvelope(opened, side, unsaid);
  if ('content' in opened || 'tool_calls' in opened) return readMessage(opened, side, unsaid);
  return place(unsaid, textsOf(opened));
}

/** What stands beside the messages of a request and is the operator's, not the run's. */
const OPERATOR_MEMBERS = new Set(['model', 'system', 'instructions', 'tools', 'functions']);

function readEnvelope(envelope: JsonObject, side: Side, unsaid: Surface): Piece[] {
  return Object.entries(envelope).flatMap(([name, value]) => {
    if (name === 'messages') return readMessages(value, side, unsaid);
    return OPERATOR_MEMBERS.has(name) ? [] : place(unsaid, stringsOf(value));
  });
}

const MESSAGE_MEMBERS = ['parts', 'content', 'tool_calls', 'function_call'];

function readMessage(message: JsonObject, side: Side, unsaid: Surface): Piece[] {
  const author = authorOf(message);
  const said = author === undefined ? unsaid : PLACES[side][author];
  if (!MESSAGE_MEMBERS.some((name) => name in message)) {
    const { role: _role, type: _type, ...rest } = message;
    return place(said, stringsOf(rest));
  }
  const { content, parts, tool_calls: calls, function_call: call } = message;
  return [
    ...place('agent_output', textsOf(message.reasoning_content ?? null)),
    ...readContent(parts ?? null, said),
    ...readContent(content ?? null, said),
    ...place(said, textsOf(message.refusal ?? null)),
    ...list(open(calls ?? null)).flatMap((one) => readPart(asCall(one), said)),
    ...(call === undefined ? [] : readPart(asCall(call), said)),
  ];
}

function readContent(content: JsonValue, said: Surface | null): Piece[] {
  const opened = open(content);
  if (Array.isArray(opened)) {
    // A user's own JSON list is text; a list of parts is a message.
    const isList = typeof content !== 'string' || opened.some(isPart);
    if (isList) return opened.flatMap((part) => readPart(part, said));
  } else if (isObject(opened)) {
    if (Array.isArray(opened.parts)) return readContent(opened.parts, said);
    if (isPart(opened)) return readPart(opened, said);
  }
  return place(said, textsOf(content));
}

/** A tool call that is told by where it stands, not by a type. */
function asCall(call: JsonValue): JsonValue {
  return isObject(call) && !isPart(call) ? { ...call, type: 'tool_call' } : call;
}

function authorOf(message: JsonObject): Author | undefined {
  const role = message.role ?? message.type;
  return typeof role === 'string' ? AUTHORS.get(role.toLowerCase()) : undefined;
}

function placeOf(role: string, side: Side): Surface | null {
  const author = AUTHORS.get(role);
  return author === undefined ? null : PLACES[side][author];
}

function list(value: JsonValue): JsonValue[] {
  return Array.isArray(value) ? value : value === null ? [] : [value];
}
