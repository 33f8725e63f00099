/**
 * Owns the shapes of messages, and of the requests and responses that hold them: which members have
 * what is said, and which are metadata or the operator's. Reads nothing.
 */
import type { JsonObject, JsonValue } from '../../../../model/json.ts';
import { type Budget, isOpenEnded } from '../budget.ts';
import type { Side } from '../convention.ts';
import { isObject } from '../value-text.ts';
import { authorOf, fromLangChain, fromLangGraph } from './authors.ts';
import { isPart } from './message-parts.ts';
import { actOfMember, actOfType, authorByRole, isCallId, isMetadataName } from './words.ts';

export const MESSAGE_MEMBERS = [
  'parts',
  'content',
  'contents',
  'blocks',
  'function_call_name',
  'function_call_arguments_json',
];

/** Text of the model next to the content. */
export const SPOKEN_MEMBERS = ['reasoning_content', 'reasoning', 'refusal'];

/** Members of messages that are read elsewhere, or are metadata of the message or the call. */
export const OTHER_MEMBERS: ReadonlySet<string> = new Set([
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
  'models_usage',
  'logprobs',
  'metadata',
  'providerOptions',
  'providerMetadata',
  'finish_reason',
  'stop_reason',
  'model',
]);

/** Checks whether the message says which call of a tool it answers. A bare `call_id` may be a phone call's. */
export function isAnswer(message: JsonObject): boolean {
  return Object.entries(message).some(
    ([name, value]) => isCallId(name, value) && !/^call/i.test(name),
  );
}

export function hasMessageMember(value: JsonObject): boolean {
  return Object.keys(value).some(
    (name) => MESSAGE_MEMBERS.includes(name) || actOfMember(name) === 'call',
  );
}

const ROLE = /^_*role$/i;

/**
 * A message whose members are spelt as .NET and older Haystack do, `Role`, `_content`, with the usual names; the
 * same object for any other. What is inside its parts stays as it is.
 */
export function usuallySpelt(message: JsonObject, budget: Budget, depth = 2): JsonObject {
  const isUsual = 'role' in message || !Object.keys(message).some((name) => ROLE.test(name));
  if (isUsual && depth === 2) return message;
  const spelt = Object.fromEntries(
    Object.entries(message).map(([name, value]) => [
      name
        .replace(/^_+/, '')
        .replace(/^\p{Lu}+(?!\p{Ll})|^\p{Lu}/u, (start) => start.toLowerCase()),
      Array.isArray(value) && depth > 0
        ? value.map((one) => (isObject(one) ? usuallySpelt(one, budget, 0) : one))
        : value,
    ]),
  );
  if (isOpenEnded(message, budget)) budget.openEnded.add(spelt);
  return spelt;
}

/** Checks whether this says something. Another structure with a `role` may be the record of a person. */
export function isSpoken(message: JsonObject): boolean {
  return hasMessageMember(message) || 'text' in message || 'message' in message;
}

/**
 * Checks whether this is a message of a request that was cut before its author: it may be the operator's. A
 * model's answer has no operator.
 */
export function isUnsigned(one: JsonObject, side: Side, budget: Budget): boolean {
  if (side !== 'input' || !isOpenEnded(one, budget)) return false;
  const isMessage = hasMessageMember(one) || SPOKEN_MEMBERS.some((name) => name in one);
  const isSigned = 'role' in one || authorOf(one) !== undefined || isPart(one);
  // Gemini's request has its messages where OpenInference's message has its parts.
  const isRequest = Array.isArray(one.contents) && one.contents.some(isSpokenByRole);
  return isMessage && !isSigned && !isRequest;
}

export const IDENTIFIER = /^[\w.:+/-]{0,100}$/;

/** A message without an author. Any other structure with a `content` is read whole. */
export function isBareMessage(value: JsonObject): boolean {
  return (
    hasMessageMember(value) &&
    Object.entries(value).every(
      ([name, inner]) =>
        MESSAGE_MEMBERS.includes(name) ||
        SPOKEN_MEMBERS.includes(name) ||
        actOfMember(name) === 'call' ||
        isMetadata(name, inner),
    )
  );
}

const OPERATOR_MEMBERS = new Set([
  'model',
  'preamble',
  'config',
  'tools',
  'tool_choice',
  'functions',
]);

/** Checks whether a member of a request, other than its messages, is the operator's and not the run's. */
export function isOperators(name: string): boolean {
  return OPERATOR_MEMBERS.has(name) || authorByRole(name) === 'operator';
}

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

export function isEnvelope(value: JsonObject, budget: Budget): boolean {
  if ('messages' in value) return true;
  return Object.entries(value).some(([name, inner]) => holdsMessages(name, inner, budget));
}

export function holdsMessages(name: string, value: JsonValue, budget: Budget): boolean {
  if (name === 'messages') return true;
  if (Array.isArray(value)) {
    if (!MESSAGE_LISTS.has(name)) return value.length > 0 && value.every(isSpokenByRole);
    return value.some(isMessage) || isOpenEnded(value, budget);
  }
  if (!isObject(value)) return false;
  // The input or output of a node or a component, by its name.
  const { messages } = value;
  if (Array.isArray(messages) && messages.some(isMessage)) return true;
  return ONE_MESSAGE.has(name) && isMessage(value);
}

/** A list of these is a conversation, whatever its name: `chat_history`, `turns`. */
function isSpokenByRole(value: JsonValue): boolean {
  return isObject(value) && typeof value.role === 'string' && isSpoken(value);
}

function isMessage(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(isMessage);
  if (!isObject(value)) return false;
  if (fromLangGraph(value) !== null || fromLangChain(value) !== null) return true;
  if (authorOf(value) !== undefined) return true;
  if ('messages' in value || Array.isArray(value.parts) || Array.isArray(value.content))
    return true;
  const { type, message, delta, content } = value;
  const isItem =
    typeof type === 'string' &&
    (actOfType(type) !== undefined || /^(?:message|reasoning)$/.test(type));
  return isItem || [message, delta, content].some((inner) => isObject(inner) && isMessage(inner));
}

/** Members of a request or response that are no text, if the value looks like it. */
export function isMetadata(name: string, value: JsonValue): boolean {
  return isMetadataName(name) && typeof value !== 'object' && IDENTIFIER.test(String(value));
}
