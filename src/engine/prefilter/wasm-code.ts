/**
 * Owns the binary format of WebAssembly, as much of it as a module of a few functions needs: operations
 * as nested calls, so that code is read where it is written and no binary is committed.
 *
 *   i32.add(get(AT), i32.const(1))  →  20 00 41 01 6a
 */

/** The bytes of an operation, its operands before it. */
export type Code = readonly number[];

const I32 = 0x7f;
const I64 = 0x7e;
const V128 = 0x7b;
export const TYPES = { i32: I32, i64: I64, v128: V128 } as const;
const NO_VALUE = 0x40;

/** LEB128 of a number that is not negative. */
function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const more = rest >= 0x80;
    bytes.push(more ? (rest % 0x80) | 0x80 : rest);
    rest = Math.floor(rest / 0x80);
  } while (rest > 0);
  return bytes;
}

/** Signed LEB128. */
function signed(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (;;) {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    const isLast = (rest === 0n && low < 0x40) || (rest === -1n && low >= 0x40);
    bytes.push(isLast ? low : low | 0x80);
    if (isLast) return bytes;
  }
}

const two =
  (...code: number[]) =>
  (a: Code, b: Code): Code => [...a, ...b, ...code];
const one =
  (...code: number[]) =>
  (a: Code): Code => [...a, ...code];
/** Addresses need not be aligned. */
const load =
  (...code: number[]) =>
  (address: Code, offset = 0): Code => [...address, ...code, 0, ...unsigned(offset)];
const store =
  (...code: number[]) =>
  (address: Code, value: Code, offset = 0): Code => [
    ...address,
    ...value,
    ...code,
    0,
    ...unsigned(offset),
  ];

export const i32 = {
  const: (value: number): Code => [0x41, ...signed(BigInt(value))],
  add: two(0x6a),
  sub: two(0x6b),
  mul: two(0x6c),
  and: two(0x71),
  or: two(0x72),
  shl: two(0x74),
  shrU: two(0x76),
  eq: two(0x46),
  geU: two(0x4f),
  eqz: one(0x45),
  ctz: one(0x68),
  wrap: one(0xa7),
  load: load(0x28),
  load8: load(0x2d),
  store: store(0x36),
  store8: store(0x3a),
};

export const i64 = {
  const: (value: bigint): Code => [0x42, ...signed(BigInt.asIntN(64, value))],
  or: two(0x84),
  shl: two(0x86),
  shrU: two(0x88),
  mul: two(0x7e),
  extend: one(0xad),
  load: load(0x29),
  load32: load(0x35),
  store: store(0x37),
};

export const v128 = {
  and: two(0xfd, 0x4e),
  xor: two(0xfd, 0x51),
  anyTrue: one(0xfd, 0x53),
  load: load(0xfd, 0x00),
  store: store(0xfd, 0x0b),
};

/** A parameter or another local variable, by number. */
export const get = (local: number): Code => [0x20, local];
export const set = (local: number, value: Code): Code => [...value, 0x21, local];

/** Runs its code until it leaves; `leave` inside of it leaves, or repeats, the block around it. */
export const block = (...code: Code[]): Code => [0x02, NO_VALUE, ...code.flat(), 0x0b];
export const loop = (...code: Code[]): Code => [0x03, NO_VALUE, ...code.flat(), 0x0b];
/** @param depth 0 for the innermost block or loop around it */
export const leave = (depth: number): Code => [0x0c, depth];
export const leaveIf = (depth: number, condition: Code): Code => [...condition, 0x0d, depth];

export interface WasmFunction {
  readonly name: string;
  readonly parameters: readonly number[];
  readonly result: number;
  /** numbered after the parameters */
  readonly locals: readonly number[];
  readonly body: readonly Code[];
}

const list = (parts: readonly Code[]): Code => [...unsigned(parts.length), ...parts.flat()];
const sized = (code: Code): Code => [...unsigned(code.length), ...code];
const section = (id: number, content: Code): Code => [id, ...sized(content)];
const named = (name: string): Code => sized([...Buffer.from(name)]);

/** A module that exports its functions and its memory, `memory`. @param pages of 64 KiB */
export function moduleOf(
  functions: readonly WasmFunction[],
  pages: number,
): Uint8Array<ArrayBuffer> {
  const types = functions.map(({ parameters, result }) => [
    0x60,
    ...sized(parameters),
    ...sized([result]),
  ]);
  const code = functions.map(({ locals, body }) =>
    sized([...list(locals.map((type) => [1, type])), ...body.flat(), 0x0b]),
  );
  const exported = functions.map(({ name }, index) => [...named(name), 0, ...unsigned(index)]);
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list(types)),
    ...section(3, list(functions.map((_, index) => unsigned(index)))),
    ...section(5, list([[0, ...unsigned(pages)]])),
    ...section(7, list([...exported, [...named('memory'), 2, 0]])),
    ...section(10, list(code)),
  ]);
}

export interface WasmInstance {
  readonly memory: { readonly buffer: ArrayBuffer; readonly grow: (pages: number) => number };
  readonly functions: Readonly<Record<string, (...values: number[]) => number>>;
}

/** As much of the interface as is used here; Node's types have nothing of it. */
interface WebAssemblyInterface {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
  ) => {
    readonly exports: WasmInstance['functions'] & Pick<WasmInstance, 'memory'>;
  };
}

/** Compiles and starts a module. @param bytes from `moduleOf` */
export function instanceOf(bytes: Uint8Array): WasmInstance {
  const { WebAssembly: wasm } = globalThis as unknown as { WebAssembly: WebAssemblyInterface };
  const { memory, ...functions } = new wasm.Instance(new wasm.Module(bytes)).exports;
  return { memory, functions };
}
