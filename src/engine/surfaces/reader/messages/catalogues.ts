/**
 * Owns the recognition of tool catalogues in a request: lists of tools with their descriptions and
 * schemas, as n8n sends them in `gen_ai.prompt`. They are no text of a run: the same in every run, and kept in the
 * inventory of tools (`src/engine/tools/`).
 *
 * Must recognise nothing else: a definition with any member that definitions do not have is text.
 */
import type { JsonObject, JsonValue } from '../../../../model/json.ts';
import { isObject } from '../value-text.ts';
import { wordsOf } from './words.ts';

export const SCHEMA =
  /^(?:parameters|schema|(?:input|output|args?|arguments|parameters|json)_?(?:json_?)?schema)$/i;
const OTHER =
  /^(?:name|title|description|type|kind|strict|annotations|id|version|cache_?control|icons|examples|_meta|defer_?loading)$/i;
/** Members that hold one definition, or a list of them. */
export const WRAPPERS = ['function', 'toolSpec', 'functionDeclarations', 'function_declarations'];

/** `tools`, `functions`, `tool_definitions`, `availableTools` */
export function isCatalogueName(name: string): boolean {
  const words = wordsOf(name);
  const last = words.at(-1) ?? '';
  if (/^(?:tools|functions|toolset)$/.test(last)) return true;
  const isOfTools = words.some((word) => /^(?:tools?|functions?)$/.test(word));
  return isOfTools && /^(?:definitions?|declarations?|schemas?|specs?|catalog(?:ue)?)$/.test(last);
}

/** Checks whether this defines a tool. @param needs members that it must have */
function isDefinition(value: JsonValue, needs: 'name' | 'schema' | 'both'): boolean {
  if (!isObject(value)) return false;
  const wrapper = WRAPPERS.find((name) => typeof value[name] === 'object');
  if (wrapper !== undefined) {
    const inner = value[wrapper] ?? null;
    const { [wrapper]: _, ...around } = value;
    const isPlain = Object.keys(around).every((name) => OTHER.test(name));
    return (
      isPlain && (Array.isArray(inner) ? inner : [inner]).every((one) => isDefinition(one, 'name'))
    );
  }
  const names = Object.keys(value);
  const isNamed = typeof value.name === 'string' || needs === 'schema';
  const hasSchema = needs === 'name' || names.some((name) => SCHEMA.test(name));
  return isNamed && hasSchema && names.every((name) => OTHER.test(name) || SCHEMA.test(name));
}

/** Checks whether this is the definition of a tool, as a list of nothing else has them. */
export const isToolDefinition = (value: JsonValue): boolean => isDefinition(value, 'both');

function isCatalogue(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.every((one) => isDefinition(one, 'name'));
  // The AI SDK: by the tools' names.
  return isObject(value) && Object.values(value).every((one) => isDefinition(one, 'schema'));
}

/**
 * A request without its catalogues of tools; the value itself where it has none, null where it is
 * nothing but one.
 */
export function withoutCatalogues(value: JsonValue): JsonValue {
  if (Array.isArray(value)) {
    const isAll = value.length > 0 && value.every(isToolDefinition);
    return isAll ? null : value;
  }
  if (!isObject(value)) return value;
  const kept: [string, JsonValue][] = Object.entries(value).filter(
    ([name, one]) => !(isCatalogueName(name) && isCatalogue(one)),
  );
  if (kept.length === Object.keys(value).length) return value;
  return kept.length === 0 ? null : (Object.fromEntries(kept) as JsonObject);
}
