/**
 * Finds the definitions of tools that the steps of a run send. No rule reads them: the specification's fields have no
 * tool description. They are kept in the workspace's inventory of tools.
 *
 * Model calls repeat the same definitions, so a value that was read before is recognised as it was sent, before any
 * parsing.
 */
import { LRUCache } from 'lru-cache';
import { type JsonObject, type JsonValue, quoteFrom } from '../../model/json.ts';
import {
  RUN_DEFINITIONS_MAX,
  type RunTools,
  type ToolDefinition,
} from '../../model/shown/tools.ts';
import type { Step } from '../../model/steps.ts';
import { readDefinitions, toDefinition } from './definition-values.ts';

/** Attributes with a list of tools, or with a structure around one. */
const LISTS = [
  'gen_ai.tool.definitions',
  'ai.prompt.tools',
  'gen_ai.request.available_tools',
  'mlflow.chat.tools',
  'model_request_parameters',
  'openclaw.content.tool_definitions',
] as const;
/** Requests with a list of tools in them: of n8n, Google ADK and Claude Code, and the settings that OpenInference sends. */
const REQUESTS = [
  'gen_ai.prompt',
  'gcp.vertex.agent.llm_request',
  'llm.invocation_parameters',
  'body',
] as const;
/** The answer of an MCP server to `tools/list`. */
const ANSWERS = [
  'mcp.response.value',
  'response',
  'traceloop.entity.output',
  'output.value',
  'gen_ai.tool.call.result',
] as const;
const SERVERS = ['mcp.server.name', 'mcp_server_name', 'server_name', 'mcp.server'] as const;

/** Characters of values that a run may have read; those that were read before do not count. */
export const RUN_DEFINITION_CHARS_MAX = 4 * 1024 * 1024;
/** Characters of values that a thread recognises. */
export const KNOWN_DEFINITION_CHARS_MAX = 8 * 1024 * 1024;
/** Characters in a row, and how many such rows, that a value is looked up by. */
const SAMPLE_CHARS = 32;
const SAMPLES = 16;

interface Read {
  readonly sent: string;
  readonly tools: RunTools;
}

/** One per thread. Two long values with the same key replace each other. */
const READ_BEFORE = new LRUCache<string, Read>({
  maxSize: KNOWN_DEFINITION_CHARS_MAX,
  sizeCalculation: ({ sent, tools }) =>
    tools.definitions.reduce(
      (sum, { description, schema }) => sum + (description?.length ?? 0) + (schema?.length ?? 0),
      sent.length + 1,
    ),
});

/** V8 hashes a long string by its length alone, and SHA-256 of it costs more than comparing it. */
function sampleOf(sent: string): string {
  if (sent.length <= SAMPLES * SAMPLE_CHARS) return sent;
  const parts = [String(sent.length)];
  for (let at = 0; at < SAMPLES; at += 1) {
    const start = Math.floor(((sent.length - SAMPLE_CHARS) * at) / (SAMPLES - 1));
    parts.push(sent.slice(start, start + SAMPLE_CHARS));
  }
  return parts.join('\n');
}

/** Finds the definitions of a run's steps. Never throws; limits are counted in `leftOut`. */
export function toolsOfRun(steps: readonly Step[]): RunTools {
  const reading = new RunReading();
  for (const step of steps) reading.read(step);
  return reading.result;
}

class RunReading {
  readonly #listed = new Map<string, ToolDefinition>();
  /** described by a call of theirs, without their schema */
  readonly #called = new Map<string, ToolDefinition>();
  /** values that count in `leftOut`, each once */
  readonly #incomplete = new Set<string>();
  #leftOut = 0;
  #chars = 0;
  /** attribute → its last value: steps of one agent mostly have the same */
  readonly #last = new Map<string, JsonValue>();

  read({ name, attributes, events, source, body }: Step): void {
    this.#readAttributes(name, attributes);
    for (const event of events) this.#readAttributes('', event.attributes);
    if (source === 'log' && typeof body === 'object' && body !== null && !Array.isArray(body)) {
      this.#readAttributes('', body);
    }
  }

  get result(): RunTools {
    const names = new Set([...this.#listed.values()].map((one) => one.name));
    const called = [...this.#called.values()].filter((one) => !names.has(one.name));
    const all = [...this.#listed.values(), ...called];
    return {
      definitions: all.slice(0, RUN_DEFINITIONS_MAX),
      leftOut: this.#leftOut + Math.max(0, all.length - RUN_DEFINITIONS_MAX),
    };
  }

  #readAttributes(name: string, attributes: JsonObject): void {
    for (const key of LISTS) this.#readValue(key, attributes[key], '');
    for (let at = 0; ; at += 1) {
      const key = `llm.tools.${at}.tool.json_schema`;
      if (attributes[key] === undefined) break;
      this.#readValue(key, attributes[key], '');
    }
    for (let at = 0; ; at += 1) {
      const key = `llm.request.functions.${at}.`;
      const value = functionOf(attributes, key);
      if (value === undefined) break;
      this.#readValue(key, value, '');
    }
    for (const key of REQUESTS) {
      const sent = attributes[key];
      if (typeof sent === 'string') {
        for (const list of listsIn(sent)) this.#readValue(key, list, '');
      }
    }
    const method = attributes['mcp.method.name'] ?? attributes['rpc.method'];
    if (method === 'tools/list' || name.includes('tools/list')) {
      const server = textOf(attributes, SERVERS) ?? '';
      for (const key of ANSWERS) this.#readValue(key, attributes[key], server);
    }
    this.#readCall(attributes);
  }

  #readCall(attributes: JsonObject): void {
    const name = textOf(attributes, ['gen_ai.tool.name', 'tool.name']);
    if (name === null) return;
    const description = textOf(attributes, ['gen_ai.tool.description', 'tool.description']);
    if (description === null) return;
    const server = textOf(attributes, SERVERS) ?? '';
    const definition = toDefinition({ name, server, description, schema: null });
    if (definition !== null) this.#add(this.#called, definition);
  }

  /** @param from the attribute, or the beginning of several */
  #readValue(from: string, value: JsonValue | undefined, server: string): void {
    if (value === undefined || value === null || typeof value === 'number' || value === '') return;
    const last = this.#last.get(from);
    if (server === '' && last !== undefined && isSame(last, value)) return;
    if (server === '') this.#last.set(from, value);
    const sent = typeof value === 'string' ? value : JSON.stringify(value);
    const key = `${server}\n${sampleOf(sent)}`;
    const before = READ_BEFORE.get(key);
    const tools = before?.sent === sent ? before.tools : this.#parse(sent, value, server, key);
    if (tools === null) return;
    for (const definition of tools.definitions) this.#add(this.#listed, definition);
    if (tools.leftOut > 0 && !this.#incomplete.has(key)) {
      this.#incomplete.add(key);
      this.#leftOut += tools.leftOut;
    }
  }

  #parse(sent: string, value: JsonValue, server: string, key: string): RunTools | null {
    this.#chars += sent.length;
    if (this.#chars > RUN_DEFINITION_CHARS_MAX) {
      this.#leftOut += 1;
      return null;
    }
    const tools = readDefinitions(value, server);
    READ_BEFORE.set(key, { sent, tools });
    return tools;
  }

  #add(into: Map<string, ToolDefinition>, definition: ToolDefinition): void {
    const { key } = definition;
    if (into.has(key)) return;
    // One more than is kept, so that the result counts it.
    if (into.size > RUN_DEFINITIONS_MAX) this.#leftOut += 1;
    else into.set(key, definition);
  }
}

/** Compares without a copy: structures of the same shape, in the same order. At most 64 deep (`toPlain`). */
function isSame(one: JsonValue, other: JsonValue): boolean {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) {
    return one === other;
  }
  const keys = Object.keys(one);
  const [a, b] = [one as JsonObject, other as JsonObject];
  return (
    Array.isArray(one) === Array.isArray(other) &&
    keys.length === Object.keys(other).length &&
    keys.every((key) => {
      const [inner, same] = [a[key], b[key]];
      return inner !== undefined && same !== undefined && isSame(inner, same);
    })
  );
}

function textOf(attributes: JsonObject, keys: readonly string[]): string | null {
  for (const key of keys) {
    const value = attributes[key];
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
}

/** A tool of OpenLLMetry, one attribute for each member. */
function functionOf(attributes: JsonObject, prefix: string): JsonValue | undefined {
  const name = attributes[`${prefix}name`];
  if (typeof name !== 'string') return undefined;
  const description = attributes[`${prefix}description`];
  const parameters = attributes[`${prefix}parameters`] ?? attributes[`${prefix}input_schema`];
  return {
    name,
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
  };
}

const LIST_BEGINS = /"(?:tools|functions|function_declarations|functionDeclarations)"\s*:\s*\[/g;
/** Lists of tools in one request. */
const LISTS_MAX = 20;

/** The lists of tools in a request's JSON, as they were sent: the conversation around them is not parsed. */
function* listsIn(sent: string): Generator<string> {
  LIST_BEGINS.lastIndex = 0;
  for (let lists = 0; lists < LISTS_MAX; lists += 1) {
    const found = LIST_BEGINS.exec(sent);
    if (found === null) return;
    const start = LIST_BEGINS.lastIndex - 1;
    const end = endOfList(sent, start);
    // The rest of a list that was cut counts as left out.
    if (end === -1) yield sent.slice(start);
    if (end === -1) return;
    LIST_BEGINS.lastIndex = end;
    yield sent.slice(start, end);
  }
}

/** Returns the index after the bracket that closes the one at `start`; -1 without one. */
function endOfList(sent: string, start: number): number {
  let depth = 0;
  const marks = /["[\]]/g;
  marks.lastIndex = start;
  for (let mark = marks.exec(sent); mark !== null; mark = marks.exec(sent)) {
    if (mark[0] === '"') {
      const quote = quoteFrom(sent, mark.index + 1);
      if (quote === -1) return -1;
      marks.lastIndex = quote + 1;
    } else {
      depth += mark[0] === '[' ? 1 : -1;
      if (depth === 0) return mark.index + 1;
    }
  }
  return -1;
}
