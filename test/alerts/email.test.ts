/** E-mail to a real SMTP server: what arrives, and how failures are named. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { createMailer } from '../../src/alerts/email.ts';
import { openMailServer, type TestMailServer } from '../support/receivers.ts';
import { openAuthority } from '../support/tls-postgres.ts';

const FROM = 'sluice@mail.test';
const EMAIL = {
  id: 'finding_1_2',
  to: ['one@mail.test', 'two@mail.test'],
  subject: 'Critical: Grüße\r\nBcc: evil@mail.test',
  text: 'first line\n.\nlast line ✓\n',
};

let server: TestMailServer;
beforeEach(async () => {
  server = await openMailServer();
});
afterEach(() => server.close());

test('a message arrives at all of its addresses, with its id, as text', async () => {
  const send = createMailer({ url: server.url, from: FROM }, 'sluice.test');
  expect(await send(EMAIL)).toMatchObject({ failure: null });
  const [mail] = server.mails;
  expect(mail).toMatchObject({ from: FROM, to: EMAIL.to });
  const [head = '', body = ''] = (mail?.raw ?? '').split('\r\n\r\n');
  expect(head).toContain('Message-ID: <finding_1_2@sluice.test>');
  expect(head).toContain('Auto-Submitted: auto-generated');
  expect(head).not.toMatch(/^Bcc:/m);
  expect(body).toContain('last line');
});

test('an address that the server refuses keeps the message from no other', async () => {
  const send = createMailer({ url: server.url, from: FROM }, 'sluice.test');
  server.refuses = ['two@mail.test'];
  expect(await send(EMAIL)).toMatchObject({ failure: null });
  expect(server.mails[0]?.to).toEqual(['one@mail.test']);
  server.refuses = EMAIL.to;
  expect(await send(EMAIL)).toMatchObject({ failure: 'smtp', status: 550 });
});

test('a wrong password', async () => {
  const url = server.url.replace('smtp://', 'smtp://user:wrong@');
  const send = createMailer({ url, from: FROM }, 'sluice.test');
  expect(await send(EMAIL)).toMatchObject({ failure: 'smtp', status: 535 });
});

/** Linux connects to itself there; by name it is another machine. */
const NOT_LOCAL = '0.0.0.0';

test.each([
  ['user:right@', '127.0.0.1', null, ['user']],
  ['user:right@', NOT_LOCAL, 'tls', []],
  [':right@', NOT_LOCAL, 'tls', []],
  ['', NOT_LOCAL, null, []],
])('"%s" to %s, which offers no TLS: %s', async (user, host, failure, signedIn) => {
  const url = `smtp://${user}${host}:${server.port}`;
  const send = createMailer({ url, from: FROM }, 'sluice.test');
  expect(await send(EMAIL)).toMatchObject({ failure });
  expect(server.mails).toHaveLength(failure === null ? 1 : 0);
  expect(server.users).toEqual(signedIn);
});

test('a server whose certificate nobody known has signed gets neither password nor message', async () => {
  const authority = await openAuthority();
  authority.sign('mail', 'IP:127.0.0.1');
  const read = (ending: string) => readFileSync(join(authority.folder, `mail.${ending}`), 'utf8');
  const secure = await openMailServer({ key: read('key'), cert: read('crt') });
  try {
    const url = secure.url.replace('smtp://', 'smtp://user:right@');
    const send = createMailer({ url, from: FROM }, 'sluice.test');
    expect(await send(EMAIL)).toMatchObject({ failure: 'tls', status: null });
    expect([secure.mails, secure.users]).toEqual([[], []]);
  } finally {
    await secure.close();
    await authority.close();
  }
});

test('a server that is away, or says nothing', async () => {
  const { port } = server;
  await server.close();
  const send = createMailer({ url: `smtp://127.0.0.1:${port}`, from: FROM }, 'sluice.test', 300);
  expect(await send(EMAIL)).toMatchObject({ failure: 'connection', status: null });
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(port, '127.0.0.1', resolve));
  try {
    expect(await send(EMAIL)).toMatchObject({ failure: 'timeout', status: null });
  } finally {
    silent.close();
  }
});
