/**
 * Owns what is around a text without being part of it: envelopes of instrumentations, and
 * descriptions of arguments where arguments are expected.
 */
import type { JsonValue } from '../../../model.ts';
import type { Budget } from './budget.ts';
import type { Envelope } from './convention.ts';
import { isObject, open } from './value-text.ts';

export interface Opened {
  readonly names: readonly JsonValue[];
  readonly values: readonly JsonValue[];
}

/** Takes an envelope off; a value that is none comes back as it is. */
export function takeOff(value: JsonValue, envelope: Envelope | undefined, budget: Budget): Opened {
  const whole: Opened = { names: [], values: [value] };
  if (envelope === undefined) return whole;
  const opened = open(value, budget);
  const { name = [], take, beside } = envelope;
  const member = (own: string): JsonValue[] =>
    isObject(opened) && Object.hasOwn(opened, own) ? [opened[own] ?? null] : [];
  const reach = (way: string | readonly string[]) =>
    typeof way === 'string' ? member(way) : down(opened, way);
  const names = name.flatMap(reach);
  if (take === undefined) return { names, values: [value] };
  if (beside !== undefined && isObject(opened)) {
    const own = new Set([...name, ...take].map((way) => (typeof way === 'string' ? way : way[0])));
    const isKnown = (member: string) => own.has(member) || beside.includes(member);
    if (!Object.keys(opened).every(isKnown)) return whole;
  }
  const values = take.flatMap(reach);
  return values.length === 0 ? whole : { names, values };
}

/** What stands at the end of a way down, through members and the elements of lists. */
function down(value: JsonValue, way: readonly string[]): JsonValue[] {
  const [name, ...rest] = way;
  if (name === undefined) return [value];
  if (Array.isArray(value)) return value.flatMap((element) => down(element, way));
  return isObject(value) && Object.hasOwn(value, name) ? down(value[name] ?? null, rest) : [];
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

/** What JSON Schema has beside the properties of an object. */
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
 * Does the value describe arguments rather than being some? A JSON Schema of an object, or a map
 * whose every member is described. An argument may well be called `properties`.
 */
export function isSchema(value: JsonValue, budget: Budget): boolean {
  const opened = open(value, budget);
  if (!isObject(opened)) return false;
  const { properties, type } = opened;
  if (isObject(properties) && (type === undefined || type === 'object')) {
    return (
      Object.keys(opened).every((name) => OBJECT_MEMBERS.has(name)) &&
      Object.values(properties).every(isProperty)
    );
  }
  const members = Object.values(opened);
  return members.length > 0 && members.every(isDescription);
}

function isProperty(value: JsonValue): boolean {
  if (!isObject(value)) return false;
  const { type, anyOf, allOf, oneOf, $ref, description, enum: values } = value;
  const told = [type, anyOf, allOf, oneOf, $ref, description, values, value.const];
  return Object.keys(value).length === 0 || told.some((one) => one !== undefined);
}

function isDescription(value: JsonValue): boolean {
  if (!isObject(value) || typeof value.type !== 'string' || !TYPE.test(value.type)) return false;
  return Object.keys(value).every((name) => SCHEMA_MEMBERS.has(name));
}
