/** What is shown of a step beside its texts: complete where it is small, bounded where it is not. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ATTRIBUTES_MAX,
  detailsOf,
  EVENT_ATTRIBUTES_MAX,
  EVENTS_MAX,
  JSON_UNITS_MAX,
  KEY_UNITS_MAX,
  STACK_UNITS_MAX,
  STEP_UNITS_MAX,
  VALUE_UNITS_MAX,
} from '../../src/engine/step-details.ts';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import { log, span } from './steps.ts';

const attributesOf = (attributes: JsonObject) => detailsOf(span({ attributes })).attributes;
const numbered = (count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, at]));
const textOf = (value: JsonValue) => attributesOf({ a: value }).shown[0]?.value.text;

describe('attributes', () => {
  test('are shown as they were sent', () => {
    expect(textOf('text')).toBe('text');
    expect(textOf(1.5)).toBe('1.5');
    expect(textOf(null)).toBe('null');
    expect(textOf({ $bytes: 'AAEC' })).toBe('AAEC');
    expect(textOf({ $double: 'NaN' })).toBe('NaN');
    expect(textOf({ $$bytes: [1, true] })).toBe('{"$bytes":[1,true]}');
  });

  test('are bounded in number and size', () => {
    expect(attributesOf(numbered(ATTRIBUTES_MAX))).toMatchObject({ leftOut: 0 });
    expect(attributesOf(numbered(ATTRIBUTES_MAX + 1))).toMatchObject({ leftOut: 1 });
    const long = attributesOf({ a: 'x'.repeat(1_000_000) }).shown[0]?.value;
    expect(long).toEqual({ text: 'x'.repeat(VALUE_UNITS_MAX), length: 1_000_000 });
    const json = `{${' '.repeat(1_000_000)}`;
    expect(textOf(json)).toBe(json.slice(0, JSON_UNITS_MAX));
    const [named] = attributesOf({ ['k'.repeat(1000)]: 1 }).shown;
    expect(named?.key).toBe('k'.repeat(KEY_UNITS_MAX));
  });

  test('share the room of a step: a key counts up to its bound, the last value is cut', () => {
    const whole = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`${at}`.padStart(1000, 'k'), 'x'.repeat(100_000)]),
    );
    const { shown, leftOut } = attributesOf(whole);
    const each = KEY_UNITS_MAX + VALUE_UNITS_MAX;
    expect(shown).toHaveLength(Math.ceil(STEP_UNITS_MAX / each));
    expect(shown.length + leftOut).toBe(100);
    const units = shown.reduce((sum, { key, value }) => sum + key.length + value.text.length, 0);
    expect(units).toBe(STEP_UNITS_MAX);
  });

  test('whatever they are, take a bounded part of a page', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (drawn) => {
        const { shown, leftOut } = attributesOf(drawn as JsonObject);
        expect(shown.length + leftOut).toBe(Object.keys(drawn).length);
        const units = shown.reduce(
          (sum, { key, value }) => sum + key.length + value.text.length,
          0,
        );
        expect(units).toBeLessThanOrEqual(STEP_UNITS_MAX + KEY_UNITS_MAX);
      }),
    );
  });
});

describe('errors', () => {
  const exception = {
    'exception.type': 'TimeoutError',
    'exception.message': 'too late',
    'exception.stacktrace': 'at a',
  };
  const failed = { type: 'TimeoutError', message: 'too late', stack: 'at a' };
  const errorsOf = (fields: Parameters<typeof span>[0]) => detailsOf(span(fields)).errors;

  test('are exceptions of events and of attributes', () => {
    expect(errorsOf({ events: [{ name: 'exception', attributes: exception }] })).toEqual([failed]);
    expect(detailsOf(log({ attributes: exception })).errors).toEqual([failed]);
    expect(errorsOf({ events: [{ name: 'other', attributes: {} }] })).toEqual([]);
  });

  test('are cut each to its bound', () => {
    const giant = Object.fromEntries(
      Object.keys(exception).map((key) => [key, 'x'.repeat(100_000)]),
    );
    const [error] = detailsOf(log({ attributes: giant })).errors;
    expect(error?.type).toHaveLength(KEY_UNITS_MAX);
    expect(error?.message).toHaveLength(VALUE_UNITS_MAX);
    expect(error?.stack).toHaveLength(STACK_UNITS_MAX);
  });

  test('are the status where no exception has its message', () => {
    const events = [{ name: 'exception', attributes: exception }];
    const status = { statusCode: 2, statusMessage: 'TimeoutError: too late' };
    expect(errorsOf({ ...status, events })).toEqual([failed]);
    expect(errorsOf({ ...status, attributes: { 'error.type': '504' } })).toEqual([
      { type: '504', message: 'TimeoutError: too late', stack: null },
    ]);
    expect(errorsOf({ statusCode: 2 })).toEqual([{ type: null, message: null, stack: null }]);
    expect(errorsOf({ statusCode: 1, statusMessage: 'fine' })).toEqual([]);
  });
});

test('events keep their times, and the body of a log record is shown', () => {
  const events = [{ name: 'retry', timeUnixNano: '5', attributes: { attempt: 2 } }];
  expect(detailsOf(span({ events })).events).toEqual([
    {
      name: 'retry',
      timeUnixNano: '5',
      attributes: { shown: [{ key: 'attempt', value: { text: '2', length: 1 } }], leftOut: 0 },
    },
  ]);
  expect(detailsOf(log({ body: { said: 'yes' } })).body?.text).toBe('{"said":"yes"}');
  expect(detailsOf(span()).body).toBeNull();
  const many = Array.from({ length: EVENTS_MAX + 1 }, () => ({ name: 'e', attributes: {} }));
  expect(detailsOf(span({ events: many }))).toMatchObject({ eventsLeftOut: 1 });
  expect(detailsOf(span({ events: many.slice(1) }))).toMatchObject({ eventsLeftOut: 0 });
  const attributes = numbered(EVENT_ATTRIBUTES_MAX + 1);
  const [event] = detailsOf(span({ events: [{ name: 'e', attributes }] })).events;
  expect(event?.attributes).toMatchObject({ leftOut: 1 });
});
