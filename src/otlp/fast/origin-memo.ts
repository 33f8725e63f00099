/**
 * A cache of resources and scopes, by their JSON text. A process sends the same ones with every
 * request, and parsing them would cost more than the records of a small request. An entry
 * depends on the text alone, so all senders share the cache.
 */

import type { JsonObject, JsonValue } from '../../model/json.ts';
import type { Origin } from '../../model/telemetry.ts';
import { Fault } from '../fault.ts';
import { readResource, readScope } from '../origin.ts';
import { FALLBACK } from './scanner.ts';

/** Limits the cache to about 16 MB; a full cache is emptied. */
const TEXTS_MAX = 1000;
const TEXT_LENGTH_MAX = 4096;

export class OriginMemo {
  /** by the resource's text, then by the other texts; V8 keeps a string's hash with the string */
  readonly #known = new Map<string, Map<string, Origin>>();
  #count = 0;

  /**
   * Reads a resource with a scope. Each text is valid JSON, or empty when it was not sent.
   *
   * @throws FALLBACK when one of them has a fault
   */
  originOf(resource: string, schemaUrl: string, scope: string, scopeSchemaUrl: string): Origin {
    // The end of a JSON value is unambiguous, so different lists of texts differ when joined.
    const hasUrl = schemaUrl !== '' || scopeSchemaUrl !== '';
    const rest = hasUrl ? `${scope}\n${schemaUrl},${scopeSchemaUrl}` : scope;
    const found = this.#known.get(resource)?.get(rest);
    if (found !== undefined) return found;
    const fault = new Fault();
    const serviceName = readResource(entry('resource', resource, schemaUrl), fault);
    const scopeName = readScope(entry('scope', scope, scopeSchemaUrl), fault);
    if (fault.refused) throw FALLBACK;
    const origin = { serviceName, scopeName };
    if (resource.length + rest.length <= TEXT_LENGTH_MAX) this.#remember(resource, rest, origin);
    return origin;
  }

  #remember(resource: string, rest: string, origin: Origin): void {
    if (this.#count >= TEXTS_MAX) {
      this.#known.clear();
      this.#count = 0;
    }
    const origins = this.#known.get(resource) ?? new Map<string, Origin>();
    this.#known.set(resource, origins.set(rest, origin));
    this.#count += 1;
  }
}

function entry(name: string, text: string, schemaUrl: string): JsonObject {
  const object: JsonObject = {};
  if (text !== '') object[name] = JSON.parse(text) as JsonValue;
  if (schemaUrl !== '') object.schemaUrl = JSON.parse(schemaUrl) as JsonValue;
  return object;
}
