/**
 * Owns what is shown of a step beside its texts: attributes, events, errors and the body of a log
 * record, as they were sent, within limits. Bytes are shown in base64.
 */
import type { JsonObject, JsonValue } from '../model/json.ts';
import type {
  ShownAttribute,
  ShownAttributes,
  ShownError,
  ShownEvent,
  ShownValue,
  StepDetails,
} from '../model/shown/step-details.ts';
import type { SpanEvent, Step } from '../model/steps.ts';
import { isObject } from './surfaces/reader/value-text.ts';

export const ATTRIBUTES_MAX = 200;
export const EVENTS_MAX = 50;
export const EVENT_ATTRIBUTES_MAX = 30;
export const VALUE_UNITS_MAX = 4000;
export const STEP_UNITS_MAX = 96 * 1024;
export const KEY_UNITS_MAX = 256;
/** The same for a value that may be JSON, which is shown as a tree if it is complete. */
export const JSON_UNITS_MAX = 16 * 1024;
export const STACK_UNITS_MAX = 8000;
const STATUS_ERROR = 2;

interface Room {
  units: number;
}

/** A stored value as JSON shows it: bytes in base64, numbers that are none by name. */
function readable(stored: JsonValue): JsonValue {
  if (Array.isArray(stored)) return stored.map(readable);
  if (!isObject(stored)) return stored;
  if (typeof stored.$bytes === 'string') return stored.$bytes;
  if (typeof stored.$double === 'string') return stored.$double;
  return Object.fromEntries(
    Object.entries(stored).map(([key, value]) => [
      key.startsWith('$$') ? key.slice(1) : key,
      readable(value),
    ]),
  );
}

function shownValue(stored: JsonValue, room: Room): ShownValue {
  const value = readable(stored);
  const whole = typeof value === 'string' ? value : JSON.stringify(value);
  const unitsMax = /^\s*[[{]/.test(whole) ? JSON_UNITS_MAX : VALUE_UNITS_MAX;
  const text = whole.slice(0, Math.max(0, Math.min(unitsMax, room.units)));
  room.units -= text.length;
  return { text, length: whole.length };
}

function shownAttributes(attributes: JsonObject, max: number, room: Room): ShownAttributes {
  const shown: ShownAttribute[] = [];
  const entries = Object.entries(attributes);
  for (const [key, value] of entries) {
    if (shown.length >= max || room.units <= 0) break;
    room.units -= Math.min(key.length, KEY_UNITS_MAX);
    shown.push({ key: key.slice(0, KEY_UNITS_MAX), value: shownValue(value, room) });
  }
  return { shown, leftOut: entries.length - shown.length };
}

function textAt(attributes: JsonObject, key: string, unitsMax: number): string | null {
  const value = Object.hasOwn(attributes, key) ? attributes[key] : undefined;
  return typeof value === 'string' && value !== '' ? value.slice(0, unitsMax) : null;
}

function exceptionOf(attributes: JsonObject): ShownError | null {
  const error = {
    type: textAt(attributes, 'exception.type', KEY_UNITS_MAX),
    message: textAt(attributes, 'exception.message', VALUE_UNITS_MAX),
    stack: textAt(attributes, 'exception.stacktrace', STACK_UNITS_MAX),
  };
  return error.type === null && error.message === null && error.stack === null ? null : error;
}

/** Exceptions of events and attributes; the status where no exception has its message. */
function errorsOf({ attributes, events, statusCode, statusMessage }: Step): ShownError[] {
  const errors = [attributes, ...events.slice(0, EVENTS_MAX).map((event) => event.attributes)]
    .map(exceptionOf)
    .filter((error) => error !== null);
  if (statusCode !== STATUS_ERROR) return errors;
  const message = statusMessage === '' ? null : statusMessage.slice(0, VALUE_UNITS_MAX);
  const isSaid = errors.some(
    ({ message: own }) => message === null || (own !== null && message.includes(own)),
  );
  const type = textAt(attributes, 'error.type', KEY_UNITS_MAX);
  return isSaid ? errors : [{ type, message, stack: null }, ...errors];
}

function shownEvent({ name, timeUnixNano, attributes }: SpanEvent, room: Room): ShownEvent {
  return {
    name: name.slice(0, KEY_UNITS_MAX),
    timeUnixNano: timeUnixNano ?? null,
    attributes: shownAttributes(attributes, EVENT_ATTRIBUTES_MAX, room),
  };
}

/** Returns the details that are shown of a step. Takes a few milliseconds at most. */
export function detailsOf(step: Step): StepDetails {
  const room: Room = { units: STEP_UNITS_MAX };
  const attributes = shownAttributes(step.attributes, ATTRIBUTES_MAX, room);
  const events: ShownEvent[] = [];
  for (const event of step.events.slice(0, EVENTS_MAX)) {
    if (room.units <= 0) break;
    events.push(shownEvent(event, room));
  }
  return {
    errors: errorsOf(step),
    attributes,
    events,
    eventsLeftOut: step.events.length - events.length,
    body: step.source === 'log' && step.body !== null ? shownValue(step.body, room) : null,
    scopeName: step.scopeName,
  };
}
