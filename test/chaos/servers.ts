/** Sluice's processes under test: each on ports of its own, before PostgreSQL by a proxy of its own. */
import { fileURLToPath } from 'node:url';
import { startServer, type TestServer } from '../support/server.ts';
import { findFreePort } from '../support/sockets.ts';
import type { Cluster } from './cluster.ts';
import type { Target } from './load.ts';
import { type DatabaseProxy, startProxy } from './proxy.ts';

const SHIFTED_CLOCK = fileURLToPath(new URL('./shifted-clock.mjs', import.meta.url));
const STOPPED_CLEANLY = 0;

export interface Sluice extends Target {
  readonly proxy: DatabaseProxy;
  /** of the first workspace, when this process was the first to start */
  readonly firstAgentKey: () => string | null;
  /** @param clockShiftMs how far its clock is ahead of PostgreSQL's */
  readonly start: (clockShiftMs?: number) => Promise<void>;
  readonly kill: () => Promise<void>;
  /** @throws when it does not end with exit code 0 */
  readonly stop: () => Promise<void>;
  /** @returns lets it continue */
  readonly freeze: () => () => void;
  /** what it has logged since it was started */
  readonly log: () => string;
  readonly close: () => Promise<void>;
}

/**
 * Makes a server, which `start` starts.
 *
 * @param settings further settings, by the names of docs/configuration.md
 */
export async function makeServer(
  cluster: Cluster,
  settings: Readonly<Record<string, string>>,
): Promise<Sluice> {
  const proxy = await startProxy(cluster.port());
  const ports = { PORT: await findFreePort(), OBSERVE_PORT: await findFreePort() };
  let server: TestServer | null = null;
  let isAway = true;
  let awayUntil = 0;

  const leave = (): TestServer => {
    if (server === null) throw new Error('the server does not run');
    isAway = true;
    return server;
  };
  const comeBack = (): void => {
    isAway = false;
    awayUntil = performance.now();
  };
  return {
    proxy,
    url: `http://127.0.0.1:${ports.OBSERVE_PORT}`,
    wasAwaySince: (at) => isAway || awayUntil >= at,
    firstAgentKey: () => server?.firstKeys?.agent ?? null,
    start: async (clockShiftMs = 0) => {
      const shifted =
        clockShiftMs === 0
          ? {}
          : { NODE_OPTIONS: `--import=${SHIFTED_CLOCK}`, CLOCK_SHIFT_MS: String(clockShiftMs) };
      server = await startServer({
        DATABASE_URL: cluster.url(proxy.port),
        PORT: String(ports.PORT),
        OBSERVE_PORT: String(ports.OBSERVE_PORT),
        LOG_LEVEL: 'warn',
        ...shifted,
        ...settings,
      });
      comeBack();
    },
    kill: async () => {
      await leave().kill();
      server = null;
    },
    stop: async () => {
      const { code, signal } = await leave().stop();
      server = null;
      if (code !== STOPPED_CLEANLY) throw new Error(`a stop ended with ${code ?? signal}`);
    },
    freeze: () => {
      const { signal } = leave();
      signal('SIGSTOP');
      return () => {
        signal('SIGCONT');
        comeBack();
      };
    },
    log: () => server?.stderr() ?? '',
    close: async () => {
      await server?.kill();
      await proxy.close();
    },
  };
}
