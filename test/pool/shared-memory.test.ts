import { expect, test, vi } from 'vitest';

import { inSharedMemory } from '../../src/pool/shared-memory.ts';

const data = () => ({
  count: 3,
  name: 'a',
  nothing: null,
  bytes: Uint8Array.of(1, 255),
  nested: { wide: Float64Array.of(0.5, Number.POSITIVE_INFINITY), states: Uint16Array.of(65_535) },
  byId: new Map([[7, [Int32Array.of(-1, 2)]]]),
});

test('what is put there is the same', () => {
  expect(inSharedMemory(data())).toEqual(data());
});

test('a Buffer is bytes there, and Node warns of nothing', () => {
  const warned = vi.spyOn(process, 'emitWarning');
  expect(inSharedMemory(Buffer.from('ab'))).toEqual(Uint8Array.of(97, 98));
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
});

test('a thread sees what was put there, not a copy', () => {
  const shared = inSharedMemory(data());
  const elsewhere = structuredClone(shared);
  shared.bytes[0] = 9;
  (shared.byId.get(7)?.[0] as Int32Array)[1] = 8;
  expect([...elsewhere.bytes]).toEqual([9, 255]);
  expect([...(elsewhere.byId.get(7)?.[0] ?? [])]).toEqual([-1, 8]);
});
