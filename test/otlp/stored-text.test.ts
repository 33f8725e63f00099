/** Stored JSON becomes OTLP's JSON again, from which the same is stored. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeLogs } from '../../src/otlp/logs.ts';
import { attributesInPieces, rowsInPieces, valueInPieces } from '../../src/otlp/stored-text.ts';
import { decodeTraces } from '../../src/otlp/traces.ts';
import { exportRequest } from '../support/otlp-requests.ts';

type Pieces = (text: string, out: string[]) => Generator<void, void, void>;

function written(write: Pieces, text: string): string {
  const out: string[] = [];
  for (const _ of write(text, out));
  return out.join('');
}

const decoded = (decode: typeof decodeTraces, body: string) => {
  const result = decode(Buffer.from(body));
  if (!result.ok) throw new Error('not decoded');
  return result.request;
};

test.each([
  [attributesInPieces, '{}', '[]'],
  [
    attributesInPieces,
    '{"a":1,"$b":2.0}',
    '[{"key":"a","value":{"intValue":"1"}},{"key":"$b","value":{"doubleValue":2.0}}]',
  ],
  [valueInPieces, '"a \\"quoted\\" \\\\"', '{"stringValue":"a \\"quoted\\" \\\\"}'],
  [valueInPieces, 'null', '{}'],
  [valueInPieces, 'true', '{"boolValue":true}'],
  [valueInPieces, '{"$bytes":"AAEC"}', '{"bytesValue":"AAEC"}'],
  [valueInPieces, '{"$double":"-Infinity"}', '{"doubleValue":"-Infinity"}'],
  [
    valueInPieces,
    '[[],{}]',
    '{"arrayValue":{"values":[{"arrayValue":{"values":[]}},{"kvlistValue":{"values":[]}}]}}',
  ],
  [valueInPieces, '{"$$bytes":null}', '{"kvlistValue":{"values":[{"key":"$bytes","value":{}}]}}'],
  [rowsInPieces, '[]', '[]'],
  [rowsInPieces, '[{},{"spanId":""}]', '[{},{"spanId":""}]'],
  [
    rowsInPieces,
    '[{"name":"e","timeUnixNano":"5","attributes":{}},{"flags":7}]',
    '[{"name":"e","timeUnixNano":"5","attributes":[]},{"flags":7}]',
  ],
] as const)('%o of %s', (write, stored, otlp) => {
  expect(written(write, stored)).toBe(otlp);
});

test('a large value is written in many pieces', () => {
  const out: string[] = [];
  const text = `[${Array(50_000).fill('1').join()}]`;
  let pieces = 0;
  for (const _ of valueInPieces(text, out)) pieces += 1;
  expect(pieces).toBeGreaterThan(20);
  expect(JSON.parse(out.join(''))).toMatchObject({ arrayValue: {} });
});

describe('anything that is decoded', () => {
  test('of spans', () => {
    fc.assert(
      fc.property(exportRequest('traces'), (sent) => {
        const { spans } = decoded(decodeTraces, JSON.stringify(sent));
        for (const span of spans) {
          const again = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${span.traceId}","spanId":"${span.spanId}","attributes":${written(attributesInPieces, span.attributes)},"events":${written(rowsInPieces, span.events ?? '[]')},"links":${written(rowsInPieces, span.links ?? '[]')}}]}]}]}`;
          const { attributes, events, links } = span;
          expect(decoded(decodeTraces, again).spans[0]).toMatchObject({
            attributes,
            events,
            links,
          });
        }
      }),
    );
  });

  test('of the bodies of log records', () => {
    fc.assert(
      fc.property(exportRequest('logs'), (sent) => {
        for (const { body } of decoded(decodeLogs, JSON.stringify(sent)).logs) {
          if (body === null) continue;
          const again = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${written(valueInPieces, body)}}]}]}]}`;
          expect(decoded(decodeLogs, again).logs[0]?.body).toBe(body);
        }
      }),
    );
  });
});
