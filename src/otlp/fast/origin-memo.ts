/**
 * Remembers resources and scopes by the text they were sent as: a process sends the same
 * ones with every request, and parsing and hashing them would cost more than a small request's rows.
 * What is remembered is a function of the text alone, the same for every sender.
 */

import type { JsonObject, JsonValue } from '../../model/json.ts';
import type { ResourceRow } from '../../model/telemetry.ts';
import { Fault } from '../fault.ts';
import { parseResource, parseScope, toResourceRow } from '../origin.ts';
import { LEFT_TO_PLAIN } from './scanner.ts';

/** Bounds the memory to some 16 MB; then all are dropped. */
const TEXTS_MAX = 1000;
/** Longer texts are not remembered. */
const TEXT_LENGTH_MAX = 4096;

export class OriginMemo {
  /** by the resource's text, then by the rest; V8 finds a string that it has hashed at once */
  readonly #known = new Map<string, Map<string, ResourceRow>>();
  #count = 0;

  /**
   * The row of a resource with a scope.
   *
   * @param resource JSON text, known to be valid; empty when it was not sent, as are the others
   * @throws LEFT_TO_PLAIN when one of them holds a fault
   */
  rowOf(resource: string, schemaUrl: string, scope: string, scopeSchemaUrl: string): ResourceRow {
    // JSON values end where they end, so no two lists of texts look alike when joined.
    const hasUrl = schemaUrl !== '' || scopeSchemaUrl !== '';
    const rest = hasUrl ? `${scope}\n${schemaUrl},${scopeSchemaUrl}` : scope;
    const found = this.#known.get(resource)?.get(rest);
    if (found !== undefined) return found;
    const fault = new Fault();
    const row = toResourceRow(
      parseResource(entry('resource', resource, schemaUrl), fault),
      parseScope(entry('scope', scope, scopeSchemaUrl), fault),
    );
    if (fault.refused) throw LEFT_TO_PLAIN;
    if (resource.length + rest.length <= TEXT_LENGTH_MAX) this.#remember(resource, rest, row);
    return row;
  }

  #remember(resource: string, rest: string, row: ResourceRow): void {
    if (this.#count >= TEXTS_MAX) {
      this.#known.clear();
      this.#count = 0;
    }
    const rows = this.#known.get(resource) ?? new Map<string, ResourceRow>();
    this.#known.set(resource, rows.set(rest, row));
    this.#count += 1;
  }
}

function entry(name: string, text: string, schemaUrl: string): JsonObject {
  const made: JsonObject = {};
  if (text !== '') made[name] = JSON.parse(text) as JsonValue;
  if (schemaUrl !== '') made.schemaUrl = JSON.parse(schemaUrl) as JsonValue;
  return made;
}
