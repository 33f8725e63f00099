/** Encodes OTLP/JSON export requests in protobuf, field by field, in any order and packed or not. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { FIELDS, REQUESTS } from '../../src/relay/protobuf/otlp-messages.ts';

/** By message. */
const MESSAGES = new Map(
  FIELDS.map(({ message }) => [message, FIELDS.filter((field) => field.message === message)]),
);

type Write = (writer: BinaryWriter, value: JsonValue) => void;

const bytesOf =
  (encoding: 'hex' | 'base64'): Write =>
  (writer, value) =>
    void writer.bytes(Buffer.from(String(value), encoding));

const SCALARS: Readonly<Record<string, readonly [WireType, Write]>> = {
  string: [WireType.LengthDelimited, (writer, value) => void writer.string(String(value))],
  bool: [WireType.Varint, (writer, value) => void writer.bool(value === true)],
  int32: [WireType.Varint, (writer, value) => void writer.int32(Number(value))],
  sint32: [WireType.Varint, (writer, value) => void writer.sint32(Number(value))],
  uint32: [WireType.Varint, (writer, value) => void writer.uint32(Number(value))],
  fixed32: [WireType.Bit32, (writer, value) => void writer.fixed32(Number(value))],
  int64: [WireType.Varint, (writer, value) => void writer.int64(BigInt(String(value)))],
  uint64: [WireType.Varint, (writer, value) => void writer.uint64(BigInt(String(value)))],
  fixed64: [WireType.Bit64, (writer, value) => void writer.fixed64(BigInt(String(value)))],
  sfixed64: [WireType.Bit64, (writer, value) => void writer.sfixed64(BigInt(String(value)))],
  double: [WireType.Bit64, (writer, value) => void writer.double(Number(value))],
  bytes: [WireType.LengthDelimited, bytesOf('base64')],
  id: [WireType.LengthDelimited, bytesOf('hex')],
};

function writeField(writer: BinaryWriter, number: number, type: string, value: JsonValue): void {
  const scalar = SCALARS[type];
  if (scalar === undefined) {
    writer.tag(number, WireType.LengthDelimited).fork();
    writeMessage(writer, type, value as JsonObject);
    writer.join();
    return;
  }
  const [wireType, write] = scalar;
  writer.tag(number, wireType);
  write(writer, value);
}

function writePacked(
  writer: BinaryWriter,
  number: number,
  write: Write,
  values: readonly JsonValue[],
): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  for (const value of values) write(writer, value);
  writer.join();
}

function writeMessage(writer: BinaryWriter, name: string, message: JsonObject): void {
  for (const { number, name: member, type, isList } of MESSAGES.get(name) ?? []) {
    const value = message[member];
    if (value === undefined || value === null) continue;
    const scalar = SCALARS[type];
    if (!isList) writeField(writer, number, type, value);
    else if (scalar !== undefined) {
      writePacked(writer, number, scalar[1], value as JsonValue[]);
    } else for (const item of value as JsonValue[]) writeField(writer, number, type, item);
  }
}

/** A request as a client that speaks protobuf sends it. */
export function encodeProtobuf(signal: Signal, request: JsonObject): Buffer {
  const writer = new BinaryWriter();
  writeMessage(writer, REQUESTS[signal], request);
  return Buffer.from(writer.finish());
}
