/**
 * The HTTP server of the relay: the three OTLP paths, `/health` and `/metrics`. A client is answered in
 * the format in which it sent.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { ERRORS, SluiceError } from '../errors.ts';
import type { CallerCheck } from '../local-host.ts';
import type { Signal } from '../model/telemetry.ts';
import type { MetricsText } from '../observe/events.ts';
import type { RelayEvents, RelayState } from '../observe/relay-events.ts';
import { DEDUPLICATE_HEADER, readDeduplicate } from '../otlp/deduplicate-header.ts';
import { encodeStatus } from '../otlp/responses.ts';
import type { BodyFormat } from './decode-body.ts';
import { type Delivery, type Forwarder, rejectedRecords } from './forwarder.ts';
import { BodyReader, bodyFormat } from './request-body.ts';
import type { UpstreamAnswer } from './upstream.ts';

const REQUEST_MS_MAX = 30_000;
const CONNECTIONS_MAX = 512;
/** Longer than exporters pause between two exports by default. */
const KEEP_ALIVE_MS = 65_000;

const SIGNALS: ReadonlyMap<string, Signal> = new Map([
  ['/v1/traces', 'traces'],
  ['/v1/metrics', 'metrics'],
  ['/v1/logs', 'logs'],
]);
const TYPES: Readonly<Record<BodyFormat, string>> = {
  json: 'application/json',
  protobuf: 'application/x-protobuf',
};
/** google.rpc.Code UNKNOWN, for answers of another server than Sluice. */
const UNKNOWN = 2;

export interface RelayServerOptions {
  readonly forwarder: Forwarder;
  readonly metrics: MetricsText;
  readonly state: () => RelayState;
  readonly events: RelayEvents;
  readonly checkCaller: CallerCheck;
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

function successAnswer(answer: UpstreamAnswer | null, format: BodyFormat): Answer {
  const headers = { 'content-type': TYPES[format] };
  if (format === 'json') return { status: 200, headers, body: JSON.stringify(answer?.body ?? {}) };
  const partial: unknown = answer?.body?.partialSuccess;
  if (answer === null || typeof partial !== 'object' || partial === null) {
    return { status: 200, headers, body: encodeProtobufSuccess(null) };
  }
  const message: unknown = Reflect.get(partial, 'errorMessage');
  const body = encodeProtobufSuccess({
    rejected: rejectedRecords(answer),
    message: typeof message === 'string' ? message : '',
  });
  return { status: 200, headers, body };
}

/** The server's refusal, in its own words where it is a Sluice. */
function refusalAnswer({ status, body }: UpstreamAnswer, format: BodyFormat): Answer {
  const code = typeof body?.code === 'number' ? body.code : UNKNOWN;
  const said = typeof body?.message === 'string' ? body.message : null;
  const message = said ?? `The server of this relay answered ${status}: check SLUICE_URL.`;
  // A redirect would lead the client around the relay.
  const passed = status < 400 ? 502 : status;
  return {
    status: passed,
    headers: {
      'content-type': TYPES[format],
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    },
    body:
      format === 'json'
        ? JSON.stringify(said === null ? { code, message } : body)
        : encodeProtobufStatus(code, message),
  };
}

function errorAnswer(error: SluiceError, format: BodyFormat): Answer {
  const { status, rpcCode } = ERRORS[error.code];
  const { retryAfterSeconds } = error;
  return {
    status,
    headers: {
      'content-type': TYPES[format],
      ...(retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) }),
    },
    body:
      format === 'json'
        ? encodeStatus(error.code, error.message)
        : encodeProtobufStatus(rpcCode, error.message),
  };
}

function deliveryAnswer(delivery: Delivery, format: BodyFormat): Answer {
  if (delivery.kind === 'queued') return successAnswer(null, format);
  if (delivery.kind === 'passed-on') {
    const { answer } = delivery;
    return answer.status === 200 ? successAnswer(answer, format) : refusalAnswer(answer, format);
  }
  const retryAfterSeconds = Math.ceil(delivery.retryAfterMs / 1000);
  const error = new SluiceError('overloaded', 'The queue of the relay takes no more requests.', {
    retryAfterSeconds,
  });
  return errorAnswer(error, format);
}

function healthAnswer({ server, queueBytes, queueBytesMax, oldestSeconds }: RelayState): Answer {
  const body = JSON.stringify({
    status: 'ok',
    server,
    queue_bytes: queueBytes,
    queue_bytes_max: queueBytesMax,
    queue_oldest_seconds: Math.round(oldestSeconds),
  });
  return { status: 200, headers: { 'content-type': TYPES.json }, body };
}

/** Returns the format for refusing a request before its body is read. */
function refusalFormat({ headers }: IncomingMessage): BodyFormat {
  return headers['content-type']?.startsWith(TYPES.protobuf) ? 'protobuf' : 'json';
}

function write(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
}

/** Creates the server; it does not listen yet. */
export function createRelayServer(options: RelayServerOptions): Server {
  const { forwarder, metrics, state, events, checkCaller } = options;
  const bodies = new BodyReader();

  const take = async (incoming: IncomingMessage, signal: Signal): Promise<Answer> => {
    let format: BodyFormat = 'json';
    try {
      format = bodyFormat(incoming.headers['content-type']);
      const deduplicates = readDeduplicate(incoming.headers[DEDUPLICATE_HEADER]?.toString());
      const body = await bodies.read(incoming, signal, format);
      return deliveryAnswer(await forwarder.deliver({ signal, body, deduplicates }), format);
    } catch (error) {
      if (error instanceof SluiceError) return errorAnswer(error, format);
      throw error;
    }
  };

  const answerRequest = async (incoming: IncomingMessage): Promise<Answer> => {
    const path = incoming.url?.split('?', 1)[0] ?? '';
    const signal = SIGNALS.get(path);
    const { host = '', origin = '' } = incoming.headers;
    const refused = checkCaller(host, origin);
    if (refused !== null) {
      const answer = errorAnswer(refused, refusalFormat(incoming));
      if (signal !== undefined) events.requestAnswered(signal, answer.status);
      return answer;
    }
    const allowed = signal !== undefined ? 'POST' : 'GET';
    if (signal === undefined && path !== '/health' && path !== '/metrics') {
      return errorAnswer(new SluiceError('not_found', `There is nothing at this path.`), 'json');
    }
    if (incoming.method !== allowed) {
      const error = new SluiceError('method_not_allowed', `Use ${allowed}.`);
      return { ...errorAnswer(error, 'json'), headers: { allow: allowed } };
    }
    if (signal === undefined) {
      if (path === '/health') return healthAnswer(state());
      const headers = { 'content-type': metrics.contentType };
      return { status: 200, headers, body: await metrics.metrics() };
    }
    const answer = await take(incoming, signal);
    events.requestAnswered(signal, answer.status);
    return answer;
  };

  const server = createServer((incoming, response) => {
    answerRequest(incoming)
      .then((answer) => {
        // At a stop, a connection that stays open would be waited for.
        if (!server.listening) response.shouldKeepAlive = false;
        write(response, answer);
      })
      .catch((error: unknown) => {
        // A client that has left gets no answer.
        if (!incoming.complete) return void response.destroy();
        events.requestFailed(error);
        write(response, errorAnswer(new SluiceError('overloaded', 'Try again.'), 'json'));
      });
  });
  server.once('close', () => void bodies.close());
  server.requestTimeout = REQUEST_MS_MAX;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.maxConnections = CONNECTIONS_MAX;
  return server;
}

interface PartialSuccess {
  readonly rejected: bigint;
  readonly message: string;
}

/** The same fields for all signals: `partial_success` (1) with the count (1) and a message (2). */
function encodeProtobufSuccess(partial: PartialSuccess | null): Uint8Array {
  const writer = new BinaryWriter();
  if (partial === null) return writer.finish();
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.Varint).int64(partial.rejected);
  writer.tag(2, WireType.LengthDelimited).string(partial.message);
  return writer.join().finish();
}

/** @param code google.rpc.Code */
function encodeProtobufStatus(code: number, message: string): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.Varint).int32(code);
  return writer.tag(2, WireType.LengthDelimited).string(message).finish();
}
