/**
 * Reads definitions of tools from one value, in the shapes that SDKs send: OpenAI, Anthropic, Gemini, Bedrock, MCP,
 * Pydantic AI, the AI SDK; also whole requests and answers that hold a list of tools.
 *
 * Must not throw for any value. A value that was cut, or exceeds the budget of a value, has no definitions: a part
 * of a description would look like a change.
 */
import { createHash } from 'node:crypto';
import type { Hex16, JsonObject, JsonValue } from '../../model/json.ts';
import { MCP_TOOL } from '../../model/shown/entities.ts';
import {
  DESCRIPTION_CHARS_MAX,
  type RunTools,
  SCHEMA_CHARS_MAX,
  TOOL_NAME_CHARS_MAX,
  type ToolDefinition,
} from '../../model/shown/tools.ts';
import { type Budget, createBudget } from '../surfaces/reader/budget.ts';
import { isCatalogueName, SCHEMA, WRAPPERS } from '../surfaces/reader/messages/catalogues.ts';
import { isObject, open, toPlain } from '../surfaces/reader/value-text.ts';

/** Lists and objects around a definition. */
const LEVELS_MAX = 6;
/** Members around a list of tools, beside those named for tools: JSON-RPC, ADK, Bedrock. */
const AROUND: readonly string[] = ['result', 'config', 'toolConfig'];
const SERVER_OF_NAME = new RegExp(MCP_TOOL);

const NOTHING_READ: RunTools = { definitions: [], leftOut: 1 };

/** @param server of all tools in the value, if their names do not say another one */
export function readDefinitions(sent: JsonValue, server = ''): RunTools {
  const budget = createBudget();
  const definitions: ToolDefinition[] = [];
  collect(open(toPlain(sent), budget), server, budget, definitions, 0);
  return budget.exceeded || budget.hasCutJson ? NOTHING_READ : { definitions, leftOut: 0 };
}

function collect(
  value: JsonValue,
  server: string,
  budget: Budget,
  into: ToolDefinition[],
  level: number,
): void {
  if (level > LEVELS_MAX) return;
  if (Array.isArray(value)) {
    for (const one of value) collect(open(one, budget), server, budget, into, level + 1);
    return;
  }
  if (!isObject(value)) return;
  const wrapped = WRAPPERS.map((name) => value[name]).find((one) => typeof one === 'object');
  if (wrapped !== undefined) {
    collect(wrapped, server, budget, into, level + 1);
    return;
  }
  const { name, server_label: label } = value;
  const definition = typeof name === 'string' ? definitionOf(name, value, server, budget) : null;
  if (definition !== null) {
    into.push(definition);
    return;
  }
  // The list of an MCP server, as OpenAI's Responses API has it.
  const own = typeof label === 'string' ? label : server;
  for (const [member, inner] of Object.entries(value)) {
    if (isCatalogueName(member) || AROUND.includes(member)) {
      const tools = open(inner, budget);
      collect(isObject(tools) ? byName(tools) : tools, own, budget, into, level + 1);
    }
  }
}

/** Tools by their names, as the AI SDK takes them, as a list; any other object as it is. */
function byName(tools: JsonObject): JsonValue {
  const all = Object.entries(tools);
  const isMap =
    all.length > 0 &&
    all.every(([, one]) => isObject(one) && !('name' in one) && schemaIn(one) !== undefined);
  return isMap ? all.map(([name, one]) => ({ ...(one as JsonObject), name })) : tools;
}

const schemaIn = (value: JsonObject): JsonValue | undefined =>
  Object.entries(value).find(([key, one]) => SCHEMA.test(key) && !/^output/i.test(key) && one)?.[1];

function definitionOf(
  name: string,
  value: JsonObject,
  server: string,
  budget: Budget,
): ToolDefinition | null {
  const sent = schemaIn(value);
  const schema = sent === undefined ? null : canonical(open(sent, budget));
  // A sender with schemas sends descriptions, too.
  const none = schema === null ? null : '';
  return toDefinition({
    name,
    server,
    description: typeof value.description === 'string' ? value.description : none,
    schema,
  });
}

/** Returns null if nothing but the name is known. */
export function toDefinition({
  name,
  server,
  description,
  schema,
}: Pick<ToolDefinition, 'name' | 'server' | 'description' | 'schema'>): ToolDefinition | null {
  if (name === '' || (schema === null && (description ?? '') === '')) return null;
  const named = {
    server: kept(SERVER_OF_NAME.exec(name)?.[1] ?? server, TOOL_NAME_CHARS_MAX),
    name: kept(name, TOOL_NAME_CHARS_MAX),
    descriptionHash: description === null ? null : hashOf(description),
    schemaHash: schema === null ? null : hashOf(schema),
  };
  return {
    ...named,
    key: JSON.stringify(Object.values(named)),
    description: description === null ? null : kept(description, DESCRIPTION_CHARS_MAX),
    schema: schema === null ? null : kept(schema, SCHEMA_CHARS_MAX),
    descriptionChars: description?.length ?? 0,
    schemaChars: schema?.length ?? 0,
  };
}

/** PostgreSQL's text has no U+0000 and no lone surrogates. */
const kept = (text: string, charsMax: number): string =>
  text.slice(0, charsMax).replaceAll('\0', '\uFFFD').toWellFormed();

/** Lone surrogates differ in JSON, and are equal in UTF-8. */
export const hashOf = (value: unknown): Hex16 =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);

/** JSON in which the order of keys, which senders choose, does not matter. At most 64 deep (`open`). */
const canonical = (value: JsonValue): string => JSON.stringify(sorted(value));

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([key, one]) => [key, sorted(one)]));
}
