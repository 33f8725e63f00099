/**
 * Collects documents one after another, without what they repeat from further back: each model call sends the whole
 * conversation so far.
 *
 *   documents  question, answer, question, answer, next question
 *   literals   question, answer,                   next question
 *   repeats    (16 literal bytes, then 16 bytes from 16 bytes back), …
 *
 * A repeat may go through several documents, because a conversation may be one string or hundreds. The scan for
 * the end of a string and for repeats is one: a repeat is compared, not scanned.
 */
import { kept, withRoom } from './room.ts';
import { NumberReader, Numbers } from './varints.ts';

/** Bytes that the hash of a place depends on: those before it. */
const WINDOW = 32;
/** Least bytes of a repeat. */
const REPEAT_BYTES_MIN = 48;
/** Least distance of places. */
const STEP = 32;

/** Bits of the number of places; more of them take more cache misses than they save bytes. */
const PLACES_BITS_MIN = 8;
const PLACES_BITS_MAX = 14;

const NOTHING: Buffer = Buffer.alloc(0);
const FACTOR = 0x2c1b3c6d;
/** `FACTOR` to the power of `WINDOW`. */
const LEAVING = Array.from({ length: WINDOW }).reduce<number>(
  (product) => Math.imul(product, FACTOR),
  1,
);
const MIX = 0x9e3779b1;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Documents as they are stored. */
export interface CollectedDocuments {
  /** the text without its repeats */
  readonly literals: Buffer;
  /** for each repeat: literal bytes before it, its bytes above the minimum, its distance */
  readonly repeats: Buffer;
}

/** Collects the documents of one block after another, in the same memory. */
export class DocumentStream {
  /** the text of the document */
  #text = NOTHING;
  #words = viewOf(NOTHING);
  /** all documents; begins with zeros, so that there is a window before each place */
  #stream: Buffer = Buffer.alloc(WINDOW);
  #streamWords = viewOf(this.#stream);
  #length = WINDOW;
  #hash = 0;
  /**
   * By slot: position in the stream, 0 for none, and its hash. Positions are between the characters of a string,
   * never within an escape, so strings that are equal from there on also end alike.
   */
  readonly #places = new Int32Array(2 * 2 ** PLACES_BITS_MAX);
  #shift = 32 - PLACES_BITS_MIN;
  #nextPlace = WINDOW + STEP;
  /** the last repeat in the stream, which may continue; it begins after literals */
  #repeat = noRepeat();
  /** end of the repeat before that one */
  #from = WINDOW;
  readonly #repeats = new Numbers();
  /** of all repeats */
  #repeatedBytes = 0;
  /** start and end in the stream of each piece that is no repeat */
  #literals: number[] = [];

  /** @param bytesExpected of the texts of the block */
  begin(bytesExpected: number): void {
    this.#length = WINDOW;
    this.#hash = 0;
    this.#nextPlace = WINDOW + STEP;
    this.#repeat = noRepeat();
    this.#from = WINDOW;
    this.#repeats.clear();
    this.#repeatedBytes = 0;
    this.#literals = [];
    const bits = 32 - Math.clz32(bytesExpected / STEP);
    this.#shift = 32 - Math.min(PLACES_BITS_MAX, Math.max(PLACES_BITS_MIN, bits));
    this.#places.fill(0, 0, 2 * 2 ** (32 - this.#shift));
  }

  /**
   * Takes a string.
   *
   * @param start of its first byte in the text
   * @returns position of its closing quote
   * @throws {RangeError} when there is none
   */
  take(text: Buffer, start: number): number {
    this.#use(text, start);
    const stream = this.#stream;
    const places = this.#places;
    const shift = this.#shift;
    let at = this.#continueRepeat(start);
    let length = this.#length;
    let hash = this.#hash;
    let nextPlace = this.#nextPlace;
    for (let byte = text[at]; byte !== QUOTE && byte !== undefined; byte = text[at]) {
      if (byte === BACKSLASH) {
        stream[length] = byte;
        hash = roll(hash, byte, stream[length - WINDOW] as number);
        length += 1;
        at += 1;
        byte = text[at];
        if (byte === undefined) break;
      }
      stream[length] = byte;
      hash = roll(hash, byte, stream[length - WINDOW] as number);
      length += 1;
      at += 1;
      const slot = (Math.imul(hash, MIX) >>> shift) << 1;
      if (places[slot + 1] === hash) {
        const bytes = this.#repeatAt(places[slot] as number, length, at);
        if (bytes >= 0) {
          places[slot] = length;
          at += bytes;
          length = this.#length;
          hash = this.#hash;
          continue;
        }
      }
      if (length >= nextPlace) {
        places[slot] = length;
        places[slot + 1] = hash;
        nextPlace = length + STEP;
      }
    }
    this.#nextPlace = nextPlace;
    if (text[at] !== QUOTE) throw new RangeError('a string does not end');
    if (length > stream.length) throw new Error('no room for a document');
    this.#length = length;
    this.#hash = hash;
    return at;
  }

  /** Bytes that are no repeats, so far. */
  get literalBytes(): number {
    return this.#length - WINDOW - this.#repeatedBytes;
  }

  end(): CollectedDocuments {
    this.#endRepeat();
    this.#literals.push(this.#from, this.#length);
    const pieces = this.#literals;
    const stream = this.#stream;
    let length = 0;
    for (let piece = 0; piece < pieces.length; piece += 2) {
      const [from, end] = [pieces[piece] as number, pieces[piece + 1] as number];
      stream.copyWithin(length, from, end);
      length += end - from;
    }
    const literals = Buffer.from(stream.subarray(0, length));
    stream.fill(0, 0, WINDOW);
    this.#text = NOTHING;
    if (kept(stream) !== stream) this.#setStream(Buffer.alloc(WINDOW));
    return { literals, repeats: this.#repeats.copy() };
  }

  /** Makes room for a document, which ends in the text. */
  #use(text: Buffer, start: number): void {
    const stream = withRoom(this.#stream, this.#length, text.length - start);
    if (stream !== this.#stream) this.#setStream(stream);
    if (text === this.#text) return;
    this.#text = text;
    this.#words = viewOf(text);
  }

  #setStream(stream: Buffer): void {
    this.#stream = stream;
    this.#streamWords = viewOf(stream);
  }

  /** Lets the last repeat continue in the next document. @returns position after the repeat */
  #continueRepeat(start: number): number {
    const { end, distance } = this.#repeat;
    if (end !== this.#length || distance === 0) return start;
    const bytes = this.#same(end - distance, end, start);
    if (bytes > 0) this.#append(end - distance, bytes);
    this.#repeat.end = end + bytes;
    this.#repeatedBytes += bytes;
    return start + bytes;
  }

  /**
   * Appends what is equal at a place and at a position of the text, if there is enough with what was equal before.
   *
   * @returns how many bytes of the text were appended; -1 if there is no repeat
   */
  #repeatAt(place: number, length: number, at: number): number {
    if (place === 0) return -1;
    const stream = this.#stream;
    const distance = length - place;
    let start = length;
    const least = Math.max(this.#repeat.end, WINDOW + distance);
    while (start > least && stream[start - 1] === stream[start - 1 - distance]) start -= 1;
    const bytes = this.#same(place, length, at);
    if (length - start + bytes < REPEAT_BYTES_MIN) return -1;
    this.#endRepeat();
    this.#repeat = { start, end: length + bytes, distance };
    this.#repeatedBytes += length + bytes - start;
    this.#length = length;
    this.#append(place, bytes);
    return bytes;
  }

  /** Returns how many bytes are equal at a place of the stream and in the text, without half an escape. */
  #same(place: number, length: number, at: number): number {
    const words = this.#words;
    const streamWords = this.#streamWords;
    const most = Math.min(length - place, this.#text.length - at);
    let same = 0;
    while (
      same + 4 <= most &&
      words.getInt32(at + same, true) === streamWords.getInt32(place + same, true)
    ) {
      same += 4;
    }
    while (same < most && this.#text[at + same] === this.#stream[place + same]) same += 1;
    // The characters after the backslash of an escape may differ.
    let slashes = 0;
    while (slashes < same && this.#text[at + same - slashes - 1] === BACKSLASH) slashes += 1;
    return same - (slashes % 2);
  }

  /** Appends bytes of the stream itself, which takes a third of the time of copying them from the text. */
  #append(place: number, bytes: number): void {
    const stream = this.#stream;
    stream.copyWithin(this.#length, place, place + bytes);
    this.#length += bytes;
    let hash = 0;
    for (let at = this.#length - WINDOW; at < this.#length; at += 1) {
      hash = (Math.imul(hash, FACTOR) + (stream[at] as number)) | 0;
    }
    this.#hash = hash;
  }

  #endRepeat(): void {
    const { start, end, distance } = this.#repeat;
    if (distance === 0) return;
    this.#repeats.put(start - this.#from);
    this.#repeats.put(end - start - REPEAT_BYTES_MIN);
    this.#repeats.put(distance);
    this.#literals.push(this.#from, start);
    this.#from = end;
  }
}

const noRepeat = () => ({ start: WINDOW, end: WINDOW, distance: 0 });

const viewOf = ({ buffer, byteOffset, length }: Buffer): DataView =>
  new DataView(buffer, byteOffset, length);

const roll = (hash: number, entering: number, leaving: number): number =>
  (Math.imul(hash, FACTOR) + entering - Math.imul(leaving, LEAVING)) | 0;

/** Yields where repeats are in the documents, in their order. */
export function* repeatsOf({
  repeats,
}: CollectedDocuments): Generator<{ readonly start: number; readonly end: number }> {
  const numbers = new NumberReader(repeats);
  for (let length = 0; !numbers.isAtEnd; ) {
    const start = length + numbers.next();
    length = start + numbers.next() + REPEAT_BYTES_MIN;
    numbers.next();
    yield { start, end: length };
  }
}

const DAMAGED = 'its repeats do not fit its documents';

/**
 * Returns the documents.
 *
 * @param bytes of all documents
 * @throws {RangeError} when they have another length
 */
export function putRepeatsBack({ literals, repeats }: CollectedDocuments, bytes: number): Buffer {
  if (bytes < 0) throw new RangeError(DAMAGED);
  const documents = Buffer.allocUnsafe(bytes);
  const numbers = new NumberReader(repeats);
  let length = 0;
  let from = 0;
  while (!numbers.isAtEnd) {
    const before = numbers.next();
    const count = numbers.next() + REPEAT_BYTES_MIN;
    const distance = numbers.next();
    const start = length + before;
    if (from + before > literals.length || start + count > bytes) throw new RangeError(DAMAGED);
    if (distance === 0 || distance > start) throw new RangeError(DAMAGED);
    literals.copy(documents, length, from, from + before);
    from += before;
    length = start + count;
    // A repeat may begin in itself.
    for (let at = start; at < length; at += distance) {
      const end = Math.min(length, at + distance) - distance;
      documents.copy(documents, at, at - distance, end);
    }
  }
  if (literals.length - from !== bytes - length) throw new RangeError(DAMAGED);
  literals.copy(documents, length, from);
  return documents;
}
