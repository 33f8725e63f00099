/**
 * The listeners: which port and host serves which routes, and how they stop.
 *
 *   base    everything but the bare OTLP paths (or those too)
 *   observe the bare OTLP paths and the probes
 *   admin   metrics and the probes, on loopback
 */
import uWS, { type TemplatedApp, type us_listen_socket } from 'uWebSockets.js';

import { OperatorError, SluiceError } from '../errors.ts';
import type { Events } from '../observe/events.ts';
import { Exchange } from './exchange.ts';
import { problem, toSluiceError } from './problem.ts';
import { createRouter, type Match, type Route } from './router.ts';

/** How long stopping waits for requests under way. */
const DRAIN_MS_MAX = 20_000;

export interface ListenerSettings {
  /** the setting that names the port, for messages */
  readonly setting: string;
  readonly host: string;
  /** 0 takes any free one */
  readonly port: number;
  /** routes by Host header; the entry under '' serves every other host */
  readonly sites: ReadonlyMap<string, readonly Route[]>;
}

export interface Listener {
  readonly port: number;
  /** Takes no new connections; answers from now on close theirs. */
  readonly drain: () => void;
  /** Resolves when no request is under way, or after a while; then closes every connection. */
  readonly close: () => Promise<void>;
}

type Resolve = (host: string, method: string, path: string) => Match;

function createSites(sites: ListenerSettings['sites']): Resolve {
  const routers = new Map([...sites].map(([host, routes]) => [host, createRouter(routes)]));
  return (host, method, path) => {
    const router = routers.get(host.toLowerCase()) ?? routers.get('');
    return router === undefined ? { kind: 'unknown' } : router(method, path);
  };
}

function dispatch(exchange: Exchange, resolve: Resolve, events: Pick<Events, 'requestFailed'>) {
  const match = resolve(exchange.host, exchange.method, exchange.path);
  if (match.kind === 'unknown') {
    exchange.answer(problem(new SluiceError('not_found', 'Nothing is served at this path.')));
    return;
  }
  if (match.kind === 'wrong_method') {
    const error = new SluiceError('method_not_allowed', `This path takes ${match.allow}.`);
    const headers = [['allow', match.allow]] as const;
    exchange.answer(match.refusal?.(error, headers) ?? problem(error, {}, headers));
    return;
  }
  const fail = (thrown: unknown): void => {
    events.requestFailed('dispatch', thrown);
    exchange.answer(problem(toSluiceError(thrown)));
  };
  try {
    match.handler(exchange, match.parameters)?.catch(fail);
  } catch (thrown) {
    fail(thrown);
  }
}

/** `listen` as the binary has it; the package's types lack the form with host and options. */
type ListenExclusively = (
  host: string,
  port: number,
  options: number,
  callback: (socket: us_listen_socket | false) => void,
) => TemplatedApp;

/**
 * uSockets' LIBUS_LISTEN_EXCLUSIVE_PORT; in the types it is an enum that does not exist at run
 * time.
 */
const EXCLUSIVE_PORT = 1;

function listen(app: TemplatedApp, { host, port, setting }: ListenerSettings) {
  return new Promise<us_listen_socket>((resolve, reject) => {
    const listenExclusively = app.listen.bind(app) as unknown as ListenExclusively;
    // Exclusive: by default a second process would share the port in silence and take half the
    // requests.
    listenExclusively(host, port, EXCLUSIVE_PORT, (socket) => {
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

/**
 * Opens one listener.
 *
 * @throws {OperatorError} when the port is taken, naming the setting to change
 */
export async function openListener(
  settings: ListenerSettings,
  events: Pick<Events, 'requestFailed'>,
): Promise<Listener> {
  const app = uWS.App();
  const resolve = createSites(settings.sites);
  let draining = false;
  let open = 0;
  let onIdle: (() => void) | null = null;
  const onClosed = (): void => {
    open -= 1;
    if (open === 0) onIdle?.();
  };
  app.any('/*', (response, request) => {
    open += 1;
    dispatch(new Exchange(response, request, () => draining, onClosed), resolve, events);
  });
  const socket = await listen(app, settings).catch((error: unknown) => {
    app.close();
    throw error;
  });
  return {
    port: uWS.us_socket_local_port(socket),
    drain: () => {
      draining = true;
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
      app.close();
    },
  };
}
