/**
 * The listeners: which port and host serves which routes, and how they stop.
 *
 *   base    everything but the bare OTLP paths, or these as well
 *   observe the bare OTLP paths and the probes
 *   admin   metrics and the probes, on loopback
 */
import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { OperatorError, SluiceError } from '../../errors.ts';
import type { CallerCheck } from '../../local-host.ts';
import type { Events } from '../../observe/events.ts';
import { uWS } from '../uws.ts';
import { answeredError, problem } from './answers.ts';
import { BodyMemory } from './body-memory.ts';
import { type Answer, Exchange, type HeaderList } from './exchange.ts';
import { createRouter, type Match, type Route } from './router.ts';
import { UnsentAnswers } from './unsent-answers.ts';

/** How long stopping waits for running requests. */
const DRAIN_MS_MAX = 20_000;

export interface ListenAddress {
  readonly setting: string;
  readonly host: string;
  /** 0 takes any free one */
  readonly port: number;
}

type OnUnrouted = (exchange: Exchange, error: SluiceError) => void;

type AnswerUnknown = (exchange: Exchange) => Answer | null;

type AnswerBrowser = (exchange: Exchange, error: SluiceError, headers?: HeaderList) => boolean;

export interface ListenerSettings extends ListenAddress {
  /** routes by Host header; the entry under '' serves every other host */
  readonly sites: ReadonlyMap<string, readonly Route[]>;
  /** whether clients use https, through a proxy that terminates TLS; false by default */
  readonly isBehindTls?: boolean;
  /** number of our proxies in front of this server; 0 by default */
  readonly trustedHops?: number;
  /** refuses requests by Host and Origin; absent: their values are not checked */
  readonly checkCaller?: CallerCheck;
  /** called before a request that no route takes is answered */
  readonly onUnrouted?: OnUnrouted;
  /** answers a request that no route takes, where more can be said than 404; null elsewhere */
  readonly answerUnknown?: AnswerUnknown;
  /** answers a browser with a page where no route does; false for a program */
  readonly answerBrowser?: AnswerBrowser;
}

export interface ListenerMemory {
  readonly unsent: UnsentAnswers;
  readonly memory: BodyMemory;
}

export function createListenerMemory(): ListenerMemory {
  return { unsent: new UnsentAnswers(), memory: new BodyMemory() };
}

export interface Listener {
  readonly port: number;
  /** Answers from now on close their connections; new ones are still taken. */
  readonly retire: () => void;
  /** Takes no new connections either. May be called again. */
  readonly drain: () => void;
  /** Waits until no request is running, or for `DRAIN_MS_MAX`; then closes every connection. */
  readonly close: () => Promise<void>;
}

/** Browsers must not guess a type other than Content-Type. */
const NO_SNIFFING = ['x-content-type-options', 'nosniff'] as const;
/**
 * RFC 6797: a browser that has used https once uses nothing else for a year. Without
 * `includeSubDomains`, because subdomains may belong to other servers.
 */
const HTTPS_ONLY = ['strict-transport-security', 'max-age=31536000'] as const;

type Resolve = (host: string, method: string, path: string) => Match;

function createSites(sites: ListenerSettings['sites']): Resolve {
  const routers = new Map([...sites].map(([host, routes]) => [host, createRouter(routes)]));
  return (host, method, path) => {
    const router = routers.get(host.toLowerCase()) ?? routers.get('');
    return router === undefined ? { kind: 'unknown' } : router(method, path);
  };
}

interface Dispatching {
  readonly resolve: Resolve;
  readonly checkCaller: CallerCheck;
  readonly onUnrouted: OnUnrouted;
  readonly answerUnknown: AnswerUnknown;
  readonly answerBrowser: AnswerBrowser;
  readonly events: Pick<Events, 'requestFailed' | 'requestUnavailable'>;
}

function dispatch(exchange: Exchange, dispatching: Dispatching): void {
  const { resolve, checkCaller, onUnrouted, answerUnknown, answerBrowser, events } = dispatching;
  const match = resolve(exchange.host, exchange.method, exchange.path);
  if (exchange.fault !== null) {
    const error = new SluiceError('bad_request', exchange.fault);
    onUnrouted(exchange, error);
    const refusal = match.kind === 'unknown' ? null : match.refusal;
    exchange.answer(refusal?.(error, [], exchange) ?? problem(error));
    return;
  }
  const refused = checkCaller(exchange.host, exchange.origin);
  if (refused !== null) {
    exchange.answer(problem(refused));
    return;
  }
  if (match.kind === 'unknown') {
    const error = new SluiceError('not_found', 'Nothing is served at this path.');
    onUnrouted(exchange, error);
    const answer = answerUnknown(exchange);
    if (answer !== null) exchange.answer(answer);
    else if (!answerBrowser(exchange, error)) exchange.answer(problem(error));
    return;
  }
  if (match.kind === 'wrong_method') {
    const error = new SluiceError('method_not_allowed', `Use ${match.allow} for this path.`);
    onUnrouted(exchange, error);
    const headers = [['allow', match.allow]] as const;
    if (match.refusal === null && answerBrowser(exchange, error, headers)) return;
    exchange.answer(match.refusal?.(error, headers, exchange) ?? problem(error, {}, headers));
    return;
  }
  exchange.route = match.route;
  const fail = (thrown: unknown): void => {
    exchange.answer(problem(answeredError(thrown, 'dispatch', exchange, events)));
  };
  try {
    match.handler(exchange, match.parameters)?.catch(fail);
  } catch (thrown) {
    fail(thrown);
  }
}

/** The form of `listen` with host and options, which the package's types lack. */
type ListenWithOptions = (
  host: string,
  port: number,
  options: number,
  callback: (socket: us_listen_socket | false) => void,
) => TemplatedApp;

/**
 * An option of uSockets; in the types it is an enum that does not exist at run time. By default a port
 * is shared (SO_REUSEPORT) with any other process of the same user: a second server would silently get
 * half of the requests.
 */
const EXCLUSIVE_PORT = 1;

function listen(app: TemplatedApp, { host, port, setting }: ListenAddress) {
  return new Promise<us_listen_socket>((resolve, reject) => {
    const listenWithOptions = app.listen.bind(app) as unknown as ListenWithOptions;
    listenWithOptions(host, port, EXCLUSIVE_PORT, (socket) => {
      if (socket) resolve(socket);
      else {
        reject(
          new OperatorError(
            `Port ${port} on ${host} is taken or not allowed: set ${setting} to a free port.`,
          ),
        );
      }
    });
  });
}

/** @throws {OperatorError} when the port is taken, naming the setting to change */
export async function openListener(
  settings: ListenerSettings,
  events: Pick<Events, 'requestFailed' | 'requestUnavailable'>,
  { unsent, memory }: ListenerMemory = createListenerMemory(),
): Promise<Listener> {
  const app = uWS.App();
  const resolve = createSites(settings.sites);
  let isRetiring = false;
  let isListening = true;
  let isClosed = false;
  let open = 0;
  let onIdle: (() => void) | null = null;
  const onClosed = (): void => {
    open -= 1;
    if (open === 0) onIdle?.();
  };
  const { isBehindTls = false, trustedHops = 0 } = settings;
  const {
    checkCaller = () => null,
    onUnrouted = () => {},
    answerUnknown = () => null,
    answerBrowser = () => false,
  } = settings;
  const dispatching = {
    resolve,
    checkCaller,
    onUnrouted,
    answerUnknown,
    answerBrowser,
    events,
  };
  const headers = isBehindTls ? [NO_SNIFFING, HTTPS_ONLY] : [NO_SNIFFING];
  const shared = { isDraining: () => isRetiring, headers, unsent, memory, trustedHops };
  app.any('/*', (response, request) => {
    open += 1;
    dispatch(new Exchange(response, request, shared, onClosed), dispatching);
  });
  const socket = await listen(app, settings).catch((error: unknown) => {
    app.close();
    throw error;
  });
  return {
    port: uWS.us_socket_local_port(socket),
    retire: () => {
      isRetiring = true;
    },
    drain: () => {
      isRetiring = true;
      if (!isListening) return;
      isListening = false;
      uWS.us_listen_socket_close(socket);
    },
    close: async () => {
      if (open > 0) {
        await new Promise<void>((done) => {
          const timer = setTimeout(done, DRAIN_MS_MAX);
          onIdle = () => {
            clearTimeout(timer);
            done();
          };
        });
      }
      if (isClosed) return;
      isClosed = true;
      app.close();
    },
  };
}
