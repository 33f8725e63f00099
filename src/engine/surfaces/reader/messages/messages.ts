/**
 * Owns the reading of chat messages in any dialect: the author of each text, and with it the
 * surface. Shared by all conventions. Must lose no text to an unknown dialect: what is not
 * recognised is read whole, on the surface of the value's side.
 *
 * A string in a message stays text of the message's author, whatever it looks like: messages and
 * parts inside it are read in addition. Otherwise a user's `{"role":"system",…}` would not be matched.
 */
import type { JsonObject, JsonValue } from '../../../../model/json.ts';
import type { Surface } from '../../../../model/steps.ts';
import { type Budget, isOpenEnded } from '../budget.ts';
import type { Side } from '../convention.ts';
import { isObject, open, stringsOf } from '../value-text.ts';
import { authorOf, fromLangChain, fromLangGraph, isConversation, roleOf } from './authors.ts';
import { withoutCatalogues } from './catalogues.ts';
import {
  isPart,
  onSurface,
  type Piece,
  readPart,
  textMembers,
  textsOn,
  withWhole,
} from './message-parts.ts';
import {
  hasMessageMember,
  holdsMessages,
  IDENTIFIER,
  isAnswer,
  isBareMessage,
  isEnvelope,
  isMetadata,
  isOperators,
  isSpoken,
  isUnsigned,
  MESSAGE_MEMBERS,
  OTHER_MEMBERS,
  SPOKEN_MEMBERS,
  usuallySpelt,
} from './message-shapes.ts';
import { readListOnce, readOnce } from './read-before.ts';
import { type Author, actOfMember, authorByRole, listedRole, noteRoles } from './words.ts';

/** A step's output is not the operator's, whatever the role (a fault of Gemini CLI). */
const AUTHOR_SURFACES: Readonly<Record<Side, Readonly<Record<Author, Surface | null>>>> = {
  input: { user: 'step_input', operator: null, model: 'agent_output', tool: 'tool_result' },
  output: {
    user: 'step_input',
    operator: 'agent_output',
    model: 'agent_output',
    tool: 'tool_result',
  },
};

/**
 * Reads a value that holds messages: a list, one message, a request or response, or plain text.
 * @param value plain JSON, or such JSON inside strings
 */
export function readMessages(
  value: JsonValue,
  side: Side,
  fallback: Surface,
  budget: Budget,
): Piece[] {
  const how = `${side} ${fallback} `;
  const read = (one: JsonValue, own: Budget) => readOne(one, side, fallback, own);
  const list =
    typeof value === 'string' ? readListOnce(value, how, side === 'input', budget, read) : null;
  if (list !== null) return list;
  const whole = openMessages(value, side, budget);
  const opened = side === 'input' ? withoutCatalogues(whole) : whole;
  if (opened === null) return [];
  if (Array.isArray(opened)) {
    const isCut = isOpenEnded(whole, budget) || isOpenEnded(opened, budget);
    return opened.flatMap((one) =>
      isObject(one) && !isCut ? readOnce(one, how, budget, read) : read(one, budget),
    );
  }
  if (isObject(opened)) {
    if (opened !== whole && isOpenEnded(whole, budget)) budget.openEnded.add(opened);
    return readOne(opened, side, fallback, budget, opened === whole ? value : opened);
  }
  return textsOn(fallback, value, budget);
}

/**
 * Opens a value, and a conversation whose messages are JSON one by one: attributes hold lists of strings, not of
 * structures. Any other list of strings stays as it is.
 */
function openMessages(value: JsonValue, side: Side, budget: Budget): JsonValue {
  const opened = open(value, budget);
  if (!Array.isArray(opened) || !opened.every(isJsonObject)) return opened;
  const messages = opened.map((one) => open(one, budget));
  return isConversation(messages, side) ? messages : opened;
}

const isJsonObject = (value: JsonValue): boolean =>
  typeof value === 'string' && /^\s*\{/.test(value);

/**
 * Reads a value that may hold messages or plain text: as `readMessages`, but a string is also read
 * whole, on the fallback surface.
 */
export function readExchange(
  value: JsonValue,
  side: Side,
  fallback: Surface,
  budget: Budget,
): Piece[] {
  const pieces = readMessages(value, side, fallback, budget);
  const known = new Set(
    pieces.filter(({ surface }) => surface === fallback).map(({ text }) => text),
  );
  const whole = wholeString(value, fallback, budget).filter(({ text }) => !known.has(text));
  return withWhole(pieces, whole);
}

/**
 * Reads a value that is a string as it was, or JSON that the product made of a structure: a
 * conversation by author only, anything else also whole, because it may be what a user typed.
 */
export function readWritten(
  value: JsonValue,
  side: Side,
  fallback: Surface,
  budget: Budget,
): Piece[] {
  const opened = openMessages(value, side, budget);
  const isRead =
    isConversation(opened, side) ||
    mayBeConversation(opened, budget) ||
    // A catalogue of tools would be read with the whole string.
    (side === 'input' && withoutCatalogues(opened) !== opened);
  return (isRead ? readMessages : readExchange)(value, side, fallback, budget);
}

/**
 * Checks whether this was cut before it showed that it is a conversation. A single message is not one.
 * A user who types unterminated JSON is read by its authors, too; its run shows that it was cut.
 */
function mayBeConversation(value: JsonValue, budget: Budget): boolean {
  if (!isOpenEnded(value, budget)) return false;
  return Array.isArray(value) || (isObject(value) && authorOf(value) === undefined);
}

/**
 * Reads an event that is one message: `{content, role?, tool_calls?}`, or a choice with `message`.
 * @param carrier the span event's attributes or the log record's body
 * @param role by the event's name
 */
export function readMessageEvent(
  carrier: JsonValue,
  side: Side,
  role: string,
  budget: Budget,
): Piece[] {
  const fallback = surfaceOfRole(role, side) ?? 'step_input';
  const message = isObject(carrier) ? (carrier.message ?? null) : carrier;
  return withWhole(
    readMessage(toMessage(carrier, role, budget), side, fallback, budget, 'event'),
    wholeString(message, fallback, budget),
  );
}

/** An event's message with its parts decoded, where its content is a list of parts in JSON. */
export function decodeParts(carrier: JsonValue, budget: Budget): JsonValue {
  if (!isObject(carrier)) return carrier;
  return Object.fromEntries(
    Object.entries(carrier).map(([name, value]) => {
      const isContent = name === 'content' || name === 'message';
      const parts = isContent ? open(value, budget, 1) : null;
      return [name, Array.isArray(parts) && parts.every(isPart) ? parts : value];
    }),
  );
}

/** The content of an event that is one message, unread. */
export function contentOf(carrier: JsonValue, budget: Budget): JsonValue {
  if (typeof carrier === 'string') return carrier;
  const message = toMessage(carrier, '', budget);
  // A tool's result may be a structure without content.
  const whole = isObject(carrier) ? (carrier.message ?? null) : carrier;
  return message.content ?? message.parts ?? whole;
}

function toMessage(carrier: JsonValue, role: string, budget: Budget): JsonObject {
  const opened = open(carrier, budget);
  if (!isObject(opened)) return { role, content: carrier };
  // .NET: the whole message is in one attribute.
  const body = open(opened['gen_ai.event.content'] ?? withoutAttributes(opened), budget);
  if (!isObject(body)) return { role, content: body };
  const inner = open(body.message ?? null, budget);
  const { message, ...around } = body;
  if (isObject(inner)) return { role, ...around, ...inner };
  const isAbsent = message === undefined || message === null;
  return isAbsent ? { role, ...body } : { role, ...around, content: message };
}

/** Without the event's own attributes, such as `gen_ai.system`. */
function withoutAttributes(carrier: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(carrier).filter(([name]) => !name.includes('.')));
}

/** @param written the value before it was opened, read if it is no message */
function readOne(
  sent: JsonValue,
  side: Side,
  fallback: Surface,
  budget: Budget,
  written: JsonValue = sent,
): Piece[] {
  const one = isObject(sent) ? usuallySpelt(sent, budget) : sent;
  if (typeof one === 'string') return readExchange(one, side, fallback, budget);
  if (Array.isArray(one)) return one.flatMap((inner) => readOne(inner, side, fallback, budget));
  if (!isObject(one)) return textsOn(fallback, one, budget);
  const handed = fromLangGraph(one);
  if (handed !== null) return handed.flatMap((inner) => readOne(inner, side, fallback, budget));
  const serialized = fromLangChain(one);
  if (serialized !== null) {
    if (isOpenEnded(one.kwargs, budget)) budget.openEnded.add(serialized);
    return readMessage(serialized, side, fallback, budget);
  }
  // LangChain's message, cut before its content.
  if (isUnsigned(one, side, budget) || ('lc' in one && isOpenEnded(one, budget))) return [];
  if ('role' in one || 'parts' in one) return readMessage(one, side, fallback, budget);
  if (isPart(one)) return readPart(one, fallback, budget);
  if (authorOf(one) !== undefined) return readMessage(one, side, fallback, budget);
  if (isEnvelope(one, budget) || isOpenEnded(one, budget)) {
    return readEnvelope(one, side, fallback, budget);
  }
  if (isBareMessage(one)) return readMessage(one, side, fallback, budget);
  return textsOn(fallback, written, budget);
}

function readEnvelope(
  envelope: JsonObject,
  side: Side,
  fallback: Surface,
  budget: Budget,
): Piece[] {
  return Object.entries(envelope).flatMap(([name, value]) => {
    const inner = open(value, budget);
    if (holdsMessages(name, inner, budget)) return readMessages(inner, side, fallback, budget);
    // LangGraph: the call that a node of tools is to make.
    if (name === 'lg_tool_call' && isPart(inner)) return readPart(inner, fallback, budget);
    // A model's answer repeats the request's settings. Other outputs have members of a sender's choice.
    const mayBeOperators = side === 'input' || fallback === 'agent_output';
    if (!mayBeOperators) return onSurface(fallback, stringsOf(value, budget));
    if (isOperators(name) || isMetadata(name, inner)) return [];
    const text = isObject(value) ? textMembers(value) : value;
    // Cohere: the results that the request brings.
    const surface = actOfMember(name) === 'result' ? 'tool_result' : fallback;
    return onSurface(surface, stringsOf(text, budget));
  });
}

/** @param place an event is named after its author: an unknown role there is no tool's */
function readMessage(
  message: JsonObject,
  side: Side,
  fallback: Surface,
  budget: Budget,
  place: 'list' | 'event' = 'list',
): Piece[] {
  const author = authorOf(message);
  if (author !== undefined && author !== 'unknown') {
    return readSaid(message, author, AUTHOR_SURFACES[side][author], budget);
  }
  // A result without an author says which call it answers.
  const said = isAnswer(message) ? 'tool_result' : fallback;
  const pieces = readSaid(message, undefined, said, budget);
  if (author === undefined || !isSpoken(message)) return pieces;
  noteRole(message, budget);
  if (place === 'event' || said === 'tool_result') return pieces;
  // The author of an unknown role may be a tool.
  const copies = pieces.filter(({ surface }) => surface === said).map(({ text }) => text);
  return [...pieces, ...onSurface('tool_result', copies)];
}

function noteRole(message: JsonObject, { unknownRoles }: Budget): void {
  const role = roleOf(message);
  if (role !== undefined) noteRoles(unknownRoles, [listedRole(role)]);
}

function readSaid(
  message: JsonObject,
  author: Author | undefined,
  written: Surface | null,
  budget: Budget,
): Piece[] {
  const isWhole = !isOpenEnded(message, budget);
  const isSaid =
    'items' in message ||
    hasMessageMember(message) ||
    SPOKEN_MEMBERS.some((name) => name in message);
  if (isWhole && !isSaid) {
    const { role: _role, type: _type, ...rest } = message;
    // LangChain's `messages_to_dict`.
    const { data } = rest;
    if (isObject(data) && hasMessageMember(data)) return readSaid(data, author, written, budget);
    return readRest(rest, author, written, budget);
  }
  // Semantic Kernel.
  const items = Array.isArray(message.items) && message.items.some(isPart) ? message.items : null;
  const around = Object.entries(message).filter(
    ([name]) => !OTHER_MEMBERS.has(name) && (name !== 'items' || items === null),
  );
  const { content, contents, parts, blocks } = message;
  // Anthropic's results are in the user's messages; OpenInference puts their id beside the content,
  // and what the user says with it in the contents.
  const isResult = author === 'user' && isAnswer(message);
  const isInContent = content !== undefined && content !== null && content !== '';
  const said = isResult && !isInContent ? 'tool_result' : written;
  const { calls, reasoning } = calledIn(message, budget);
  const contentPieces = readContent(content ?? null, isResult ? 'tool_result' : said, budget);
  return [
    ...textsOn('agent_output', reasoning, budget),
    ...textsOn('agent_output', message.reasoning ?? null, budget),
    // The name of any other author is a participant's.
    ...(author === 'tool'
      ? onSurface('tool_name', stringsOf(message.name ?? message.toolName ?? null, budget))
      : []),
    ...readContent(parts ?? null, said, budget),
    ...contentPieces,
    ...(author === 'tool' && looksLikeCall(contentPieces)
      ? textsOn(said, content ?? null, budget)
      : []),
    ...readContent(contents ?? null, said, budget),
    ...readContent(blocks ?? null, said, budget),
    ...readContent(items, said, budget),
    ...textsOn(said, message.refusal ?? null, budget),
    ...calls.flatMap((one) => readPart(asCall(one), said, budget)),
    ...onSurface('tool_name', stringsOf(message.function_call_name ?? null, budget)),
    ...textsOn('tool_args', message.function_call_arguments_json ?? null, budget),
    ...readRest(Object.fromEntries(around), author, said, budget),
  ];
}

/** Attachments, transcripts; the results that Cohere puts beside a message. */
function readRest(
  members: JsonObject,
  author: Author | undefined,
  said: Surface | null,
  budget: Budget,
): Piece[] {
  const rest = Object.entries(members).filter(([name]) => actOfMember(name) !== 'call');
  const isResult = ([name]: [string, JsonValue]) =>
    author !== 'tool' && actOfMember(name) === 'result';
  const results = Object.fromEntries(rest.filter(isResult));
  const others = Object.fromEntries(rest.filter((one) => !isResult(one)));
  return [
    ...onSurface('tool_result', stringsOf(textMembers(results), budget)),
    ...onSurface(said, stringsOf(textMembers(others), budget)),
  ];
}

/** A tool's result may look like a call or a thought; it is then also read as a result. */
function looksLikeCall(contentPieces: readonly Piece[]): boolean {
  const surfaces = new Set(contentPieces.map(({ surface }) => surface));
  if (surfaces.has('agent_output') || surfaces.has('tool_args')) return true;
  return surfaces.has('tool_name') && !surfaces.has('tool_result');
}

/** The calls and reasoning of a message; LangChain may have only the provider's form of them. */
function calledIn(message: JsonObject, budget: Budget) {
  const provider = isObject(message.additional_kwargs) ? message.additional_kwargs : {};
  const callsOf = (holder: JsonObject) =>
    Object.entries(holder)
      .filter(([name]) => !MESSAGE_MEMBERS.includes(name) && actOfMember(name) === 'call')
      .flatMap(([, value]) => list(open(value, budget)));
  const calls = callsOf(message);
  return {
    calls: calls.length > 0 ? calls : callsOf(provider),
    reasoning: message.reasoning_content ?? provider.reasoning_content ?? null,
  };
}

function readContent(content: JsonValue, said: Surface | null, budget: Budget): Piece[] {
  if (typeof content === 'string') {
    const opened = open(content, budget);
    const parts = holdsParts(opened) ? readContent(opened, said, budget) : [];
    return withWhole(parts, textsOn(said, content, budget));
  }
  if (Array.isArray(content)) return content.flatMap((part) => readPart(part, said, budget));
  if (!isObject(content)) return textsOn(said, content, budget);
  if (Array.isArray(content.parts)) {
    const around = textMembers(content, new Set(['parts']));
    return [
      ...readContent(content.parts, said, budget),
      ...onSurface(said, stringsOf(around, budget)),
    ];
  }
  if (isPart(content)) return readPart(content, said, budget);
  const inner = insideWrapper(content);
  return inner === null ? textsOn(said, content, budget) : readContent(inner, said, budget);
}

/** The message inside a message's content, as AWS's distribution of OpenTelemetry writes it. */
function insideWrapper({ content, message, ...around }: JsonObject): JsonValue | null {
  if (content !== undefined && message !== undefined) return null;
  const isMetadata = ([name, value]: [string, JsonValue]) =>
    WRAPPER_METADATA.has(name) && typeof value !== 'object' && IDENTIFIER.test(String(value));
  return Object.entries(around).every(isMetadata) ? (content ?? message ?? null) : null;
}

const WRAPPER_METADATA = new Set(['role', 'id', 'index', 'finish_reason']);

function wholeString(value: JsonValue, said: Surface, budget: Budget): Piece[] {
  return typeof value === 'string' ? textsOn(said, value, budget) : [];
}

function holdsParts(opened: JsonValue): boolean {
  if (Array.isArray(opened)) return opened.some(isPart);
  return isObject(opened) && (isPart(opened) || Array.isArray(opened.parts));
}

/** A tool call that has no type, because its member is one of calls. */
function asCall(call: JsonValue): JsonValue {
  return isObject(call) && !isPart(call) ? { ...call, type: 'tool_call' } : call;
}

function surfaceOfRole(role: string, side: Side): Surface | null {
  const author = authorByRole(role);
  return author === undefined ? null : AUTHOR_SURFACES[side][author];
}

function list(value: JsonValue): JsonValue[] {
  return Array.isArray(value) ? value : value === null ? [] : [value];
}
