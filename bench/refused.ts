/**
 * How much CPU time does counting a refused request take? The recorder and a no-op take turns, in
 * alternating order, in one process, over the same requests; the median counts.
 */
import { digestKey } from '../src/db/people/keys.ts';
import { SluiceError } from '../src/errors.ts';
import { createAuthenticator } from '../src/http/limits/authentication.ts';
import { type RefusedRequest, RefusedRequests } from '../src/http/limits/refused-requests.ts';
import type { Credential } from '../src/model/people.ts';
import { createMetrics } from '../src/observe/metrics.ts';
import { log, median } from './harness.ts';

const REQUESTS = 20_000;
const WARM_UP_ROUNDS = 2;
const SECRET_CHARS = 43;

const keyOf = (n: number): string => `Bearer sluice_live_${String(n).padStart(SECRET_CHARS, 'a')}`;

const REQUEST: RefusedRequest = {
  method: 'POST',
  path: '/v1/traces',
  authorization: '',
  userAgent: 'OTel-OTLP-Exporter-JavaScript/0.203.0',
  clientAddress: '192.0.2.7',
};

const CASES: readonly (readonly [name: string, request: (n: number) => RefusedRequest])[] = [
  ['one valid key', () => ({ ...REQUEST, authorization: keyOf(0) })],
  ['one unknown key', () => ({ ...REQUEST, authorization: keyOf(1) })],
  ['no key', () => REQUEST],
  ['no key, IPv6', () => ({ ...REQUEST, clientAddress: '2001:db8::1:2' })],
  ['a new unknown key each', (n) => ({ ...REQUEST, authorization: keyOf(n + 1) })],
];

function cpuMicros(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Prints the medians, in microseconds of CPU time per refused request. */
export async function refusedBench(rounds: number): Promise<void> {
  const credential = { keyId: 1, workspaceId: 1, kind: 'agent' } as Credential;
  const valid = digestKey(keyOf(0).slice('Bearer '.length));
  const authenticator = createAuthenticator({
    digest: digestKey,
    find: async (digest) => (digest.equals(valid) ? credential : null),
    noteUse: () => {},
  });
  await authenticator.authenticate({ ...REQUEST, authorization: keyOf(0) }, 'agent');
  const { refused: metric } = createMetrics();
  const events = { requestRefused: (reason: string) => metric.inc({ reason }) };
  const error = new SluiceError('unsupported_type', 'Not JSON.');
  for (const [name, requestOf] of CASES) {
    const requests = Array.from({ length: REQUESTS }, (_, n) => requestOf(n));
    const perRequest = { recorder: [] as number[], nothing: [] as number[] };
    for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
      const order = round % 2 === 0 ? ['recorder', 'nothing'] : ['nothing', 'recorder'];
      for (const way of order as ('recorder' | 'nothing')[]) {
        const recorder = new RefusedRequests(authenticator, events);
        const note = way === 'recorder' ? recorder.note.bind(recorder) : () => {};
        const micros = cpuMicros(() => {
          for (const request of requests) note(request, error);
        });
        if (round >= 0) perRequest[way].push(micros / REQUESTS);
      }
    }
    const { recorder, nothing } = perRequest;
    log(`${name}: ${median(recorder).toFixed(2)} µs, no-op ${median(nothing).toFixed(3)} µs`);
  }
}
