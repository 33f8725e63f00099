/**
 * Owns the memory of resources and scopes by the text they were sent as: a process sends the same
 * ones with every request, and parsing and hashing them would cost more than a small request's rows.
 * What is remembered is a function of the text alone, the same for whoever sends it.
 */

import type { JsonObject, JsonValue, ResourceRow } from '../../model.ts';
import { Fault } from '../fault.ts';
import { parseResource, parseScope, toResourceRow } from '../origin.ts';
import { LEFT_TO_PLAIN } from './scanner.ts';

/** Bounds the memory to some 16 MB; past it, it starts anew. */
const TEXTS_MAX = 1000;
/** Longer texts are not remembered. */
const TEXT_LENGTH_MAX = 4096;

const known = new Map<string, ResourceRow>();

/**
 * The row of a resource with a scope.
 *
 * @param resource JSON text, known to be valid; empty when it was not sent, as are the others
 * @throws LEFT_TO_PLAIN when one of them holds a fault
 */
export function originOf(
  resource: string,
  schemaUrl: string,
  scope: string,
  scopeSchemaUrl: string,
): ResourceRow {
  // JSON values end where they end, so no two lists of texts look alike when joined.
  const key = `${resource}\n${schemaUrl},${scope}\n${scopeSchemaUrl}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const fault = new Fault();
  const row = toResourceRow(
    parseResource(entry('resource', resource, schemaUrl), fault),
    parseScope(entry('scope', scope, scopeSchemaUrl), fault),
  );
  if (fault.refused) throw LEFT_TO_PLAIN;
  if (key.length > TEXT_LENGTH_MAX) return row;
  if (known.size >= TEXTS_MAX) known.clear();
  known.set(key, row);
  return row;
}

function entry(name: string, text: string, schemaUrl: string): JsonObject {
  const made: JsonObject = {};
  if (text !== '') made[name] = JSON.parse(text) as JsonValue;
  if (schemaUrl !== '') made.schemaUrl = JSON.parse(schemaUrl) as JsonValue;
  return made;
}
