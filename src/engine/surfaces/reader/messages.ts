/**
 * Owns the reading of chat messages in any dialect: who says what, and so on which surface it
 * stands. Shared by every convention. Must lose no text for being written in an unknown dialect:
 * what is not recognised stands, whole, where the value's side says.
 *
 * A string that somebody said stays text under its author's name, whatever it looks like: messages
 * and parts found inside it only add. Else whoever writes `{"role":"system",…}` goes unmatched.
 */
import type { JsonObject, JsonValue, Surface } from '../../../model.ts';
import type { Budget } from './budget.ts';
import type { Side } from './convention.ts';
import { besideFacts, isPart, type Piece, place, readPart } from './message-parts.ts';
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
  ['toolresult', 'tool'],
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
export function readMessages(
  value: JsonValue,
  side: Side,
  unsaid: Surface,
  budget: Budget,
): Piece[] {
  const opened = open(value, budget);
  if (Array.isArray(opened)) return opened.flatMap((one) => readOne(one, side, unsaid, budget));
  if (isObject(opened)) return readOne(opened, side, unsaid, budget, value);
  return place(unsaid, textsOf(value, budget));
}

/**
 * Reads a value that may hold messages and may as well be plain text: as `readMessages` does, but
 * a string also stands, whole, where its side says.
 */
export function readExchange(
  value: JsonValue,
  side: Side,
  unsaid: Surface,
  budget: Budget,
): Piece[] {
  const pieces = readMessages(value, side, unsaid, budget);
  const known = new Set(pieces.filter(({ surface }) => surface === unsaid).map(({ text }) => text));
  return [...pieces, ...asSaid(value, unsaid, budget).filter(({ text }) => !known.has(text))];
}

/**
 * Reads an event that is one message: `{content, role?, tool_calls?}`, or a choice with `message`.
 * @param carrier the span event's attributes or the log record's body
 * @param role the role the event's name tells
 */
export function readMessageEvent(
  carrier: JsonValue,
  side: Side,
  role: string,
  budget: Budget,
): Piece[] {
  const unsaid = placeOf(role, side) ?? 'step_input';
  const message = isObject(carrier) ? (carrier.message ?? null) : carrier;
  return [
    ...readMessage(toMessage(carrier, role, budget), side, unsaid, budget),
    ...asSaid(message, unsaid, budget),
  ];
}

/** The text of an event that is one message, without its reading. */
export function contentOf(carrier: JsonValue, budget: Budget): JsonValue {
  if (typeof carrier === 'string') return carrier;
  const message = toMessage(carrier, '', budget);
  // What a tool gave may be a structure of its own.
  const whole = isObject(carrier) ? (carrier.message ?? null) : carrier;
  return message.content ?? message.parts ?? whole;
}

function toMessage(carrier: JsonValue, role: string, budget: Budget): JsonObject {
  const opened = open(carrier, budget);
  if (!isObject(opened)) return { role, content: carrier };
  // .NET producers put the whole message into one attribute.
  const body = open(opened['gen_ai.event.content'] ?? withoutAttributes(opened), budget);
  if (!isObject(body)) return { role, content: body };
  const inner = open(body.message ?? null, budget);
  const { message, ...around } = body;
  if (isObject(inner)) return { role, ...around, ...inner };
  const isAbsent = message === undefined || message === null;
  return isAbsent ? { role, ...body } : { role, ...around, content: message };
}

/** A message beside which the event's own attributes stand, such as `gen_ai.system`. */
function withoutAttributes(carrier: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(carrier).filter(([name]) => !name.includes('.')));
}

/** @param written the same as it was written, for what turns out to be no message */
function readOne(
  one: JsonValue,
  side: Side,
  unsaid: Surface,
  budget: Budget,
  written: JsonValue = one,
): Piece[] {
  if (typeof one === 'string') return readExchange(one, side, unsaid, budget);
  if (Array.isArray(one)) return one.flatMap((inner) => readOne(inner, side, unsaid, budget));
  if (!isObject(one)) return place(unsaid, textsOf(one, budget));
  const serialized = fromLangChain(one);
  if (serialized !== null) return readMessage(serialized, side, unsaid, budget);
  if ('role' in one || 'parts' in one) return readMessage(one, side, unsaid, budget);
  if (isPart(one)) return readPart(one, unsaid, budget);
  if (authorOf(one) !== undefined) return readMessage(one, side, unsaid, budget);
  if (isEnvelope(one)) return readEnvelope(one, side, unsaid, budget);
  if (isBareMessage(one)) return readMessage(one, side, unsaid, budget);
  return place(unsaid, textsOf(written, budget));
}

/** Members of messages that are facts about them, as long as they look like it. */
const MESSAGE_FACTS = new Set(['id', 'index', 'finish_reason', 'tool_call_id', 'name', 'type']);
const FACT = /^[\w.:+/-]{0,100}$/;

/** A message that names no author. Whatever else has a `content` is told whole. */
function isBareMessage(value: JsonObject): boolean {
  const isFact = (name: string, inner: JsonValue) =>
    MESSAGE_FACTS.has(name) && typeof inner !== 'object' && FACT.test(String(inner));
  return (
    MESSAGE_MEMBERS.some((name) => name in value) &&
    Object.entries(value).every(
      ([name, inner]) =>
        MESSAGE_MEMBERS.includes(name) || ASIDES.includes(name) || isFact(name, inner),
    )
  );
}

/** What stands beside the messages of a request and is the operator's, not the run's. */
const OPERATOR_MEMBERS = new Set([
  'model',
  'system',
  'system_instruction',
  'instructions',
  'config',
  'tools',
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
const ONE_MESSAGE = new Set(['message', 'delta', 'response', 'content', 'inputs', 'outputs']);

/** Is this a request or a response, with its messages as a member? */
function isEnvelope(value: JsonObject): boolean {
  if ('messages' in value) return true;
  return Object.entries(value).some(([name, inner]) => holdsMessages(name, inner));
}

function holdsMessages(name: string, value: JsonValue): boolean {
  if (name === 'messages') return true;
  if (MESSAGE_LISTS.has(name) && Array.isArray(value)) return value.some(isMessage);
  return ONE_MESSAGE.has(name) && isObject(value) && isMessage(value);
}

/** Does a value look like a message, or wrap one? */
function isMessage(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(isMessage);
  if (!isObject(value)) return false;
  if (fromLangChain(value) !== null || authorOf(value) !== undefined) return true;
  if ('messages' in value || Array.isArray(value.parts) || Array.isArray(value.content))
    return true;
  const { type, message, delta, content } = value;
  const isItem =
    typeof type === 'string' && /_call(?:_output)?$|^(?:message|reasoning)$/.test(type);
  return isItem || [message, delta, content].some((inner) => isObject(inner) && isMessage(inner));
}

/** `HumanMessage`, `AIMessageChunk` … → the role it is told by */
const LANGCHAIN_CLASS = /^(Human|AI|System|Tool|Function|Chat)Message(?:Chunk)?$/;

/** A message as LangChain serialises it, `{lc, id: […, class], kwargs: {…}}`, without its wrapping. */
function fromLangChain({ id, kwargs }: JsonObject): JsonObject | null {
  if (!Array.isArray(id) || !isObject(kwargs)) return null;
  const name = id.at(-1);
  const role = typeof name === 'string' ? LANGCHAIN_CLASS.exec(name)?.[1] : undefined;
  return role === undefined ? null : { role: role.toLowerCase(), ...kwargs };
}

function readEnvelope(envelope: JsonObject, side: Side, unsaid: Surface, budget: Budget): Piece[] {
  return Object.entries(envelope).flatMap(([name, value]) => {
    const inner = open(value, budget);
    if (holdsMessages(name, inner)) return readMessages(inner, side, unsaid, budget);
    // An answer of a model repeats the request's settings; what else gave something chose its members.
    const isOperators = side === 'input' || unsaid === 'agent_output';
    const isLeftOut = isOperators && OPERATOR_MEMBERS.has(name);
    return isLeftOut ? [] : place(unsaid, stringsOf(value, budget));
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

/** What the model adds to what it says. */
const ASIDES = ['reasoning_content', 'reasoning', 'refusal'];

/** Members of messages that are not said: facts about them, and what providers say of a call. */
const UNSAID_MEMBERS: ReadonlySet<string> = new Set([
  ...MESSAGE_MEMBERS,
  ...ASIDES,
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

function readMessage(message: JsonObject, side: Side, unsaid: Surface, budget: Budget): Piece[] {
  const author = authorOf(message);
  const said = author === undefined ? unsaid : PLACES[side][author];
  if (!MESSAGE_MEMBERS.some((name) => name in message)) {
    const { role: _role, type: _type, ...rest } = message;
    return place(said, stringsOf(rest, budget));
  }
  const { content, contents, parts } = message;
  const { calls, call, reasoning } = calledIn(message, budget);
  const given = readContent(content ?? null, said, budget);
  return [
    ...place('agent_output', textsOf(reasoning, budget)),
    ...place('agent_output', textsOf(message.reasoning ?? null, budget)),
    // Whoever else has a name is a participant.
    ...(author === 'tool'
      ? place('tool_name', stringsOf(message.name ?? message.toolName ?? null, budget))
      : []),
    ...readContent(parts ?? null, said, budget),
    ...given,
    ...(author === 'tool' && isElsewhere(given)
      ? place(said, textsOf(content ?? null, budget))
      : []),
    ...readContent(contents ?? null, said, budget),
    ...place(said, textsOf(message.refusal ?? null, budget)),
    ...calls.flatMap((one) => readPart(asCall(one), said, budget)),
    ...readPart(asCall(call), said, budget),
    ...place('tool_name', stringsOf(message.function_call_name ?? null, budget)),
    ...place('tool_args', textsOf(message.function_call_arguments_json ?? null, budget)),
    // Attachments, transcripts.
    ...place(said, stringsOf(besideFacts(message, UNSAID_MEMBERS), budget)),
  ];
}

/** A tool's own structure may look like a call or a thought; the tool gave it all the same. */
function isElsewhere(given: readonly Piece[]): boolean {
  const surfaces = new Set(given.map(({ surface }) => surface));
  if (surfaces.has('agent_output') || surfaces.has('tool_args')) return true;
  return surfaces.has('tool_name') && !surfaces.has('tool_result');
}

/** The calls and thoughts in a message; LangChain may have put the provider's own form beside it. */
function calledIn(message: JsonObject, budget: Budget) {
  const provider = isObject(message.additional_kwargs) ? message.additional_kwargs : {};
  const told = list(open(message.tool_calls ?? null, budget));
  return {
    calls: told.length > 0 ? told : list(open(provider.tool_calls ?? null, budget)),
    call: message.function_call ?? provider.function_call ?? null,
    reasoning: message.reasoning_content ?? provider.reasoning_content ?? null,
  };
}

function readContent(content: JsonValue, said: Surface | null, budget: Budget): Piece[] {
  if (typeof content === 'string') {
    const opened = open(content, budget);
    return [
      ...(holdsParts(opened) ? readContent(opened, said, budget) : []),
      ...place(said, textsOf(content, budget)),
    ];
  }
  if (Array.isArray(content)) return content.flatMap((part) => readPart(part, said, budget));
  if (!isObject(content)) return place(said, textsOf(content, budget));
  if (Array.isArray(content.parts)) {
    const around = besideFacts(content, new Set(['parts']));
    return [...readContent(content.parts, said, budget), ...place(said, stringsOf(around, budget))];
  }
  if (isPart(content)) return readPart(content, said, budget);
  const inner = insideWrapper(content);
  return inner === null ? place(said, textsOf(content, budget)) : readContent(inner, said, budget);
}

/** What an event said that became a message's content, as AWS's distribution puts it there. */
function insideWrapper({ content, message, ...around }: JsonObject): JsonValue | null {
  if (content !== undefined && message !== undefined) return null;
  const isFact = ([name, value]: [string, JsonValue]) =>
    WRAPPER_FACTS.has(name) && typeof value !== 'object' && FACT.test(String(value));
  return Object.entries(around).every(isFact) ? (content ?? message ?? null) : null;
}

const WRAPPER_FACTS = new Set(['role', 'id', 'index', 'finish_reason']);

/** A string as it was said, with what opening it shows. */
function asSaid(value: JsonValue, said: Surface, budget: Budget): Piece[] {
  return typeof value === 'string' ? place(said, textsOf(value, budget)) : [];
}

function holdsParts(opened: JsonValue): boolean {
  if (Array.isArray(opened)) return opened.some(isPart);
  return isObject(opened) && (isPart(opened) || Array.isArray(opened.parts));
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
