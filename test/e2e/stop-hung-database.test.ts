/**
 * Stopping with a database that hangs: the server ends all the same. Most of it is waiting for limits
 * of the server's own, so it runs beside other files and not alone.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';

import { freezeServer, type Lab, openLab } from '../support/embedded-lab.ts';
import { startServer } from '../support/server.ts';
import { post, rawSpan, traceBody } from './gateway.ts';

const STEP_FAILED = 'a shutdown step failed';

let lab: Lab;
let thaw: () => void;
beforeEach(() => {
  lab = openLab();
  thaw = () => undefined;
});
afterEach(async () => {
  thaw();
  await lab.close();
});

test('a database that hangs does not keep the server from stopping, and what was not stored is no 200', async () => {
  const postgres = await lab.start(await lab.madeFolder());
  const server = await startServer({ DATABASE_URL: postgres.url });
  const send = () =>
    post(
      `${server.observeUrl}/v1/traces`,
      server.firstKeys?.agent ?? '',
      traceBody([rawSpan()]),
    ).then(
      ({ status }) => status,
      () => 'connection closed',
    );
  expect(await send()).toBe(200);
  thaw = await freezeServer(postgres.home, postgres.url);
  const hanging = send();
  const stoppedAt = performance.now();
  server.signal('SIGTERM');
  const { code } = await server.exited;
  expect(performance.now() - stoppedAt).toBeLessThan(120_000);
  expect(['connection closed', 503]).toContain(await hanging);
  // Whether every query gives up within the limit of its step depends on the machine.
  expect(code, server.stderr()).toBe(server.stderr().includes(STEP_FAILED) ? 1 : 0);
  expect(server.stderr()).toContain('"msg":"stopped"');
});
