/**
 * Owns the removal of envelopes that instrumentations put around a text, and the recognition of
 * descriptions of arguments (JSON Schema) in place of arguments.
 */
import type { JsonValue } from '../../../model/json.ts';
import { type Budget, isOpenEnded } from './budget.ts';
import type { MemberPath, ValueEnvelope } from './convention.ts';
import { isObject, open } from './value-text.ts';

interface Unwrapped {
  readonly names: readonly JsonValue[];
  readonly values: readonly JsonValue[];
}

/** Removes an envelope; a value without one is returned whole. */
export function unwrapEnvelope(
  value: JsonValue,
  envelope: ValueEnvelope | undefined,
  budget: Budget,
): Unwrapped {
  const whole: Unwrapped = { names: [], values: [value] };
  if (envelope === undefined) return whole;
  const opened = open(value, budget);
  const { name = [], take, beside } = envelope;
  const membersAt = (path: MemberPath) => {
    if (typeof path !== 'string') return atPath(opened, path);
    return isObject(opened) && Object.hasOwn(opened, path) ? [opened[path] ?? null] : [];
  };
  const names = name.flatMap(membersAt);
  if (take === undefined) return { names, values: [value] };
  if (beside !== undefined && isObject(opened)) {
    const own = new Set(
      [...name, ...take].map((path) => (typeof path === 'string' ? path : path[0])),
    );
    const isKnown = (member: string) => own.has(member) || beside.includes(member);
    if (!Object.keys(opened).every(isKnown)) return whole;
  }
  const values = take.flatMap(membersAt);
  // The accepted part was cut off.
  const isCutOff = isObject(opened) && beside !== undefined && isOpenEnded(opened, budget);
  return values.length === 0 && !isCutOff ? whole : { names, values };
}

/** The values at the end of a path through members and the elements of lists. */
function atPath(value: JsonValue, path: readonly string[]): JsonValue[] {
  const [name, ...rest] = path;
  if (name === undefined) return [value];
  if (Array.isArray(value)) return value.flatMap((element) => atPath(element, path));
  return isObject(value) && Object.hasOwn(value, name) ? atPath(value[name] ?? null, rest) : [];
}

const SCHEMA_MEMBERS = new Set([
  'type',
  'description',
  'title',
  'default',
  'enum',
  'items',
  'anyOf',
]);

/** The members that JSON Schema has beside the properties of an object. */
const OBJECT_MEMBERS = new Set([
  'type',
  'title',
  'description',
  'properties',
  'required',
  'additionalProperties',
  'definitions',
  '$defs',
  '$schema',
]);

/** A type's name, JSON Schema's or Python's. */
const TYPE = /^[\w.[\]|,]{1,60}$/;

/**
 * Checks whether the value describes arguments: a JSON Schema of an object, or a map whose every member is
 * described. An argument may itself be called `properties`.
 */
export function isSchema(value: JsonValue, budget: Budget): boolean {
  const opened = open(value, budget);
  if (!isObject(opened)) return false;
  const isEnded = (one: JsonValue) => !isOpenEnded(one, budget);
  const { properties, type } = opened;
  if (isObject(properties) && (type === undefined || type === 'object')) {
    return (
      Object.keys(opened).every((name) => OBJECT_MEMBERS.has(name)) &&
      Object.values(properties).every((one) => isProperty(one) || !isEnded(one))
    );
  }
  const members = Object.values(opened);
  return members.length > 0 && members.every((one) => isDescription(one, isEnded(one)));
}

function isProperty(value: JsonValue): boolean {
  if (!isObject(value)) return false;
  const { type, anyOf, allOf, oneOf, $ref, description, enum: values } = value;
  const described = [type, anyOf, allOf, oneOf, $ref, description, values, value.const];
  return Object.keys(value).length === 0 || described.some((one) => one !== undefined);
}

/** @param isEnded false: the type may have been cut off */
function isDescription(value: JsonValue, isEnded: boolean): boolean {
  if (!isObject(value)) return false;
  const { type } = value;
  const isTyped = typeof type === 'string' && TYPE.test(type);
  if (!isTyped && (isEnded || type !== undefined)) return false;
  return Object.keys(value).every((name) => SCHEMA_MEMBERS.has(name));
}
