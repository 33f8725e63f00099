/** Recording refused requests: a failed turn is repeated, unknown senders are logged once and a few at a time. */
import { expect, test } from 'vitest';
import { StopOrder } from '../../src/main/stop-order.ts';
import { keepRefusedRequests } from '../../src/main/upkeep.ts';
import type { RefusedGroup } from '../../src/model/refused-requests.ts';
import { waitFor } from '../support/wait-for.ts';

const group = (address: string): RefusedGroup => ({
  reason: 'invalid_credential',
  digest: Buffer.from('secret digest'),
  keyPrefix: 'sluice_live_AbCdEf',
  address,
  userAgent: 'exporter',
  path: '/v1/traces',
  requests: 1,
});

function setUp(record: (groups: readonly RefusedGroup[]) => readonly RefusedGroup[]) {
  let noted: RefusedGroup[] = [];
  const refused = {
    takeGroups: () => {
      const taken = noted;
      noted = [];
      return taken;
    },
  };
  const logged: object[] = [];
  const failures: unknown[] = [];
  const events = {
    senderRefused: (sender: object) => void logged.push(sender),
    refusalsRecorded: () => {},
    refusalsUnrecorded: (error: unknown) => void failures.push(error),
    stopFailed: (step: string) => void failures.push(step),
  };
  const stops = new StopOrder();
  keepRefusedRequests(refused, async (groups) => record(groups), events, stops, 5);
  return {
    note: (...groups: RefusedGroup[]) => void noted.push(...groups),
    logged,
    failures,
    stop: () => stops.run(events),
  };
}

test('groups of a failed turn are recorded by a later one', async () => {
  const recorded: string[] = [];
  let isAway = true;
  const lab = setUp((groups) => {
    if (isAway) throw new Error('away');
    recorded.push(...groups.map(({ address }) => address));
    return [];
  });
  lab.note(group('192.0.2.1'));
  await waitFor(() => lab.failures.length > 0, { withinMs: 60_000, what: 'the failure' });
  lab.note(group('192.0.2.2'));
  isAway = false;
  await waitFor(() => recorded.length === 2, { withinMs: 60_000, what: 'the next turn' });
  expect(recorded).toEqual(['192.0.2.1', '192.0.2.2']);
  expect(await lab.stop()).toBe(true);
  expect(lab.logged).toEqual([]);
});

test('unknown senders: ten lines a turn, each sender once, no digest', async () => {
  let turns = 0;
  const lab = setUp((groups) => {
    turns += 1;
    return groups;
  });
  lab.note(...Array.from({ length: 30 }, (_, index) => group(`192.0.2.${index}`)));
  await waitFor(() => turns === 1, { withinMs: 60_000, what: 'the first turn' });
  lab.note(group('192.0.2.0'));
  await waitFor(() => turns === 2, { withinMs: 60_000, what: 'the second turn' });
  await lab.stop();
  expect(lab.logged).toHaveLength(10);
  expect(lab.logged[0]).toEqual({
    reason: 'invalid_credential',
    keyPrefix: 'sluice_live_AbCdEf',
    address: '192.0.2.0',
    userAgent: 'exporter',
    path: '/v1/traces',
    requests: 1,
  });
});

test('the stop records the rest', async () => {
  const recorded: RefusedGroup[] = [];
  const lab = setUp((groups) => {
    recorded.push(...groups);
    return [];
  });
  lab.note(group('192.0.2.1'));
  await lab.stop();
  expect(recorded).toHaveLength(1);
});
