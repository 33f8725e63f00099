/**
 * A relay: its queue, its connection to the server and its own HTTP server, opened and closed in order.
 * The caller holds the lock of the queue folder.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { OperatorError } from '../errors.ts';
import { createCallerCheck } from '../local-host.ts';
import { createRelayObserver, type RelayEvents, type RelayState } from '../observe/relay-events.ts';
import { Forwarder } from './forwarder.ts';
import { DiskQueue } from './queue/disk-queue.ts';
import { createQueueAge } from './queue/queue-age.ts';
import { createRelayServer } from './relay-server.ts';
import { createUpstream, type SendOutcome } from './upstream.ts';

/** Requests in flight at a stop may still end; aborted, they would be sent a second time. */
const STOP_MS_MAX = 5000;

export interface RelaySettings {
  readonly host: string;
  /** 0 takes any free port */
  readonly port: number;
  /** names that requests may use, in addition to names of this machine; see `createCallerCheck` */
  readonly allowedHosts: readonly string[];
  /** http or https, without a trailing slash */
  readonly url: string;
  readonly readKey: () => string;
  /** result of `openQueueFolder` */
  readonly queueFolder: string;
  readonly queueBytesMax: number;
  readonly logLevel: string;
  readonly version: string;
}

export interface OpenRelay {
  readonly url: string;
  readonly queueBytes: () => number;
  readonly events: RelayEvents;
  /** Takes no more requests and leaves the queue on the disk. */
  readonly close: () => Promise<void>;
}

/** A key that can be read again when the server refuses it. */
function renewableKey(readKey: () => string): { key: () => string; renew: () => boolean } {
  let key = readKey();
  const renew = (): boolean => {
    const before = key;
    try {
      key = readKey();
    } catch {
      // A file that is being replaced.
    }
    return key !== before;
  };
  return { key: () => key, renew };
}

/** @throws {OperatorError} when the address is in use */
export async function openRelay(settings: RelaySettings): Promise<OpenRelay> {
  const { host, port, url, queueFolder, queueBytesMax, version } = settings;
  const { key, renew } = renewableKey(settings.readKey);
  const age = createQueueAge();
  const state = (): RelayState => {
    const oldestAtMs = queue.oldestAtMs;
    return {
      queueBytes: queue.bytes,
      queueBytesMax,
      oldestSeconds: oldestAtMs === null ? 0 : age.ageMs(oldestAtMs) / 1000,
      server: forwarder.server,
    };
  };
  const { events, registry } = createRelayObserver(settings.logLevel, state);
  const queue = new DiskQueue<Promise<SendOutcome>>(queueFolder, queueBytesMax, events);
  const upstream = createUpstream({ url, key, userAgent: `sluice-relay/${version}` });
  const forwarder = new Forwarder({ queue, age, upstream, events, renewKey: renew });
  const checkCaller = createCallerCheck({
    address: host,
    allowedHosts: settings.allowedHosts,
    setting: '--allow-host',
  });
  const server = createRelayServer({ forwarder, metrics: registry, state, events, checkCaller });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    await queue.close();
    const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : null;
    if (code !== 'EADDRINUSE') throw cause;
    throw new OperatorError(
      `${host}:${port} is in use; a Sluice server on this machine uses 4318 too. Choose another ` +
        'address with --listen, such as 127.0.0.1:4319.',
      { cause },
    );
  }
  forwarder.start();
  const close = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    forwarder.stop();
    server.closeIdleConnections();
    const timer = setTimeout(() => {
      server.closeAllConnections();
      upstream.close();
    }, STOP_MS_MAX);
    await closed;
    await forwarder.idle();
    clearTimeout(timer);
    upstream.close();
    await queue.close();
  };
  const { port: taken } = server.address() as AddressInfo;
  const shown = host.includes(':') ? `[${host}]` : host;
  return { url: `http://${shown}:${taken}`, queueBytes: () => queue.bytes, events, close };
}
