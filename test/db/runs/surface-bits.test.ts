import fc from 'fast-check';
import { expect, test } from 'vitest';

import { toBits, toSurfaces } from '../../../src/db/runs/surface-bits.ts';
import { SURFACES } from '../../../src/model/steps.ts';

test('surfaces are the same after they were bits, in the order of all surfaces', () => {
  fc.assert(
    fc.property(fc.subarray([...SURFACES]), (surfaces) => {
      expect(toSurfaces(toBits([...surfaces].reverse()))).toEqual(surfaces);
    }),
  );
  expect(toBits(SURFACES)).toBeLessThan(2 ** 15);
});
