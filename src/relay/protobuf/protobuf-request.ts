/**
 * Decodes an export request in protobuf into OTLP/JSON: 64-bit integers as strings, enums as numbers,
 * ids in hexadecimal, other bytes in base64, NaN and infinities as strings. What the bytes do not
 * hold is left out, and fields that the table does not list are skipped.
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

import { SluiceError } from '../../errors.ts';
import type { JsonText } from '../../model/json.ts';
import type { Signal } from '../../model/telemetry.ts';
import { FIELDS, REQUESTS, type ScalarType } from './otlp-messages.ts';

/** Messages inside messages; an attribute value that the server takes needs 200 at most. */
const DEPTH_MAX = 256;
/** Messages and list items of a request, which bounds the memory that few bytes can take. */
const ITEMS_MAX = 1_000_000;

type Value = string | number | boolean | DecodedMessage | Value[];
interface DecodedMessage {
  [name: string]: Value;
}

interface Field {
  readonly name: string;
  readonly isList: boolean;
  readonly isOneOf: boolean;
  readonly wireType: WireType;
  /** null for scalars */
  readonly message: Message | null;
  /** null for messages */
  readonly read: ((reader: BinaryReader) => Value) | null;
}

type Message = (Field | undefined)[];

function toText(bytes: Uint8Array, encoding: 'hex' | 'base64'): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding);
}

function readDouble(reader: BinaryReader): number | string {
  const value = reader.double();
  if (Object.is(value, -0)) return '-0.0';
  return Number.isFinite(value) ? value : String(value);
}

interface Scalar {
  readonly wireType: WireType;
  readonly read: (reader: BinaryReader) => Value;
}

const SCALARS: Readonly<Record<ScalarType, Scalar>> = {
  string: { wireType: WireType.LengthDelimited, read: (reader) => reader.string() },
  bool: { wireType: WireType.Varint, read: (reader) => reader.bool() },
  int32: { wireType: WireType.Varint, read: (reader) => reader.int32() },
  sint32: { wireType: WireType.Varint, read: (reader) => reader.sint32() },
  uint32: { wireType: WireType.Varint, read: (reader) => reader.uint32() },
  fixed32: { wireType: WireType.Bit32, read: (reader) => reader.fixed32() },
  int64: { wireType: WireType.Varint, read: (reader) => String(reader.int64()) },
  uint64: { wireType: WireType.Varint, read: (reader) => String(reader.uint64()) },
  fixed64: { wireType: WireType.Bit64, read: (reader) => String(reader.fixed64()) },
  sfixed64: { wireType: WireType.Bit64, read: (reader) => String(reader.sfixed64()) },
  double: { wireType: WireType.Bit64, read: readDouble },
  bytes: { wireType: WireType.LengthDelimited, read: (reader) => toText(reader.bytes(), 'base64') },
  id: { wireType: WireType.LengthDelimited, read: (reader) => toText(reader.bytes(), 'hex') },
};

function isScalar(type: string): type is ScalarType {
  return Object.hasOwn(SCALARS, type);
}

function createMessages(): ReadonlyMap<string, Message> {
  const messages = new Map(FIELDS.map(({ message }) => [message, [] as Message]));
  for (const { message: owner, number, type, ...field } of FIELDS) {
    const kind = isScalar(type)
      ? { message: null, ...SCALARS[type] }
      : {
          message: messages.get(type) ?? null,
          read: null,
          wireType: WireType.LengthDelimited,
        };
    const message = messages.get(owner);
    if (message !== undefined) message[number] = { ...field, ...kind };
  }
  return messages;
}

const KNOWN = createMessages();

class InvalidProtobuf extends Error {}

class Decoder {
  readonly #reader: BinaryReader;
  #items = 0;

  constructor(body: Buffer) {
    this.#reader = new BinaryReader(body);
  }

  /** @param into the parts of the message that were sent before */
  readMessage(message: Message, end: number, depth: number, into?: DecodedMessage): DecodedMessage {
    if (depth > DEPTH_MAX) throw new InvalidProtobuf('messages are nested too deeply');
    const reader = this.#reader;
    const decoded = into ?? {};
    let chosen = into === undefined ? null : chosenOf(message, into);
    while (reader.pos < end) {
      const tag = reader.uint32();
      const wireType: WireType = tag & 7;
      const field = message[tag >>> 3];
      if (tag >>> 3 === 0) throw new InvalidProtobuf('a field has the number 0');
      if (field === undefined || !this.#readField(field, wireType, depth, decoded)) {
        reader.skip(wireType, tag >>> 3);
      } else if (field.isOneOf) {
        if (chosen !== null && chosen !== field.name) delete decoded[chosen];
        chosen = field.name;
      }
    }
    if (reader.pos !== end) throw new InvalidProtobuf('a field is longer than its message');
    return decoded;
  }

  /** Reads one field; false, with nothing read, when it has another wire type than its own. */
  #readField(field: Field, wireType: WireType, depth: number, into: DecodedMessage): boolean {
    const { name, isList, read, message } = field;
    if (wireType !== field.wireType) {
      if (!isList || read === null || wireType !== WireType.LengthDelimited) return false;
      this.#readPacked(listOf(into, name), read);
      return true;
    }
    if (message !== null) {
      const before = isList ? undefined : messageOf(into[name]);
      const value = this.readMessage(message, this.#endOfField(), depth + 1, before);
      this.#count();
      if (isList) listOf(into, name).push(value);
      else into[name] = value;
    } else if (read !== null) {
      if (isList) this.#count();
      if (isList) listOf(into, name).push(read(this.#reader));
      else into[name] = read(this.#reader);
    }
    return true;
  }

  #readPacked(list: Value[], read: NonNullable<Field['read']>): void {
    const end = this.#endOfField();
    while (this.#reader.pos < end) {
      this.#count();
      list.push(read(this.#reader));
    }
    if (this.#reader.pos !== end) throw new InvalidProtobuf('a list ends inside a value');
  }

  #endOfField(): number {
    const length = this.#reader.uint32();
    const end = this.#reader.pos + length;
    if (end > this.#reader.len) throw new InvalidProtobuf('the body ends inside a field');
    return end;
  }

  #count(): void {
    this.#items += 1;
    if (this.#items > ITEMS_MAX) {
      throw new SluiceError('body_too_large', `The body has more than ${ITEMS_MAX} objects.`);
    }
  }
}

function listOf(into: DecodedMessage, name: string): Value[] {
  const list = into[name];
  if (Array.isArray(list)) return list;
  const created: Value[] = [];
  into[name] = created;
  return created;
}

/** The parts of a message that were sent before: protobuf requires that they are put together. */
function messageOf(before: Value | undefined): DecodedMessage | undefined {
  return typeof before === 'object' && !Array.isArray(before) ? before : undefined;
}

function chosenOf(message: Message, decoded: DecodedMessage): string | null {
  return message.find((field) => field?.isOneOf && field.name in decoded)?.name ?? null;
}

function toJson(request: DecodedMessage): JsonText {
  try {
    return JSON.stringify(request);
  } catch (cause) {
    // Longer than a string of V8 can be.
    throw new SluiceError('body_too_large', 'The body is too large as JSON.', { cause });
  }
}

/** @throws {SluiceError} `undecodable_body`; `body_too_large` for too many objects */
export function decodeProtobufRequest(signal: Signal, body: Buffer): JsonText {
  const message = KNOWN.get(REQUESTS[signal]) ?? [];
  try {
    return toJson(new Decoder(body).readMessage(message, body.length, 1));
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    const reason = error instanceof InvalidProtobuf ? `: ${error.message}` : '';
    throw new SluiceError('undecodable_body', `the body is not valid protobuf${reason}`, {
      cause: error,
    });
  }
}
