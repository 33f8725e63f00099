/**
 * Owns the table of message parts: how each dialect writes a text, a tool call, a tool's result
 * inside a message. A new dialect is a row; the reading of a row is written once. Data and its
 * reader only.
 *
 * The kind of a part never depends on the role: a tool's result echoed in a prompt stays a result.
 */
import type { JsonObject, JsonValue, Surface } from '../../model.ts';
import { isObject, open, stringsOf, textsOf } from './value-text.ts';

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
  /** an address; the content behind it is no text */
  readonly reference?: readonly string[];
}

const CALL: PartShape = {
  toolName: ['name', 'toolName'],
  toolArgs: ['arguments', 'input', 'args'],
};
const MEDIA: PartShape = { reference: ['uri', 'url', 'file_uri', 'image_url'] };

/** Parts that say what they are in `type`. */
const BY_TYPE: Readonly<Record<string, PartShape>> = {
  text: { said: ['content', 'text'] },
  input_text: { said: ['text'] },
  output_text: { said: ['text'] },
  refusal: { said: ['refusal'] },
  reasoning: { thought: ['content', 'text', 'summary'] },
  thinking: { thought: ['content', 'thinking'] },
  tool_call: CALL,
  'tool-call': CALL,
  tool_use: CALL,
  function_call: CALL,
  server_tool_call: { toolName: ['name'], toolArgs: ['server_tool_call'] },
  // The schema says `response`; its own example, and some producers, say `result`.
  tool_call_response: { toolResult: ['response', 'result'] },
  server_tool_call_response: { toolResult: ['server_tool_call_response'] },
  'tool-result': { toolResult: ['output', 'result'] },
  tool_result: { toolResult: ['content'] },
  function_call_output: { toolResult: ['output'] },
  blob: {},
  binary: {},
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
  toolResult: { toolResult: ['content'] },
  functionResponse: { toolResult: ['response'] },
  function_response: { toolResult: ['response'] },
  executableCode: { toolArgs: ['code'] },
  executable_code: { toolArgs: ['code'] },
  codeExecutionResult: { toolResult: ['output'] },
  code_execution_result: { toolResult: ['output'] },
  inlineData: {},
  inline_data: {},
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
export function readPart(part: JsonValue, said: Surface | null): Piece[] {
  if (typeof part === 'string') return place(said, textsOf(part));
  if (!isObject(part)) return [];
  const found = findShape(part);
  if (found === null) return place(said, stringsOf(part));
  const { shape, body } = found;
  return [
    ...place(said, textsOf(member(body, shape.said))),
    ...place('agent_output', textsOf(member(body, shape.thought))),
    ...place('tool_name', stringsOf(member(body, shape.toolName))),
    ...place('tool_args', textsOf(member(body, shape.toolArgs))),
    ...place('tool_result', textsOf(member(body, shape.toolResult))),
    ...place(said === null ? null : 'step_input', stringsOf(member(body, shape.reference))),
  ];
}

/** Puts texts on a surface, or nowhere. */
export function place(surface: Surface | null, texts: readonly string[]): Piece[] {
  return surface === null ? [] : texts.map((text) => ({ surface, text }));
}

function findShape(part: JsonObject): { shape: PartShape; body: JsonObject } | null {
  const type = part.type;
  // `{type: "function", function: {…}}` is told by its member; its type says nothing else.
  for (const [name, shape] of Object.entries(BY_MEMBER)) {
    const body = part[name];
    if (isObject(body)) return { shape, body };
  }
  if (typeof type === 'string' && Object.hasOwn(BY_TYPE, type)) {
    return { shape: BY_TYPE[type] ?? {}, body: part };
  }
  return type === undefined && 'text' in part ? { shape: BARE_TEXT, body: part } : null;
}

/** The first present member; the wrapper `{type, value}` of AI SDK results is taken off. */
function member(body: JsonObject, names: readonly string[] = []): JsonValue {
  for (const name of names) {
    const value = body[name];
    if (value === undefined || value === null) continue;
    const opened = open(value);
    const wrapped = isObject(opened) && 'type' in opened && 'value' in opened;
    return wrapped ? (opened.value ?? null) : value;
  }
  return null;
}
