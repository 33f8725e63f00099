/**
 * Sends requests to the server. Never throws: the outcome of a request is a value.
 *
 *   accepted      200
 *   refused       this request: sending it again cannot help (400, 413, 415, 422)
 *   denied        every request: the key or the URL is wrong (401, 403, 404 and other answers)
 *   unavailable   nothing was stored, or nobody knows: 408, 429, 5xx, no answer
 */
import {
  type AgentOptions,
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Signal } from '../model/telemetry.ts';
import { DEDUPLICATE_HEADER } from '../otlp/deduplicate-header.ts';
import type { RelayedRequest } from './queue/queue-files.ts';

/** Longer than the server takes to commit or to give up a batch. */
const SEND_MS_MAX = 60_000;
/** The server's messages have 4 KiB at most. */
const ANSWER_BYTES_MAX = 64 * 1024;
const IDLE_CONNECTIONS_MAX = 4;

const REFUSED: readonly number[] = [400, 413, 415, 422];
const RETRYABLE: readonly number[] = [408, 429];
const ACCEPTED = 200;
const GONE = 410;

type Paths = Readonly<Record<Signal, string>>;
const OTLP_PATHS: Paths = { traces: '/v1/traces', metrics: '/v1/metrics', logs: '/v1/logs' };
/** Where Sluice's base host takes telemetry; it answers 410 at OTLP's own paths. */
const BASE_HOST_PATHS: Paths = {
  traces: '/platform/v1/ingest/otel',
  metrics: '/platform/v1/ingest/otel/metrics',
  logs: '/platform/v1/ingest/otel/logs',
};

export interface UpstreamAnswer {
  readonly status: number;
  /** the parsed body; null unless it is a JSON object */
  readonly body: Readonly<Record<string, unknown>> | null;
}

export type SendOutcome =
  | { readonly kind: 'accepted' | 'refused' | 'denied'; readonly answer: UpstreamAnswer }
  | {
      readonly kind: 'unavailable';
      /** a status or an error code, for the log */
      readonly reason: string;
      readonly retryAfterMs: number | null;
    };

export interface Upstream {
  readonly send: (request: RelayedRequest) => Promise<SendOutcome>;
  readonly close: () => void;
}

export interface UpstreamOptions {
  /** http or https, without a trailing slash */
  readonly url: string;
  /** the present key; called for every request; empty: none is sent */
  readonly key: () => string;
  /** the header that has the key alone; by default `Authorization: Bearer` */
  readonly keyHeader?: string;
  readonly userAgent: string;
}

const HTTP_DATE = /^[A-Z][a-z]{2}, /;

/** The wait of a Retry-After header, in seconds or as a date; null when it is neither. */
export function parseRetryAfter(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * 1000;
  const atMs = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}

async function readAnswer(response: IncomingMessage): Promise<UpstreamAnswer['body']> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  return isObject ? (body as Readonly<Record<string, unknown>>) : null;
}

async function toOutcome(response: IncomingMessage): Promise<SendOutcome> {
  const status = response.statusCode ?? 0;
  if (status >= 500 || RETRYABLE.includes(status)) {
    response.resume();
    const retryAfterMs = parseRetryAfter(response.headers['retry-after'], Date.now());
    return { kind: 'unavailable', reason: String(status), retryAfterMs };
  }
  // The status alone decides: an answer that is cut off, or is no JSON, changes nothing.
  const body = await readAnswer(response).catch(() => null);
  const answer = { status, body };
  if (status === ACCEPTED) return { kind: 'accepted', answer };
  return { kind: REFUSED.includes(status) ? 'refused' : 'denied', answer };
}

class TooSlow extends Error {
  readonly code = 'ETIMEDOUT';
}

function reasonOf(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : 'error';
}

export function createUpstream({ url, key, keyHeader, userAgent }: UpstreamOptions): Upstream {
  const keyHeaders = (): Record<string, string> => {
    const present = key();
    if (present === '') return {};
    if (keyHeader !== undefined) return { [keyHeader]: present };
    return { authorization: `Bearer ${present}` };
  };
  const isTls = url.startsWith('https:');
  const createAgent = (options: AgentOptions) =>
    isTls ? new HttpsAgent(options) : new HttpAgent(options);
  const kept = createAgent({ keepAlive: true, maxFreeSockets: IDLE_CONNECTIONS_MAX });
  /** Opens a connection per request: after a restart of the server every kept connection is stale. */
  const fresh = createAgent({ keepAlive: false });
  const request = isTls ? requestHttps : requestHttp;
  let paths = OTLP_PATHS;

  const sendOnce = (
    { signal, body, deduplicates }: RelayedRequest,
    agent = kept,
  ): Promise<SendOutcome> =>
    new Promise((resolve) => {
      const outgoing = request(`${url}${paths[signal]}`, {
        method: 'POST',
        agent,
        headers: {
          'content-type': 'application/json',
          'content-encoding': 'gzip',
          'content-length': body.length,
          'user-agent': userAgent,
          ...(deduplicates ? {} : { [DEDUPLICATE_HEADER]: 'off' }),
          ...keyHeaders(),
        },
      });
      const timer = setTimeout(() => outgoing.destroy(new TooSlow()), SEND_MS_MAX);
      outgoing.once('close', () => clearTimeout(timer));
      outgoing.once('response', (response) => resolve(toOutcome(response)));
      outgoing.on('error', (error) => {
        const isStale = outgoing.reusedSocket && reasonOf(error) === 'ECONNRESET';
        const reason = isStale ? 'stale connection' : reasonOf(error);
        resolve({ kind: 'unavailable', reason, retryAfterMs: null });
      });
      outgoing.end(body);
    });

  const send = async (sent: RelayedRequest): Promise<SendOutcome> => {
    let outcome = await sendOnce(sent);
    // The server closed an idle connection at the moment it was used again.
    if (outcome.kind === 'unavailable' && outcome.reason === 'stale connection') {
      outcome = await sendOnce(sent, fresh);
    }
    if (outcome.kind === 'denied' && outcome.answer.status === GONE && paths === OTLP_PATHS) {
      paths = BASE_HOST_PATHS;
      outcome = await sendOnce(sent);
    }
    return outcome;
  };
  const close = (): void => {
    kept.destroy();
    fresh.destroy();
  };
  return { send, close };
}
