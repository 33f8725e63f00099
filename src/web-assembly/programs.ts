/** Loads the programs that `bin/build.js` compiles from the `assembly` folders, which are AssemblyScript. */
import { readFileSync } from 'node:fs';

/** The part of WebAssembly that is used: `@types/node` does not have all of it. */
declare const WebAssembly: {
  readonly validate: (bytes: Uint8Array) => boolean;
  readonly Module: new (bytes: Uint8Array) => Program;
  readonly Instance: new (program: Program, imports: object) => { readonly exports: object };
};
export type Program = Readonly<Record<never, never>>;

/** A variable of a program. */
export interface Global {
  readonly value: number;
}

export interface Memory {
  /** another one after the memory has grown */
  readonly buffer: ArrayBuffer;
}

const BUILT = new URL('../../dist/', import.meta.url);

/** A program of one function that has an instruction of SIMD. */
const SIMD_PROGRAM = Buffer.from(
  '0061736d01000000010401600000030201000a090107004100fd0f1a0b',
  'hex',
);

/** Checks whether the processor has SIMD, and Node.js was not started without WebAssembly. */
export function canRunPrograms(): boolean {
  return 'WebAssembly' in globalThis && WebAssembly.validate(SIMD_PROGRAM);
}

/** By file; compiled once per thread. */
const programs = new Map<string, Program>();

/**
 * Returns a program.
 *
 * @param file in `dist/`
 * @throws when it is not built or damaged, or there is no memory for it
 */
export function programOf(file: string): Program {
  const known = programs.get(file) ?? compiled(readFileSync(new URL(file, BUILT)), file);
  programs.set(file, known);
  return known;
}

/** @throws when the bytes are no program, or no program can run here */
export function compiled(bytes: Uint8Array, file: string): Program {
  if (!canRunPrograms()) {
    throw new Error(
      `dist/${file} cannot run: it needs a processor with SIMD (SSE4.1 or NEON), and Node.js without --jitless`,
    );
  }
  if (WebAssembly.validate(bytes)) return new WebAssembly.Module(bytes);
  throw new Error(`dist/${file} is damaged: run \`npm run build\``);
}

/** Starts a program, in a memory that nothing else uses. @throws when there is no memory for it */
export function startProgram<Exports>(program: Program, imports: object = {}): Exports {
  return new WebAssembly.Instance(program, imports).exports as Exports;
}
