/**
 * Sends one HTTP request to a destination. Its name is resolved once, its addresses are checked, and the
 * connection goes to one of exactly these: a second look-up could give others (DNS rebinding).
 * Redirects are not followed, and nothing of the answer is read but status and Retry-After.
 */
import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { isIPv6 } from 'node:net';

import type { DeliveryFailure, SendResult } from '../model/alerts.ts';
import { withinLimit } from '../time-limit.ts';
import { type AddressPolicy, addressOf } from './addresses.ts';

/** From the look-up of the name to the answer's head; below a lease (outbox.ts). */
const SEND_TIMEOUT_MS = 10_000;
const RETRY_AFTER_DIGITS = /^\d{1,9}$/;
/** The form of dates that RFC 9110 has senders write. */
const HTTP_DATE = /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/;
const STATUS_GONE = 410;

export type Resolver = (name: string) => Promise<readonly string[]>;

export const systemResolver: Resolver = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address);

/** A failure to send, by its kind: whatever the reason's text is, it goes nowhere. */
class Undelivered extends Error {
  readonly failure: DeliveryFailure;
  constructor(failure: DeliveryFailure) {
    super(failure);
    this.name = 'Undelivered';
    this.failure = failure;
  }
}

const TLS_CODE =
  /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|EPROTO)/;

function failureOf(error: unknown): DeliveryFailure {
  if (error instanceof Undelivered) return error.failure;
  const code = error instanceof Error ? String(Reflect.get(error, 'code')) : '';
  if (TLS_CODE.test(code)) return 'tls';
  return 'connection';
}

/** The addresses to connect to. All of a name must be allowed. */
async function addressesOf(
  url: URL,
  policy: AddressPolicy,
  resolve: Resolver,
): Promise<readonly string[]> {
  const literal = addressOf(url);
  let addresses: readonly string[];
  try {
    addresses = literal === null ? await resolve(url.hostname) : [literal];
  } catch {
    throw new Undelivered('dns');
  }
  if (addresses.length === 0) throw new Undelivered('dns');
  const kinds = addresses.map((address) => policy.kindOf(address));
  // In clear text only inside of the networks that the operator has listed.
  const isAllowed = (kind: string) =>
    kind === 'listed' || (kind === 'public' && url.protocol === 'https:');
  if (!kinds.every(isAllowed)) throw new Undelivered('address_refused');
  return addresses;
}

/** Returns the headers that identify, date and sign a message (Standard Webhooks 1.0), one signature a key. */
export function signatureHeaders(
  secrets: readonly Buffer[],
  id: string,
  seconds: number,
  body: string,
): Record<string, string> {
  const sign = (secret: Buffer): string =>
    `v1,${createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64')}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map(sign).join(' '),
  };
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Sends to the first of these addresses that can be reached; Host and the TLS server's name are the URL's. */
function exchange(
  url: URL,
  addresses: readonly string[],
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<Answer> {
  const { request } = url.protocol === 'https:' ? https : http;
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        // A connection for this message alone: none that another look-up has opened.
        agent: false,
        signal,
        lookup: (_name, options, answer) => {
          if (options.all === true) answer(null, all);
          else answer(null, all[0]?.address ?? '', all[0]?.family);
        },
      },
      (response) => {
        resolve({
          status: response.statusCode ?? 0,
          retryAfter: response.headers['retry-after'],
        });
        response.destroy();
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

function secondsOf(retryAfter: string | undefined, nowMs: number): number | null {
  if (retryAfter === undefined) return null;
  if (RETRY_AFTER_DIGITS.test(retryAfter)) return Number(retryAfter);
  const seconds = Math.ceil((Date.parse(retryAfter) - nowMs) / 1000);
  return HTTP_DATE.test(retryAfter) && seconds > 0 ? seconds : null;
}

function resultOf({ status, retryAfter }: Answer, nowMs: number): SendResult {
  const isDelivered = status >= 200 && status < 300;
  const isRedirect = status >= 300 && status < 400;
  return {
    failure: isDelivered ? null : isRedirect ? 'redirect' : 'status',
    status,
    retryAfterSeconds: secondsOf(retryAfter, nowMs),
    isGone: status === STATUS_GONE,
  };
}

export interface WebhookParts {
  readonly policy: AddressPolicy;
  readonly resolve: Resolver;
  readonly nowMs: () => number;
  readonly timeoutMs?: number;
}

/** Posts a body. Never rejects: whatever happens is a result. */
export async function postWebhook(
  target: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  { policy, resolve, nowMs, timeoutMs = SEND_TIMEOUT_MS }: WebhookParts,
): Promise<SendResult> {
  const abort = new AbortController();
  const post = async (): Promise<Answer> => {
    const url = new URL(target);
    const addresses = await addressesOf(url, policy, resolve);
    return await exchange(url, addresses, headers, body, abort.signal);
  };
  try {
    const answer = await withinLimit(post(), timeoutMs, () => new Undelivered('timeout'));
    return resultOf(answer, nowMs());
  } catch (error) {
    const failure = failureOf(error);
    return { failure, status: null, retryAfterSeconds: null, isGone: false };
  } finally {
    abort.abort();
  }
}
