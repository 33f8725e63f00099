/**
 * Messages between a process and its child, each with bytes: the message first, then its bytes in
 * parts, so that neither side's event loop is held by one of 64 MiB.
 */

const PART_BYTES_MAX = 1024 * 1024;
const NO_BYTES: Uint8Array = new Uint8Array(0);

/** Announces a message and the size of the bytes that follow. */
interface Announced<Message> {
  readonly message: Message;
  readonly size: number;
}

/** A message of the channel: an announcement, or a part of the bytes. */
export type ChannelPart<Message> = Announced<Message> | Uint8Array;

export interface ReceivedMessage<Message> {
  readonly message: Message;
  readonly bytes: Buffer;
}

/**
 * Sends a message with bytes, a part at a time.
 *
 * @param send settles once the part is written
 */
export async function sendMessage<Message>(
  send: (part: ChannelPart<Message>) => Promise<void>,
  message: Message,
  bytes: Uint8Array = NO_BYTES,
): Promise<void> {
  await send({ message, size: bytes.length });
  for (let at = 0; at < bytes.length; at += PART_BYTES_MAX) {
    await send(bytes.subarray(at, at + PART_BYTES_MAX));
  }
}

export class MessageAssembler<Message> {
  #announced: Announced<Message> | null = null;
  #bytes = Buffer.alloc(0);
  #filled = 0;

  /** The message, once its last part is here; null before that. */
  take(part: ChannelPart<Message>): ReceivedMessage<Message> | null {
    if (part instanceof Uint8Array) {
      this.#bytes.set(part, this.#filled);
      this.#filled += part.length;
    } else {
      this.#announced = part;
      this.#bytes = Buffer.allocUnsafeSlow(part.size);
      this.#filled = 0;
    }
    if (this.#announced === null || this.#filled < this.#bytes.length) return null;
    const received = { message: this.#announced.message, bytes: this.#bytes };
    this.#announced = null;
    this.#bytes = Buffer.alloc(0);
    return received;
  }
}
