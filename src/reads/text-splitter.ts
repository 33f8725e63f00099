/**
 * Splits the lines of packed blocks into their parts, in WebAssembly (`src/model/packed/assembly/`). Keys of objects
 * stay, so the narrow text is JSON with the same members; `joinText` gives the lines, byte for byte.
 */
import * as codes from '../model/packed/assembly/codes.ts';
import type { SplitText } from '../model/packed/narrow-text.ts';
import { type Memory, programOf, startProgram } from '../web-assembly/programs.ts';

/** Maximum bytes of a text whose memory is used again. New memory costs a page fault for each 4 KiB. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;

const HASH_BYTES = 4;

/** The exports of the program; 0 stands for a failure. */
interface Exports {
  readonly memory: Memory;
  readonly begin: (bytesExpected: number) => number;
  readonly room: (bytes: number) => number;
  readonly put: (bytes: number) => number;
  readonly putByte: (byte: number) => number;
  readonly partsBytes: () => number;
  readonly end: () => void;
  readonly startOf: (region: number) => number;
  readonly lengthOf: (region: number) => number;
}

export interface SplitLines extends SplitText {
  /** of the groups of three bytes of all names, attributes and bodies, but not of ids (`createFilter`) */
  readonly hashes: Int32Array;
}

/** Splits the texts of one block after another, in the same memory. */
export class TextSplitter {
  #exports: Exports | null = null;
  /** all memory of the program */
  #memory: Buffer = Buffer.alloc(0);
  #bytes = 0;

  begin(bytesExpected: number): void {
    this.#exports ??= startProgram<Exports>(programOf('text-splitter.wasm'));
    this.#bytes = 0;
    haveMemory(this.#exports.begin(bytesExpected));
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of the parts so far, without holes and repeats. */
  get partsBytes(): number {
    return this.#program.partsBytes();
  }

  /** Adds tokens of JSON, which are not kept. @throws {RangeError} when a long string does not end */
  put(text: Buffer): void {
    const at = haveMemory(this.#program.room(text.length));
    text.copy(this.#view(), at);
    if (this.#program.put(text.length) === 0) throw new RangeError('a string does not end');
    this.#bytes += text.length;
  }

  /** @param byte no part of a string */
  putByte(byte: number): void {
    haveMemory(this.#program.putByte(byte));
    this.#bytes += 1;
  }

  end(): SplitLines {
    this.#program.end();
    const hashes = new Int32Array(this.#program.lengthOf(codes.GROUPS) / HASH_BYTES);
    this.#copyOf(codes.GROUPS).copy(Buffer.from(hashes.buffer));
    const lines = {
      bytes: this.#bytes,
      narrow: this.#textOf(codes.NARROW, codes.NARROW_HOLES),
      attributes: this.#textOf(codes.ATTRIBUTES, codes.ATTRIBUTE_HOLES),
      literals: this.#copyOf(codes.LITERALS),
      repeats: this.#copyOf(codes.REPEATS),
      hashes,
    };
    if (this.#bytes > KEPT_BYTES_MAX) {
      this.#exports = null;
      this.#memory = Buffer.alloc(0);
    }
    return lines;
  }

  get #program(): Exports {
    if (this.#exports === null) throw new Error('no block has begun');
    return this.#exports;
  }

  #textOf(text: number, holes: number) {
    return { text: this.#copyOf(text), holes: this.#copyOf(holes) };
  }

  #copyOf(region: number): Buffer {
    const start = this.#program.startOf(region);
    return Buffer.from(this.#view().subarray(start, start + this.#program.lengthOf(region)));
  }

  /** Memory that has grown is another buffer. */
  #view(): Buffer {
    const { buffer } = this.#program.memory;
    if (this.#memory.buffer !== buffer) this.#memory = Buffer.from(buffer);
    return this.#memory;
  }
}

function haveMemory(result: number): number {
  if (result === 0) throw new Error('no memory for packed lines');
  return result;
}
