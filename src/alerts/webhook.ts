/**
 * Sends one HTTP request to a destination. Its name is resolved once, the address is checked, and the
 * connection goes to exactly that address: a second look-up could give another one (DNS rebinding).
 * Redirects are not followed, and nothing of the answer is read but status and Retry-After.
 */
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
const STATUS_GONE = 410;

/** All addresses of a name. */
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

/** The address to connect to. All of a name must be allowed: it says which one only for now. */
async function addressFor(url: URL, policy: AddressPolicy, resolve: Resolver): Promise<string> {
  const literal = addressOf(url);
  let addresses: readonly string[];
  try {
    addresses = literal === null ? await resolve(url.hostname) : [literal];
  } catch {
    throw new Undelivered('dns');
  }
  const [first] = addresses;
  if (first === undefined) throw new Undelivered('dns');
  const kinds = addresses.map((address) => policy.kindOf(address));
  // In clear text only inside of the networks that the operator has listed.
  const isAllowed = (kind: string) =>
    kind === 'listed' || (kind === 'public' && url.protocol === 'https:');
  if (!kinds.every(isAllowed)) throw new Undelivered('address_refused');
  return first;
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Sends to that address; Host and the TLS server's name are the URL's. */
function exchange(
  url: URL,
  address: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<Answer> {
  const { request } = url.protocol === 'https:' ? https : http;
  const family = isIPv6(address) ? 6 : 4;
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
          if (options.all === true) answer(null, [{ address, family }]);
          else answer(null, address, family);
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
    sent.once('error', reject);
    sent.end(body);
  });
}

function resultOf({ status, retryAfter }: Answer): SendResult {
  const isDelivered = status >= 200 && status < 300;
  const isRedirect = status >= 300 && status < 400;
  return {
    failure: isDelivered ? null : isRedirect ? 'redirect' : 'status',
    status,
    retryAfterSeconds:
      retryAfter !== undefined && RETRY_AFTER_DIGITS.test(retryAfter) ? Number(retryAfter) : null,
    isGone: status === STATUS_GONE,
  };
}

export interface WebhookParts {
  readonly policy: AddressPolicy;
  readonly resolve: Resolver;
  readonly timeoutMs?: number;
}

/** Posts a body. Never rejects: whatever happens is a result. */
export async function postWebhook(
  target: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  { policy, resolve, timeoutMs = SEND_TIMEOUT_MS }: WebhookParts,
): Promise<SendResult> {
  const abort = new AbortController();
  const post = async (): Promise<Answer> => {
    const url = new URL(target);
    const address = await addressFor(url, policy, resolve);
    return await exchange(url, address, headers, body, abort.signal);
  };
  try {
    return resultOf(await withinLimit(post(), timeoutMs, () => new Undelivered('timeout')));
  } catch (error) {
    const failure = failureOf(error);
    return { failure, status: null, retryAfterSeconds: null, isGone: false };
  } finally {
    abort.abort();
  }
}
