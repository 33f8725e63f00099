/** The probes: what makes a server not ready, and what only degrades it. */
import { afterEach, expect, test } from 'vitest';
import { type Probe, probeRoutes } from '../../../../src/http/api/open/probe-routes.ts';
import { type Listener, openListener } from '../../../../src/http/transport/server.ts';

let listener: Listener | null = null;
let reported: string[] = [];
afterEach(async () => {
  await listener?.close();
  listener = null;
  reported = [];
});

const works: Probe = () => Promise.resolve();
const fails: Probe = () => Promise.reject(new Error('secret of the operator'));

async function readiness(
  probes: Record<string, Probe>,
  others: Record<string, Probe>,
): Promise<{ status: number; body: unknown }> {
  const routes = probeRoutes({
    probes: new Map(Object.entries(probes)),
    optionalProbes: new Map(Object.entries(others)),
    events: {
      ready: () => void reported.push('ready'),
      notReady: (failing) => void reported.push(...failing),
    },
  });
  const sites = new Map([['', routes]]);
  const settings = { setting: 'PORT', host: '127.0.0.1', port: 0, sites } as const;
  listener = await openListener(settings, {
    requestFailed: () => {},
    requestUnavailable: () => {},
  });
  const answer = await fetch(`http://127.0.0.1:${listener.port}/ready`);
  return { status: answer.status, body: await answer.json() };
}

test('everything works', async () => {
  expect(await readiness({ db: works }, { redis: works })).toEqual({
    status: 200,
    body: { status: 'ready', probes: { db: 'ok' } },
  });
});

test('an aid that fails is named, and the server is ready', async () => {
  expect(await readiness({ db: works }, { redis: fails })).toEqual({
    status: 200,
    body: { status: 'ready', probes: { db: 'ok' }, degraded: ['redis'] },
  });
});

test('a probe that fails makes it not ready, whatever the others say', async () => {
  expect(await readiness({ db: fails, pass: works }, { redis: works })).toEqual({
    status: 503,
    body: { status: 'not_ready', failing: ['db'], probes: { db: 'failing', pass: 'ok' } },
  });
});

test('both are reported', async () => {
  expect(await readiness({ db: fails }, { redis: fails })).toEqual({
    status: 503,
    body: {
      status: 'not_ready',
      failing: ['db'],
      probes: { db: 'failing' },
      degraded: ['redis'],
    },
  });
});
