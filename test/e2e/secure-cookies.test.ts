/** The session's cookie when people reach the server over TLS: BASE_URL is `https:`. */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { findFreePort } from '../support/sockets.ts';
import { type Answer, type Gateway, openGateway, request } from './gateway.ts';

const ORIGIN = 'https://sluice.test';

let gateway: Gateway;
let here: string;
beforeAll(async () => {
  const port = await findFreePort();
  here = `http://127.0.0.1:${port}`;
  gateway = await openGateway({ PORT: String(port), BASE_URL: ORIGIN });
});
afterAll(() => gateway.close());

/** Through the proxy that ends TLS. */
const send = (path: string, form: Record<string, string>, cookie = ''): Promise<Answer> =>
  request(`${here}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      origin: ORIGIN,
      cookie,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams(form).toString(),
  });

async function overview(cookie: string): Promise<number> {
  const { status } = await request(`${here}/app`, { redirect: 'manual', headers: { cookie } });
  return status;
}

test('is Secure and bound to this host, and read under that name only', async () => {
  const signedIn = await send('/app/sign-in', gateway.owner);
  expect(signedIn.status).toBe(303);
  const [line = ''] = signedIn.headers.getSetCookie();
  expect(line).toMatch(/^__Host-sluice_session=[\w-]{43}; /);
  expect(line.split('; ').slice(1)).toEqual([
    'Path=/',
    expect.stringMatching(/^Expires=/),
    'HttpOnly',
    'SameSite=Strict',
    'Secure',
  ]);
  const [cookie = ''] = line.split(';');
  expect(await overview(cookie)).toBe(200);
  expect(await overview(cookie.replace('__Host-', ''))).toBe(303);

  const signedOut = await send('/app/sign-out', {}, cookie);
  const [cleared = ''] = signedOut.headers.getSetCookie();
  expect(cleared).toMatch(/^__Host-sluice_session=; .*Max-Age=0.*; Secure$/);
  expect(await overview(cookie)).toBe(303);
});
