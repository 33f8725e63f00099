/** What a browser keeps while it is at a provider: nothing that was not sealed here, nor for long. */
import { expect, test } from 'vitest';
import {
  FLOW_SECONDS,
  signFlow,
  verifyFlow,
} from '../../../../src/http/dashboard/sign-in/sign-in-pages.ts';

const ACME = { name: 'acme', secret: 'a secret' };
const FLOW = { state: 's', nonce: 'n', verifier: 'v', next: '/app' };
const NOW = 1_763_640_000_000;
const sealed = signFlow(ACME, FLOW, NOW);

test('comes back as it left, for ten minutes', () => {
  expect(verifyFlow(ACME, sealed, NOW)).toMatchObject(FLOW);
  expect(verifyFlow(ACME, sealed, NOW + FLOW_SECONDS * 1000)).toMatchObject(FLOW);
  expect(verifyFlow(ACME, sealed, NOW + FLOW_SECONDS * 1000 + 1)).toBeNull();
  expect(verifyFlow(ACME, sealed, NOW - 1)).toBeNull();
});

test('is another provider’s, or sealed with another secret: nothing', () => {
  expect(verifyFlow({ ...ACME, name: 'other' }, sealed, NOW)).toBeNull();
  expect(verifyFlow({ ...ACME, secret: 'another' }, sealed, NOW)).toBeNull();
});

test.each(['', '.', 'x', 'x.y', `${sealed}x`, sealed.slice(0, -1), `x${sealed}`])(
  'made up: "%s"',
  (made) => {
    expect(verifyFlow(ACME, made, NOW)).toBeNull();
  },
);
