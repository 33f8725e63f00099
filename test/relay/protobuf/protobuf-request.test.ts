/**
 * A request in protobuf becomes the OTLP/JSON that means the same: the server's own decoder makes the
 * same rows of both. No bytes make the decoder fail in another way than by refusing them.
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { SeverityNumber } from '@opentelemetry/api-logs';
import {
  JsonLogsSerializer,
  JsonMetricsSerializer,
  JsonTraceSerializer,
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { SluiceError } from '../../../src/errors.ts';
import type { JsonObject } from '../../../src/model/json.ts';
import type { Signal } from '../../../src/model/telemetry.ts';
import { decodeLogs } from '../../../src/otlp/logs.ts';
import { decodeMetrics } from '../../../src/otlp/metrics.ts';
import { decodeTraces } from '../../../src/otlp/traces.ts';
import { decodeProtobufRequest } from '../../../src/relay/protobuf/protobuf-request.ts';
import { casesOf } from '../../support/cases.ts';
import { exportRequest } from '../../support/otlp-requests.ts';
import { encodeProtobuf } from '../otlp-protobuf.ts';
import { recordedLogs, recordedMetrics, recordedSpans } from '../recorded-telemetry.ts';

const SIGNALS: readonly Signal[] = ['traces', 'metrics', 'logs'];
const DECODERS = { traces: decodeTraces, metrics: decodeMetrics, logs: decodeLogs };

const decoded = (signal: Signal, body: Buffer): JsonObject =>
  JSON.parse(decodeProtobufRequest(signal, body)) as JsonObject;

/** The rows that the server makes of a body. */
function rowsOf(signal: Signal, json: string): unknown {
  const result = DECODERS[signal](Buffer.from(json));
  if (!result.ok) throw new Error(result.message);
  expect(result.request.rejections).toEqual([]);
  return result.request;
}

/** In protobuf the points of a summary have no exemplars. */
function withoutSummaryExemplars(request: JsonObject): JsonObject {
  const text = JSON.stringify(request, (name, value: unknown) => {
    const points: unknown = name === 'summary' ? (value as JsonObject).dataPoints : null;
    if (!Array.isArray(points)) return value;
    return { dataPoints: points.map(({ exemplars: _, ...point }: JsonObject) => point) };
  });
  return JSON.parse(text) as JsonObject;
}

function isRefused(signal: Signal, body: Buffer): boolean {
  try {
    decodeProtobufRequest(signal, body);
    return false;
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'undecodable_body') return true;
    throw error;
  }
}

describe.each(SIGNALS)('%s', (signal) => {
  test('every field and value: rows equal those of the same request in JSON', () => {
    fc.assert(
      fc.property(exportRequest(signal).map(withoutSummaryExemplars), (request) => {
        const json = decodeProtobufRequest(signal, encodeProtobuf(signal, request));
        expect(rowsOf(signal, json)).toEqual(rowsOf(signal, JSON.stringify(request)));
      }),
      { numRuns: casesOf(200) },
    );
  });

  test('any bytes, and valid ones cut or changed, are decoded or refused', () => {
    const valid = exportRequest(signal).map((request) => encodeProtobuf(signal, request));
    const changed = fc
      .tuple(valid, fc.nat(), fc.nat({ max: 255 }), fc.boolean())
      .map(([body, at, byte, isCut]) => {
        const place = at % (body.length + 1);
        if (isCut) return body.subarray(0, place);
        const copy = Buffer.from(body);
        copy[Math.min(place, copy.length - 1)] = byte;
        return copy;
      });
    const bytes = fc.uint8Array({ maxLength: 200 }).map((list) => Buffer.from(list));
    fc.assert(
      fc.property(fc.oneof(changed, bytes), (body) => {
        if (!isRefused(signal, body)) decoded(signal, body);
      }),
      { numRuns: casesOf(1000) },
    );
  });
});

describe('the SDK serialises', () => {
  const same = (signal: Signal, json: Uint8Array | undefined, protobuf: Uint8Array | undefined) => {
    const body = decodeProtobufRequest(signal, Buffer.from(protobuf ?? []));
    expect(rowsOf(signal, body)).toEqual(rowsOf(signal, Buffer.from(json ?? []).toString()));
  };

  test('spans in protobuf as in JSON', async () => {
    const spans = await recordedSpans();
    expect(spans).toHaveLength(2);
    same(
      'traces',
      JsonTraceSerializer.serializeRequest(spans),
      ProtobufTraceSerializer.serializeRequest(spans),
    );
  });

  test('log records in protobuf as in JSON', async () => {
    const logs = await recordedLogs(SeverityNumber.WARN);
    expect(logs).toHaveLength(1);
    same(
      'logs',
      JsonLogsSerializer.serializeRequest(logs),
      ProtobufLogsSerializer.serializeRequest(logs),
    );
  });

  test('metrics in protobuf as in JSON', async () => {
    const metrics = await recordedMetrics();
    expect(metrics.scopeMetrics[0]?.metrics).toHaveLength(5);
    same(
      'metrics',
      JsonMetricsSerializer.serializeRequest(metrics),
      ProtobufMetricsSerializer.serializeRequest(metrics),
    );
  });
});

describe('the wire format', () => {
  const inResource = (write: (writer: BinaryWriter) => void): Buffer => {
    const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).fork();
    write(writer);
    return Buffer.from(writer.join().join().finish());
  };
  const resource = (write: (writer: BinaryWriter) => void): unknown =>
    (decoded('traces', inResource(write)).resourceSpans as JsonObject[])[0]?.resource;

  test('unknown fields of every wire type are skipped', () => {
    const write = (writer: BinaryWriter): void => {
      writer.tag(90, WireType.Varint).uint32(7);
      writer.tag(91, WireType.Bit64).double(7);
      writer.tag(92, WireType.Bit32).fixed32(7);
      writer.tag(93, WireType.LengthDelimited).string('x');
      writer.tag(94, WireType.StartGroup).tag(1, WireType.Varint).uint32(1);
      writer.tag(94, WireType.EndGroup);
      writer.tag(2, WireType.Varint).uint32(5);
    };
    expect(resource(write)).toEqual({ droppedAttributesCount: 5 });
  });

  test('a field of another wire type than its own is skipped', () => {
    const write = (writer: BinaryWriter): void => {
      writer.tag(2, WireType.LengthDelimited).string('x');
    };
    expect(resource(write)).toEqual({});
  });

  test('the last of several values counts, also the last of a choice', () => {
    const write = (writer: BinaryWriter): void => {
      writer.tag(2, WireType.Varint).uint32(1).tag(2, WireType.Varint).uint32(2);
      writer.tag(1, WireType.LengthDelimited).fork();
      writer.tag(2, WireType.LengthDelimited).fork();
      writer.tag(1, WireType.LengthDelimited).string('text');
      writer.tag(3, WireType.Varint).int64(-5n);
      writer.join().join();
    };
    expect(resource(write)).toEqual({
      droppedAttributesCount: 2,
      attributes: [{ value: { intValue: '-5' } }],
    });
  });

  test('a message in two parts is put together', () => {
    const part = (write: (writer: BinaryWriter) => void): Buffer => inResource(write);
    const one = part((writer) => void writer.tag(2, WireType.Varint).uint32(9));
    const attribute = part((writer) => {
      writer.tag(1, WireType.LengthDelimited).fork();
      writer.tag(1, WireType.LengthDelimited).string('k').join();
    });
    // Both parts of the resource, without their heads, in one ResourceSpans.
    const parts = Buffer.concat([one.subarray(2), attribute.subarray(2)]);
    const body = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(parts).finish();
    expect(decoded('traces', Buffer.from(body))).toEqual({
      resourceSpans: [{ resource: { droppedAttributesCount: 9, attributes: [{ key: 'k' }] } }],
    });
  });

  test('a list of numbers may come unpacked', () => {
    const metric = (write: (writer: BinaryWriter) => void): Buffer => {
      const writer = new BinaryWriter();
      for (const number of [1, 2, 2, 9, 1]) writer.tag(number, WireType.LengthDelimited).fork();
      write(writer);
      for (let depth = 0; depth < 5; depth += 1) writer.join();
      return Buffer.from(writer.finish());
    };
    const packed = metric((writer) => {
      writer.tag(7, WireType.LengthDelimited).fork().double(1).double(2.5).join();
    });
    const single = metric((writer) => {
      writer.tag(7, WireType.Bit64).double(1).tag(7, WireType.Bit64).double(2.5);
    });
    expect(JSON.stringify(decoded('metrics', packed))).toContain('"explicitBounds":[1,2.5]');
    expect(decoded('metrics', single)).toEqual(decoded('metrics', packed));
  });

  test('no body is an empty request', () => {
    expect(decoded('logs', Buffer.alloc(0))).toEqual({});
  });

  test.each([
    ['field number 0', Buffer.from([0x00, 0x01])],
    ['a length past the end', Buffer.from([0x0a, 0x05, 0x0a])],
    ['a length that ends inside a number', Buffer.from([0x0a, 0x02, 0x1a, 0x01])],
    ['the end of a group that did not begin', Buffer.from([0x0c])],
    ['JSON', Buffer.from('{"resourceSpans":[]}')],
  ])('%s is refused', (_what, body) => {
    expect(isRefused('traces', body)).toBe(true);
  });

  test('values nested deeper than the server takes are refused without a stack overflow', () => {
    let value = Buffer.alloc(0);
    for (let depth = 0; depth < 5000; depth += 1) {
      const list = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(value).finish();
      value = Buffer.from(new BinaryWriter().tag(5, WireType.LengthDelimited).bytes(list).finish());
    }
    const log = new BinaryWriter().tag(5, WireType.LengthDelimited).bytes(value).finish();
    const records = new BinaryWriter().tag(2, WireType.LengthDelimited).bytes(log).finish();
    const scopes = new BinaryWriter().tag(2, WireType.LengthDelimited).bytes(records).finish();
    const body = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(scopes).finish();
    expect(isRefused('logs', Buffer.from(body))).toBe(true);
  });

  test('a million objects in few bytes are refused as too large', () => {
    const body = Buffer.alloc(2 * 1_000_001, Buffer.from([0x0a, 0x00]));
    expect(() => decodeProtobufRequest('traces', body)).toThrow(/more than 1000000 objects/);
  });
});
