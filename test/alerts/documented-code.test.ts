/** The code of docs/alerts.md that verifies a signature, run as it is printed. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

import { signatureHeaders } from '../../src/alerts/webhook.ts';

type Verify = (
  headers: Record<string, string>,
  body: Buffer,
  secret: string,
  nowSeconds?: number,
) => boolean;

const PAGE = readFileSync(new URL('../../docs/alerts.md', import.meta.url), 'utf8');
const KEY = Buffer.alloc(32, 5);
const SECRET = `whsec_${KEY.toString('base64')}`;
const BODY = '{"type":"alert.test","ü":1}';
const NOW = 1_800_000_000;

test('takes what is signed, and nothing else', async () => {
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(PAGE) ?? [];
  const module = `data:text/javascript,${encodeURIComponent(code)}`;
  const { isFromSluice }: { isFromSluice: Verify } = await import(/* @vite-ignore */ module);
  const headers = signatureHeaders([KEY], 'finding_1', NOW, BODY);
  const body = Buffer.from(BODY);
  expect(isFromSluice(headers, body, SECRET, NOW + 299)).toBe(true);
  expect(isFromSluice(headers, body, SECRET, NOW + 301)).toBe(false);
  expect(isFromSluice(headers, body, SECRET)).toBe(Math.abs(Date.now() / 1000 - NOW) < 300);
  expect(isFromSluice(headers, Buffer.from(`${BODY} `), SECRET, NOW)).toBe(false);
  expect(isFromSluice({ ...headers, 'webhook-id': 'finding_2' }, body, SECRET, NOW)).toBe(false);
  const wrong = `whsec_${Buffer.alloc(32, 6).toString('base64')}`;
  expect(isFromSluice(headers, body, wrong, NOW)).toBe(false);
  const signature = headers['webhook-signature'] ?? '';
  const rotated = { ...headers, 'webhook-signature': `v1,AAAA ${signature}` };
  expect(isFromSluice(rotated, body, SECRET, NOW)).toBe(true);
  expect(isFromSluice({}, body, SECRET, NOW)).toBe(false);
});
