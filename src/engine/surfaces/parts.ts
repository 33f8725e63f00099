/**
 * Owns the table of message parts: how each dialect writes a text, a tool call, a tool's result
 * inside a message. A new dialect is a row; the reading of a row is written once. Data and its
 * reader only.
 *
 * The kind of a part never depends on the role: a tool's result echoed in a prompt stays a result.
 */
import type { JsonObject, JsonValue, Surface } from '../../model.ts';
import { isBase64 } from './base64.ts';
import type { Budget } from './budget.ts';
import { isObject, stringsOf, textsOf } from './value-text.ts';

/** A text and its surface, before it has a step. */
export interface Piece {
  readonly surface: Surface;
  readonly text: string;
}

/** Which members of a part hold what; of several names the first present one counts. */
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
  if (typeof part === 'string') return place(said, textsOf(part, budget));
  if (!isObject(part)) return [];
  const found = findShape(part);
  if (found === null) return place(said, stringsOf(part, budget));
  const { shape, body, around } = found;
  const texts = (names: readonly string[] = []) => textsOf(member(body, names), budget);
  const strings = (names: readonly string[] = []) => stringsOf(member(body, names), budget);
  return [
    ...place(said, texts(shape.said)),
    ...place('agent_output', texts(shape.thought)),
    ...place('tool_name', strings(shape.toolName)),
    ...place('tool_args', texts(shape.toolArgs)),
    ...place('tool_result', texts(shape.toolResult)),
    ...(shape.media === undefined || said === null
      ? []
      : [
          ...place('step_input', strings(shape.media.reference)),
          ...place(said, stringsOf([besideBytes(body), besideBytes(around)], budget)),
        ]),
  ];
}

/** Members of media parts that are names of things, as long as they look like it. */
const MEDIA_FACTS =
  /^(?:type|mime_?type|media_?type|content_?type|modality|format|id|file_?id|detail)$/i;
const NAME = /^[\w.+/-]{0,100}$/;
/** Members of media parts that hold the bytes, as long as they are base64. */
const BYTES = /^(?:content|data|bytes|blob|file_?data)$/i;

/** A media part without its bytes, its address and the names of its kind. */
function besideBytes(media: JsonObject): JsonObject {
  const rest: JsonObject = {};
  for (const [name, value] of Object.entries(media)) {
    if (MEDIA.media?.reference.includes(name)) continue;
    if (typeof value === 'string') {
      const isFact = MEDIA_FACTS.test(name) && NAME.test(value);
      if (!isFact && !(BYTES.test(name) && isBase64(value))) rest[name] = value;
    } else {
      rest[name] = isObject(value) ? besideBytes(value) : value;
    }
  }
  return rest;
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

/** The first present member; the wrapper `{type, value}` of AI SDK results is taken off. */
function member(body: JsonObject, names: readonly string[]): JsonValue {
  for (const name of names) {
    const value = body[name];
    if (value === undefined || value === null) continue;
    const isWrapped = isObject(value) && 'type' in value && 'value' in value;
    return isWrapped ? (value.value ?? null) : value;
  }
  return null;
}
