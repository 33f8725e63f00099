/**
 * Large bodies of several workspaces on a real server: one that takes long to decode delays no other
 * workspace's, and is given up when nobody awaits it and another workspace needs its process.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { GIANT_BYTES } from '../../src/ingest/large-bodies.ts';
import { decodeProcessesOf, stop } from '../ingest/decode-processes.ts';
import { storedRecords } from '../support/stored-blocks.ts';
import {
  type Gateway,
  type Keys,
  openGateway,
  otlpHeaders,
  rawSpan,
  request,
  traceBody,
} from './gateway.ts';

type Workspace = Keys & { readonly id: number };

let gateway: Gateway;

beforeAll(async () => {
  gateway = await openGateway({
    // On a busy machine such a body may take longer than an exporter waits.
    INGEST_ANSWER_MS: '60000',
    MAX_BODY_BYTES: String(2 * GIANT_BYTES),
  });
});
afterAll(() => gateway.close());

/** A body of one span, which is too large for the event loop. */
function giantBody(): string {
  return JSON.stringify(traceBody([rawSpan({ name: 'x'.repeat(GIANT_BYTES) })]));
}

interface Sent {
  readonly by: Workspace;
  /** resolves with the status */
  readonly answer: Promise<number>;
  readonly leave: () => void;
}

function send(by: Workspace, body = giantBody()): Sent {
  const leaving = new AbortController();
  const { signal } = leaving;
  const init = { method: 'POST', headers: otlpHeaders(by.agent), body, signal };
  const answer = request(`${gateway.server.observeUrl}/v1/traces`, init);
  return { by, answer: answer.then(({ status }) => status), leave: () => leaving.abort() };
}

/** The one that is answered first, which must be 200, and the other one. */
async function firstOf(sent: readonly Sent[]): Promise<readonly [first: Sent, other: Sent]> {
  const first = await Promise.race(
    sent.map(async (one) => {
      expect(await one.answer).toBe(200);
      return one;
    }),
  );
  const other = sent.find((one) => one !== first);
  if (other === undefined) throw new Error('two are sent');
  return [first, other];
}

const spansOf = ({ id }: Workspace): Promise<number> =>
  storedRecords(gateway.database, 'traces', id);

const processes = (): number[] => decodeProcessesOf(gateway.server.pid);

test('a body that takes long delays no other workspace, and gives way once its client has left', async () => {
  const [one, two, three] = await Promise.all(['one', 'two', 'three'].map(gateway.addWorkspace));
  if (one === undefined || two === undefined || three === undefined) throw new Error('three');
  expect(await send(one).answer).toBe(200);
  const first = processes();
  expect(first).toHaveLength(1);
  stop(first);
  // One of them is in the stopped process.
  const [answered, slow] = await firstOf([send(one), send(two)]);
  const second = processes().filter((pid) => !first.includes(pid));
  expect(second).toHaveLength(1);
  const { resume } = stop(second);
  const sent = [send(answered.by), send(three)];
  const before = await spansOf(slow.by);
  slow.leave();
  await expect(slow.answer).rejects.toThrow();
  const [, patient] = await firstOf(sent);
  expect(processes()).not.toContain(first[0]);
  resume();
  expect(await patient.answer).toBe(200);
  expect(await spansOf(slow.by)).toBe(before);
  expect(await send(slow.by).answer).toBe(200);
});

test('a body that is sent again is answered without being decoded', async () => {
  const sender = await gateway.addWorkspace('four');
  const body = giantBody();
  expect(await send(sender, body).answer).toBe(200);
  const { resume } = stop(processes());
  expect(await send(sender, body).answer).toBe(200);
  resume();
  expect(await spansOf(sender)).toBe(1);
});
