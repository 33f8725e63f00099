/** What is shown of a step beside its texts: complete where it is small, bounded where it is not. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { detailsOf } from '../../src/engine/step-details.ts';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import { log, span } from './steps.ts';

const attributesOf = (attributes: JsonObject) => detailsOf(span({ attributes })).attributes;
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
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`a${at}`, at]));
    expect(attributesOf(many)).toMatchObject({ leftOut: 100 });
    const long = attributesOf({ a: 'x'.repeat(1_000_000) }).shown[0]?.value;
    expect(long).toEqual({ text: 'x'.repeat(4000), length: 1_000_000 });
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
        expect(units).toBeLessThanOrEqual(96 * 1024 + 256);
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
  const many = Array.from({ length: 80 }, () => ({ name: 'e', attributes: {} }));
  expect(detailsOf(span({ events: many }))).toMatchObject({ eventsLeftOut: 30 });
});
