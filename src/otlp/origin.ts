/**
 * The origin of records: the resource and the instrumentation scope, stored as one row. The row's
 * id is a hash of its content, so that every process gives the same origin the same id.
 */

import { hash } from 'node:crypto';
import type { Hex16, JsonObject } from '../model/json.ts';
import type { ResourceRow } from '../model/telemetry.ts';
import { parseAttributes } from './any-value.ts';
import type { Fault } from './fault.ts';
import { isObject, parseDropped, parseObject, parseText, type Raw } from './fields.ts';

/** The resource's part of a row. */
export type Resource = Pick<
  ResourceRow,
  'serviceName' | 'attributes' | 'schemaUrl' | 'droppedAttributes'
>;
/** The scope's part of a row. */
export type Scope = Pick<
  ResourceRow,
  'scopeName' | 'scopeVersion' | 'scopeAttributes' | 'scopeSchemaUrl' | 'scopeDroppedAttributes'
>;

/** Reads a ResourceSpans, ResourceLogs or ResourceMetrics entry, except its list of scopes. */
export function parseResource(entry: JsonObject, fault: Fault): Resource {
  const resource = parseObject(entry.resource, 'resource', fault);
  return {
    serviceName: serviceNameIn(resource.attributes),
    attributes: parseAttributes(resource.attributes, 'resource.attributes', fault),
    schemaUrl: parseText(entry.schemaUrl, 'schemaUrl', fault),
    droppedAttributes: parseDropped(
      resource.droppedAttributesCount,
      'resource.droppedAttributesCount',
      fault,
    ),
  };
}

/** Reads a ScopeSpans, ScopeLogs or ScopeMetrics entry, except its list of items. */
export function parseScope(entry: JsonObject, fault: Fault): Scope {
  const scope = parseObject(entry.scope, 'scope', fault);
  return {
    scopeName: parseText(scope.name, 'scope.name', fault),
    scopeVersion: parseText(scope.version, 'scope.version', fault),
    scopeAttributes: parseAttributes(scope.attributes, 'scope.attributes', fault),
    scopeSchemaUrl: parseText(entry.schemaUrl, 'schemaUrl', fault),
    scopeDroppedAttributes: parseDropped(
      scope.droppedAttributesCount,
      'scope.droppedAttributesCount',
      fault,
    ),
  };
}

/** Joins a resource and a scope into the row that stores them. */
export function toResourceRow(resource: Resource, scope: Scope): ResourceRow {
  const id = contentId([
    resource.attributes,
    resource.schemaUrl,
    resource.droppedAttributes,
    scope.scopeName,
    scope.scopeVersion,
    scope.scopeAttributes,
    scope.scopeSchemaUrl,
    scope.scopeDroppedAttributes,
  ]);
  return { id, ...resource, ...scope };
}

/**
 * The hash of content, used as its id: the first 16 bytes of SHA-256 over the parts as a JSON
 * array, which differs for different lists of parts.
 */
export function contentId(parts: readonly (string | number | boolean | null)[]): Hex16 {
  return hash('sha256', JSON.stringify(parts)).slice(0, 32);
}

/** The last `service.name`, which is the stored one; null if it is not a string. */
export function serviceNameIn(attributes: Raw): string | null {
  if (!Array.isArray(attributes)) return null;
  const entry = attributes.findLast((raw) => isObject(raw) && raw.key === 'service.name');
  const value = isObject(entry) && isObject(entry.value) ? entry.value.stringValue : null;
  return typeof value === 'string' ? value : null;
}
