/** The exact bytes of every answer. */

import { describe, expect, test } from 'vitest';
import type { Rejection } from '../../src/model/telemetry.ts';
import { encodeExportResponse, encodeStatus, MESSAGE_BYTES_MAX } from '../../src/otlp/responses.ts';

const REJECTIONS: readonly Rejection[] = [
  { reason: 'bad_kind', count: 2, firstPath: 'a[0].kind' },
  { reason: 'bad_status', count: 1, firstPath: 'a[3].status.code' },
];

test('everything accepted', () => {
  expect(encodeExportResponse({ signal: 'logs', rejections: [] }).toString()).toBe('{}');
});

test.each([
  ['traces', 'rejectedSpans'],
  ['metrics', 'rejectedDataPoints'],
  ['logs', 'rejectedLogRecords'],
] as const)('a partial success of %s counts %s', (signal, field) => {
  expect(encodeExportResponse({ signal, rejections: REJECTIONS }).toString()).toBe(
    `{"partialSuccess":{"${field}":"3","errorMessage":"` +
      'bad_kind (2, first at a[0].kind): must be an integer that fits 16 bits, not a name; ' +
      'bad_status (1, first at a[3].status.code): must be an integer that fits 16 bits, not a name"}}',
  );
});

test('a long message is cut on a character boundary', () => {
  for (const pad of ['', 'x', 'xx']) {
    const firstPath = `${pad}${'€'.repeat(3000)}`;
    const rejections = [{ reason: 'bad_kind', count: 1, firstPath }];
    const body = encodeExportResponse({ signal: 'traces', rejections }).toString();
    const message: string = JSON.parse(body).partialSuccess.errorMessage;
    expect(message.startsWith(`bad_kind (1, first at ${pad}€`)).toBe(true);
    expect(message.endsWith('€')).toBe(true);
    const bytes = Buffer.byteLength(message);
    expect(bytes <= MESSAGE_BYTES_MAX && bytes > MESSAGE_BYTES_MAX - 3).toBe(true);
  }
});

describe('google.rpc.Status', () => {
  test('with a message', () => {
    expect(encodeStatus('overloaded', 'try "again"').toString()).toBe(
      '{"code":14,"message":"try \\"again\\""}',
    );
  });

  test('with the place of a fault', () => {
    const violation = { field: 'resourceSpans', description: 'must be a JSON array' };
    expect(encodeStatus('undecodable_body', 'bad', [violation]).toString()).toBe(
      '{"code":3,"message":"bad","details":[{' +
        '"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[' +
        '{"field":"resourceSpans","description":"must be a JSON array"}]}]}',
    );
  });
});
