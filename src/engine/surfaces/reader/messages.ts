/**
 * Owns the reading of chat messages in any dialect: the author of each text, and with it the
 * surface. Shared by all conventions. Must lose no text to an unknown dialect: what is not
 * recognised is read whole, on the surface of the value's side.
 *
 * A string in a message stays text of the message's author, whatever it looks like: messages and
 * parts inside it are read in addition. Otherwise a user's `{"role":"system",…}` would not be matched.
 */
import type { JsonObject, JsonValue } from '../../../model/json.ts';
import type { Surface } from '../../../model/steps.ts';
import { type Author, authorOf, fromLangChain, fromLangGraph, isConversation } from './authors.ts';
import { type Budget, isOpenEnded } from './budget.ts';
import type { Side } from './convention.ts';
import {
  isPart,
  onSurface,
  type Piece,
  readPart,
  textMembers,
  withWhole,
} from './message-parts.ts';
import { isObject, open, stringsOf, textsOf } from './value-text.ts';

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
 * @param fallback the surface of text without an author
 */
export function readMessages(
  value: JsonValue,
  side: Side,
  fallback: Surface,
  budget: Budget,
): Piece[] {
  const opened = open(value, budget);
  if (Array.isArray(opened)) return opened.flatMap((one) => readOne(one, side, fallback, budget));
  if (isObject(opened)) return readOne(opened, side, fallback, budget, value);
  return onSurface(fallback, textsOf(value, budget));
}

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
  const opened = open(value, budget);
  const isRead = isConversation(opened, side) || mayBeConversation(opened, budget);
  return (isRead ? readMessages : readExchange)(value, side, fallback, budget);
}

/**
 * Whether this was cut before it showed that it is a conversation. A single message is none.
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
    readMessage(toMessage(carrier, role, budget), side, fallback, budget),
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
  one: JsonValue,
  side: Side,
  fallback: Surface,
  budget: Budget,
  written: JsonValue = one,
): Piece[] {
  if (typeof one === 'string') return readExchange(one, side, fallback, budget);
  if (Array.isArray(one)) return one.flatMap((inner) => readOne(inner, side, fallback, budget));
  if (!isObject(one)) return onSurface(fallback, textsOf(one, budget));
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
  return onSurface(fallback, textsOf(written, budget));
}

/**
 * Whether this is a message of a request that was cut before its author: it may be the operator's. A
 * model's answer has no operator.
 */
function isUnsigned(one: JsonObject, side: Side, budget: Budget): boolean {
  if (side !== 'input' || !isOpenEnded(one, budget)) return false;
  const isMessage = [...MESSAGE_MEMBERS, ...SPOKEN_MEMBERS].some((name) => name in one);
  return isMessage && !('role' in one) && authorOf(one) === undefined && !isPart(one);
}

/** Members of messages that are metadata, if the value looks like it. */
const METADATA = new Set(['id', 'index', 'finish_reason', 'tool_call_id', 'name', 'type']);
const IDENTIFIER = /^[\w.:+/-]{0,100}$/;

/** A message without an author. Any other structure with a `content` is read whole. */
function isBareMessage(value: JsonObject): boolean {
  const isMetadata = (name: string, inner: JsonValue) =>
    METADATA.has(name) && typeof inner !== 'object' && IDENTIFIER.test(String(inner));
  return (
    MESSAGE_MEMBERS.some((name) => name in value) &&
    Object.entries(value).every(
      ([name, inner]) =>
        MESSAGE_MEMBERS.includes(name) || SPOKEN_MEMBERS.includes(name) || isMetadata(name, inner),
    )
  );
}

/** Members of a request beside its messages that are the operator's, not the run's. */
const OPERATOR_MEMBERS = new Set([
  'model',
  'system',
  'system_instruction',
  'instructions',
  'config',
  'tools',
  'tool_choice',
  'functions',
]);

/** Members of requests and responses that hold messages (or choices, which wrap one each). */
const MESSAGE_LISTS = new Set([
  'messages',
  'contents',
  'choices',
  'candidates',
  'generations',
  'input',
  'output',
  'outputs',
  'inputs',
]);
const ONE_MESSAGE = new Set([
  'message',
  'last_message',
  'delta',
  'response',
  'content',
  'inputs',
  'outputs',
]);

/** Whether this is a request or a response, with its messages as a member. */
function isEnvelope(value: JsonObject, budget: Budget): boolean {
  if ('messages' in value) return true;
  return Object.entries(value).some(([name, inner]) => holdsMessages(name, inner, budget));
}

function holdsMessages(name: string, value: JsonValue, budget: Budget): boolean {
  if (name === 'messages') return true;
  if (MESSAGE_LISTS.has(name) && Array.isArray(value)) {
    return value.some(isMessage) || isOpenEnded(value, budget);
  }
  if (!isObject(value)) return false;
  // What a node or a component, by its name, gets or returns.
  const { messages } = value;
  if (Array.isArray(messages) && messages.some(isMessage)) return true;
  return ONE_MESSAGE.has(name) && isMessage(value);
}

/** Whether a value looks like a message, or wraps one. */
function isMessage(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(isMessage);
  if (!isObject(value)) return false;
  if (fromLangGraph(value) !== null || fromLangChain(value) !== null) return true;
  if (authorOf(value) !== undefined) return true;
  if ('messages' in value || Array.isArray(value.parts) || Array.isArray(value.content))
    return true;
  const { type, message, delta, content } = value;
  const isItem =
    typeof type === 'string' && /_call(?:_output)?$|^(?:message|reasoning)$/.test(type);
  return isItem || [message, delta, content].some((inner) => isObject(inner) && isMessage(inner));
}

/** Members of a response that are no text, if the value looks like it. */
const RESPONSE_METADATA = new Set([...METADATA, 'object', 'system_fingerprint', 'service_tier']);

function isMetadata(name: string, value: JsonValue): boolean {
  return RESPONSE_METADATA.has(name) && typeof value !== 'object' && IDENTIFIER.test(String(value));
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
    const isOperators = side === 'input' || fallback === 'agent_output';
    const isLeftOut = isOperators && (OPERATOR_MEMBERS.has(name) || isMetadata(name, inner));
    return isLeftOut ? [] : onSurface(fallback, stringsOf(value, budget));
  });
}

const MESSAGE_MEMBERS = [
  'parts',
  'content',
  'contents',
  'tool_calls',
  'function_call',
  'function_call_name',
  'function_call_arguments_json',
];

/** What the model says beside the content. */
const SPOKEN_MEMBERS = ['reasoning_content', 'reasoning', 'refusal'];

/** Members of messages that are read elsewhere, or are metadata of the message or the call. */
const OTHER_MEMBERS: ReadonlySet<string> = new Set([
  ...MESSAGE_MEMBERS,
  ...SPOKEN_MEMBERS,
  'role',
  'type',
  'name',
  'toolName',
  'additional_kwargs',
  'response_metadata',
  'usage_metadata',
  'usage',
  'logprobs',
  'metadata',
  'providerOptions',
  'providerMetadata',
  'finish_reason',
  'stop_reason',
  'model',
]);

function readMessage(message: JsonObject, side: Side, fallback: Surface, budget: Budget): Piece[] {
  const author = authorOf(message);
  const said = author === undefined ? fallback : AUTHOR_SURFACES[side][author];
  const isWhole = !isOpenEnded(message, budget);
  if (isWhole && !MESSAGE_MEMBERS.some((name) => name in message)) {
    const { role: _role, type: _type, ...rest } = message;
    return onSurface(said, stringsOf(rest, budget));
  }
  const { content, contents, parts } = message;
  const { calls, call, reasoning } = calledIn(message, budget);
  // Anthropic's results are in the user's messages; OpenInference puts their id beside the content.
  const isResult = author === 'user' && typeof message.tool_call_id === 'string';
  const contentPieces = readContent(content ?? null, isResult ? 'tool_result' : said, budget);
  return [
    ...onSurface('agent_output', textsOf(reasoning, budget)),
    ...onSurface('agent_output', textsOf(message.reasoning ?? null, budget)),
    // The name of any other author is a participant's.
    ...(author === 'tool'
      ? onSurface('tool_name', stringsOf(message.name ?? message.toolName ?? null, budget))
      : []),
    ...readContent(parts ?? null, said, budget),
    ...contentPieces,
    ...(author === 'tool' && looksLikeCall(contentPieces)
      ? onSurface(said, textsOf(content ?? null, budget))
      : []),
    ...readContent(contents ?? null, said, budget),
    ...onSurface(said, textsOf(message.refusal ?? null, budget)),
    ...calls.flatMap((one) => readPart(asCall(one), said, budget)),
    ...readPart(asCall(call), said, budget),
    ...onSurface('tool_name', stringsOf(message.function_call_name ?? null, budget)),
    ...onSurface('tool_args', textsOf(message.function_call_arguments_json ?? null, budget)),
    // Attachments, transcripts.
    ...onSurface(said, stringsOf(textMembers(message, OTHER_MEMBERS), budget)),
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
  const calls = list(open(message.tool_calls ?? null, budget));
  return {
    calls: calls.length > 0 ? calls : list(open(provider.tool_calls ?? null, budget)),
    call: message.function_call ?? provider.function_call ?? null,
    reasoning: message.reasoning_content ?? provider.reasoning_content ?? null,
  };
}

function readContent(content: JsonValue, said: Surface | null, budget: Budget): Piece[] {
  if (typeof content === 'string') {
    const opened = open(content, budget);
    const parts = holdsParts(opened) ? readContent(opened, said, budget) : [];
    return withWhole(parts, onSurface(said, textsOf(content, budget)));
  }
  if (Array.isArray(content)) return content.flatMap((part) => readPart(part, said, budget));
  if (!isObject(content)) return onSurface(said, textsOf(content, budget));
  if (Array.isArray(content.parts)) {
    const around = textMembers(content, new Set(['parts']));
    return [
      ...readContent(content.parts, said, budget),
      ...onSurface(said, stringsOf(around, budget)),
    ];
  }
  if (isPart(content)) return readPart(content, said, budget);
  const inner = insideWrapper(content);
  return inner === null
    ? onSurface(said, textsOf(content, budget))
    : readContent(inner, said, budget);
}

/** The message inside a message's content, as AWS's distribution of OpenTelemetry writes it. */
function insideWrapper({ content, message, ...around }: JsonObject): JsonValue | null {
  if (content !== undefined && message !== undefined) return null;
  const isMetadata = ([name, value]: [string, JsonValue]) =>
    WRAPPER_METADATA.has(name) && typeof value !== 'object' && IDENTIFIER.test(String(value));
  return Object.entries(around).every(isMetadata) ? (content ?? message ?? null) : null;
}

const WRAPPER_METADATA = new Set(['role', 'id', 'index', 'finish_reason']);

/** A string, with what is inside it. */
function wholeString(value: JsonValue, said: Surface, budget: Budget): Piece[] {
  return typeof value === 'string' ? onSurface(said, textsOf(value, budget)) : [];
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
  const author = authorOf({ role });
  return author === undefined ? null : AUTHOR_SURFACES[side][author];
}

function list(value: JsonValue): JsonValue[] {
  return Array.isArray(value) ? value : value === null ? [] : [value];
}
