/** Copies plain data into memory that all threads share, instead of a copy for each. */

/**
 * A copy whose typed arrays are in shared memory, so that threads receive references. It must not be
 * written to.
 * @param data objects, arrays, maps, typed arrays, primitives
 */
export function inSharedMemory<T>(data: T): T {
  return copied(data) as T;
}

function copied(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (ArrayBuffer.isView(value)) return sharedTable(value as TypedArray);
  if (Array.isArray(value)) return value.map(copied);
  if (value instanceof Map) {
    return new Map([...value].map(([key, member]) => [key, copied(member)]));
  }
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copied(member)]));
}

type TypedArray = Uint8Array | Uint16Array | Int32Array | Float64Array;

function sharedTable(table: TypedArray): TypedArray {
  // A Buffer arrives in other threads as this too, and its constructor is deprecated.
  const own = table instanceof Uint8Array ? Uint8Array : table.constructor;
  const Table = own as new (memory: SharedArrayBuffer) => TypedArray;
  const shared = new Table(new SharedArrayBuffer(table.byteLength));
  shared.set(table);
  return shared;
}
