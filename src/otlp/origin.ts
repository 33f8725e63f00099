/** The origin of records: the resource and the instrumentation scope. They are stored as sent, in each line. */
import type { JsonObject } from '../model/json.ts';
import type { Origin } from '../model/telemetry.ts';
import { checkAttributes } from './any-value.ts';
import type { Fault } from './fault.ts';
import { isObject, parseDropped, parseObject, parseText, type Raw } from './fields.ts';

/** Checks a ResourceSpans, ResourceLogs or ResourceMetrics entry, except its list of scopes. */
export function readResource(entry: JsonObject, fault: Fault): Origin['serviceName'] {
  const resource = parseObject(entry.resource, 'resource', fault);
  checkAttributes(resource.attributes, 'resource.attributes', fault);
  parseText(entry.schemaUrl, 'schemaUrl', fault);
  parseDropped(resource.droppedAttributesCount, 'resource.droppedAttributesCount', fault);
  return serviceNameIn(resource.attributes);
}

/** Checks a ScopeSpans, ScopeLogs or ScopeMetrics entry, except its list of items. */
export function readScope(entry: JsonObject, fault: Fault): Origin['scopeName'] {
  const scope = parseObject(entry.scope, 'scope', fault);
  const name = parseText(scope.name, 'scope.name', fault);
  parseText(scope.version, 'scope.version', fault);
  checkAttributes(scope.attributes, 'scope.attributes', fault);
  parseText(entry.schemaUrl, 'schemaUrl', fault);
  parseDropped(scope.droppedAttributesCount, 'scope.droppedAttributesCount', fault);
  return name;
}

/** The last `service.name`; null if it is not a string. */
export function serviceNameIn(attributes: Raw): string | null {
  if (!Array.isArray(attributes)) return null;
  const entry = attributes.findLast((raw) => isObject(raw) && raw.key === 'service.name');
  const value = isObject(entry) && isObject(entry.value) ? entry.value.stringValue : null;
  return typeof value === 'string' ? value : null;
}
