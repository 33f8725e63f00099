import { expect, test } from 'vitest';

import { FAULTS, type Fault, planRounds } from './schedule.ts';

const KINDS = Object.keys(FAULTS) as Fault[];
const OPTIONS = { rounds: 3 * KINDS.length, servers: 2, kinds: KINDS };

test('a seed gives the same rounds each time, another seed gives others', () => {
  expect(planRounds(7, OPTIONS)).toEqual(planRounds(7, OPTIONS));
  expect(planRounds(8, OPTIONS)).not.toEqual(planRounds(7, OPTIONS));
});

test('more rounds of a seed begin with the same rounds', () => {
  const few = planRounds(7, { ...OPTIONS, rounds: 5 });
  expect(planRounds(7, OPTIONS).slice(0, 5)).toEqual(few);
});

test('every kind of fault comes once before any comes twice', () => {
  const faults = planRounds(7, OPTIONS).map(({ fault }) => fault);
  for (let from = 0; from < faults.length; from += KINDS.length) {
    expect(faults.slice(from, from + KINDS.length).sort()).toEqual([...KINDS].sort());
  }
});

test('every server is meant, and only servers that there are', () => {
  const servers = planRounds(7, OPTIONS).map(({ server }) => server);
  expect([...new Set(servers)].sort()).toEqual([0, 1]);
});
