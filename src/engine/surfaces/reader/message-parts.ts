/**
 * Owns the table of message parts: how each dialect writes a text, a tool call, a tool's result
 * inside a message. A new dialect is a row; the reading of a row is written once. Data and its
 * reader only.
 *
 * The kind of a part never depends on the role: a tool's result echoed in a prompt stays a result.
 */
import type { JsonObject, JsonValue, Surface } from '../../../model.ts';
import { isBase64 } from './base64.ts';
import type { Budget } from './budget.ts';
import { isObject, stringsOf, textsOf } from './value-text.ts';

/** A text and its surface, before it has a step. */
export interface Piece {
  readonly surface: Surface;
  readonly text: string;
}

/**
 * Which members of a part hold what; of several names the first one that holds something counts, the
 * others are said.
 */
interface PartShape {
  /** said by whoever the message is from */
  readonly said?: readonly string[];
  /** said by the model, whatever the role */
  readonly thought?: readonly string[];
  readonly toolName?: readonly string[];
  readonly toolArgs?: readonly string[];
  readonly toolResult?: readonly string[];
  /** holds bytes, or an address of some; what else its members say is said all the same */
  readonly media?: { readonly reference: readonly string[] };
}

const CALL: PartShape = {
  toolName: ['name', 'toolName'],
  toolArgs: ['arguments', 'input', 'args'],
};
const MEDIA: PartShape = { media: { reference: ['uri', 'url', 'file_uri', 'image_url'] } };

/** Parts that say what they are in `type`. */
const BY_TYPE: Readonly<Record<string, PartShape>> = {
  text: { said: ['content', 'text'] },
  input_text: { said: ['text'] },
  output_text: { said: ['text'] },
  summary_text: { said: ['text'] },
  refusal: { said: ['refusal'] },
  reasoning: { thought: ['content', 'text', 'summary'] },
  thinking: { thought: ['content', 'thinking'] },
  tool_call: CALL,
  'tool-call': CALL,
  tool_use: CALL,
  function_call: CALL,
  toolCall: CALL,
  server_tool_call: { toolName: ['name'], toolArgs: ['server_tool_call'] },
  // The schema says `response`; its own example, and some producers, say `result`.
  tool_call_response: { toolResult: ['response', 'result'] },
  server_tool_call_response: { toolResult: ['server_tool_call_response'] },
  server_tool_use: CALL,
  mcp_tool_use: CALL,
  custom_tool_call: CALL,
  'tool-result': { toolResult: ['output', 'result'] },
  tool_result: { toolResult: ['content'] },
  mcp_tool_result: { toolResult: ['content'] },
  web_search_tool_result: { toolResult: ['content'] },
  code_execution_tool_result: { toolResult: ['content'] },
  function_call_output: { toolResult: ['output'] },
  custom_tool_call_output: { toolResult: ['output'] },
  // Calls that the provider itself makes stand together with what came of them.
  mcp_call: { toolName: ['name'], toolArgs: ['arguments'], toolResult: ['output', 'error'] },
  code_interpreter_call: { toolArgs: ['code'], toolResult: ['outputs'] },
  file_search_call: { toolArgs: ['queries'], toolResult: ['results'] },
  local_shell_call: { toolArgs: ['action'] },
  local_shell_call_output: { toolResult: ['output'] },
  shell_call: { toolArgs: ['action'] },
  shell_call_output: { toolResult: ['output'] },
  interrupt_response: { toolResult: ['response'] },
  blob: MEDIA,
  binary: MEDIA,
  file: MEDIA,
  uri: MEDIA,
  image: MEDIA,
  image_url: MEDIA,
  'image-url': MEDIA,
  'audio-url': MEDIA,
  'document-url': MEDIA,
  generic: { said: ['value'] },
};

/** Parts whose one member says what they are (Bedrock and Strands blocks, Gemini contents). */
const BY_MEMBER: Readonly<Record<string, PartShape>> = {
  toolUse: CALL,
  functionCall: CALL,
  function_call: CALL,
  function: CALL,
  toolRequest: CALL,
  toolResult: { toolResult: ['content'] },
  functionResponse: { toolResult: ['response'] },
  // Genkit; beside its output a tool may give parts, which the message that it is in says.
  toolResponse: { toolName: ['name'], toolResult: ['output'], said: ['content'] },
  function_response: { toolResult: ['response'] },
  executableCode: { toolArgs: ['code'] },
  executable_code: { toolArgs: ['code'] },
  codeExecutionResult: { toolResult: ['output'] },
  code_execution_result: { toolResult: ['output'] },
  media: MEDIA,
  inlineData: MEDIA,
  inline_data: MEDIA,
  fileData: MEDIA,
  file_data: MEDIA,
};

const BARE_TEXT: PartShape = { said: ['text'] };

/** Is this value a part of a known dialect? */
export function isPart(value: JsonValue): boolean {
  return isObject(value) && findShape(value) !== null;
}

/**
 * The texts of one part.
 * @param said where what the message's author says stands; null leaves it out (the operator's text)
 * @returns for a part of no known shape: all its strings, as said
 */
export function readPart(part: JsonValue, said: Surface | null, budget: Budget): Piece[] {
  if (!isObject(part)) return place(said, textsOf(part, budget));
  const found = findShape(part);
  if (found === null) return place(said, stringsOf(part, budget));
  const { shape, body, around } = found;
  const told = new Set<string>();
  const take = (names: readonly string[] = []): JsonValue => {
    const name = names.find((one) => !isEmpty(body[one]));
    if (name !== undefined) told.add(name);
    return name === undefined ? null : unwrap(body[name] ?? null);
  };
  const reference = shape.media === undefined ? null : take(shape.media.reference);
  return [
    ...place(said, textsOf(take(shape.said), budget)),
    ...place('agent_output', textsOf(take(shape.thought), budget)),
    ...place('tool_name', stringsOf(take(shape.toolName), budget)),
    ...place('tool_args', textsOf(take(shape.toolArgs), budget)),
    ...place('tool_result', textsOf(take(shape.toolResult), budget)),
    ...place(said === null ? null : 'step_input', stringsOf(reference, budget)),
    ...place(said, stringsOf([besideFacts(body, told), besideFacts(around)], budget)),
  ];
}

/** Members that are names of things, as long as they look like it. */
const FACTS =
  /^(?:type|role|(?:tool_?)?name|status|state|index|ref|mime_?type|media_?type|content_?type|modality|format|detail|.*id)$/i;
const NAME = /^[\w.+/-]{0,100}$/;
/** Members that hold bytes or a signature, as long as they are base64. */
const BYTES = /^(?:content|data|bytes|blob|file_?data|.*signature|encrypted_?content)$/i;

/**
 * What else the members of a structure say: those that were not told, without bytes and facts. Who
 * can name members, as a user's or a tool's structure can, must not hide text by it.
 */
export function besideFacts(structure: JsonObject, told?: ReadonlySet<string>): JsonObject {
  const rest = Object.entries(structure).filter(
    ([name, value]) => told?.has(name) !== true && !isFact(name, value),
  );
  return Object.fromEntries(rest.map(([name, value]) => [name, besideFactsIn(value)]));
}

function besideFactsIn(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(besideFactsIn);
  return isObject(value) ? besideFacts(value) : value;
}

function isFact(name: string, value: JsonValue): boolean {
  if (typeof value !== 'string') return false;
  return (FACTS.test(name) && NAME.test(value)) || (BYTES.test(name) && isBase64(value));
}

/** Puts texts on a surface, or nowhere. */
export function place(surface: Surface | null, texts: readonly string[]): Piece[] {
  return surface === null ? [] : texts.map((text) => ({ surface, text }));
}

interface FoundShape {
  readonly shape: PartShape;
  readonly body: JsonObject;
  /** what stands beside the body, where the body is a member */
  readonly around: JsonObject;
}

function findShape(part: JsonObject): FoundShape | null {
  const type = part.type;
  // `{type: "function", function: {…}}` is told by its member; its type says nothing else.
  for (const [name, shape] of Object.entries(BY_MEMBER)) {
    const body = part[name];
    if (!isObject(body)) continue;
    const { [name]: _, ...around } = part;
    return { shape, body, around };
  }
  if (typeof type === 'string' && Object.hasOwn(BY_TYPE, type)) {
    return { shape: BY_TYPE[type] ?? {}, body: part, around: {} };
  }
  // The AI SDK and LiveKit list calls without saying that they are some.
  const isCall = typeof part.toolName === 'string' || ('call_id' in part && 'arguments' in part);
  if (type === undefined && isCall) {
    return { shape: CALL, body: part, around: {} };
  }
  return type === undefined && 'text' in part ? { shape: BARE_TEXT, body: part, around: {} } : null;
}

function isEmpty(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || value === '' || isEmptyList(value);
}

function isEmptyList(value: JsonValue): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** What the AI SDK wraps results in. Any other structure may be of a tool's own making. */
const WRAPPED = /^(?:(?:error-)?(?:text|json)|content)$/;

function unwrap(value: JsonValue): JsonValue {
  if (!isObject(value) || typeof value.type !== 'string' || !WRAPPED.test(value.type)) return value;
  const { type: _, value: inner, ...rest } = value;
  return inner === undefined || Object.keys(rest).length > 0 ? value : inner;
}
