/**
 * Encodes the answer to an export request in protobuf, for clients that sent protobuf:
 * `Export…ServiceResponse` with status 200, `google.rpc.Status` with any other.
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** Records of a request that the server set aside. */
export interface PartialSuccess {
  readonly rejected: bigint;
  readonly message: string;
}

/** The same fields for all signals: `partial_success` (1) with the count (1) and a message (2). */
export function encodeProtobufSuccess(partial: PartialSuccess | null): Uint8Array {
  const writer = new BinaryWriter();
  if (partial === null) return writer.finish();
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.Varint).int64(partial.rejected);
  writer.tag(2, WireType.LengthDelimited).string(partial.message);
  return writer.join().finish();
}

/** @param code google.rpc.Code */
export function encodeProtobufStatus(code: number, message: string): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.Varint).int32(code);
  return writer.tag(2, WireType.LengthDelimited).string(message).finish();
}
