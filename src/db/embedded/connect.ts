/**
 * The embedded PostgreSQL server of a data folder: created, started or adopted, and stopped.
 *
 * One process owns the server, and stops it when it ends. A server whose owner has died is adopted with its
 * ownership. While a server of Sluice owns it, commands use it; commands that start it for themselves take turns.
 * Handles no signals: the caller decides when to stop.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../../errors.ts';
import { addressText, type DatabaseUrls } from './address.ts';
import { ensureCluster } from './cluster.ts';
import { unusableFolder } from './folder.ts';
import {
  existingHomes,
  type HeldInstallation,
  type Installation,
  prepareInstallation,
} from './installation.ts';
import { launchServer } from './launch.ts';
import { serverLogTail } from './log.ts';
import { claimOwnership, type Ownership, ownerServes } from './owner.ts';
import {
  findServer,
  logIn,
  POLL_MS,
  type Server,
  START_TIMEOUT_MS,
  settledServer,
  stopServer,
} from './server.ts';
import { Supervisor, type SupervisorEvents } from './supervisor.ts';

/** Enough for a server with a few threads and a command or two beside it. */
const CONNECTIONS_MAX = 50;
/** How long a server waits for another one, which may be stopping. */
const OTHER_SERVER_WAIT_MS = 30_000;

export interface EmbeddedLog {
  info(message: string): void;
  warn(message: string): void;
}

/** The urls hold the password: never log them. */
export interface EmbeddedDatabase extends DatabaseUrls {
  readonly home: string;
  /** why `home` is not under the data folder; null when it is */
  readonly moved: string | null;
  readonly adopted: boolean;
  /** false when it is the server of another living process, which may end with that process */
  readonly owned: boolean;
  /** From now on starts the server again when it has died. @param onGivenUp called when it never starts */
  supervise(events: SupervisorEvents, onGivenUp: () => void): void;
  /** Stops the server if this process owns it, within 75 seconds. Close your connections before. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly dataDir: string;
  readonly log: EmbeddedLog;
  /** a server that runs already keeps its own number */
  readonly connectionsMax?: number;
  /** false for a command, which uses the database of a running server */
  readonly serves?: boolean;
  /** wait while another process owns the database and its PostgreSQL does not run */
  readonly ownerWaitMs?: number;
  /** wait while a server that somebody else started is starting or stopping */
  readonly readyWaitMs?: number;
}

/**
 * Opens the database of `dataDir`: creates it on the first start, and starts its server or adopts the
 * running one. @throws OperatorError with one line for the operator
 */
export async function startEmbedded(options: StartOptions): Promise<EmbeddedDatabase> {
  const installation = await prepareInstallation(options.dataDir);
  if (installation.moved !== null) {
    options.log.warn(
      `data of the embedded PostgreSQL is in ${installation.home}: ${installation.moved}`,
    );
  }
  try {
    return await startIn(installation, options);
  } catch (error) {
    throw explained(error, installation.home);
  }
}

async function startIn(
  installation: Installation,
  options: StartOptions,
): Promise<EmbeddedDatabase> {
  const { home } = installation;
  const deadline = performance.now() + (options.readyWaitMs ?? START_TIMEOUT_MS);
  const ownerWaitMs = options.ownerWaitMs ?? START_TIMEOUT_MS;
  const startedAt = performance.now();
  let lastSeen = startedAt;
  const { serves = true } = options;
  for (;;) {
    const ownership = await claim(home, serves);
    if (ownership !== null) return startOwned(installation, ownership, options);
    const server = await findServer(home);
    if (server !== null) lastSeen = performance.now();
    if (await ownerServes(home)) {
      if (serves && performance.now() > startedAt + (options.ownerWaitMs ?? OTHER_SERVER_WAIT_MS)) {
        throw new OperatorError(
          `another Sluice server uses the database in ${home}: stop it, or set DATABASE_URL for several servers`,
        );
      }
      if (!serves && server?.status === 'ready') return useRunning(installation, server, options);
    }
    if (performance.now() > deadline || performance.now() > lastSeen + ownerWaitMs) {
      throw new OperatorError(
        server?.status === 'ready'
          ? `a command uses the database in ${home}: run this again when it has ended`
          : `another Sluice process uses the database in ${home}, but its PostgreSQL is not running or not ` +
              `ready: restart that process. ${await serverLogTail(home, 0)}`,
      );
    }
    await sleep(POLL_MS);
  }
}

function explained(error: unknown, home: string): unknown {
  const isSystemError = error instanceof Error && 'syscall' in error && 'errno' in error;
  return isSystemError ? unusableFolder(home, error) : error;
}

async function startOwned(
  installation: Installation,
  ownership: Ownership,
  { log, connectionsMax = CONNECTIONS_MAX, readyWaitMs }: StartOptions,
): Promise<EmbeddedDatabase> {
  try {
    const running = await settledServer(installation.home, readyWaitMs);
    const server = running ?? (await startFirst(installation, ownership, { log, connectionsMax }));
    const { url, copyUrl } = await logIn(installation.home, server);
    const adopted = running !== null;
    const verb = adopted ? 'was already running' : 'started';
    log.info(`embedded PostgreSQL ${verb} (pid ${server.pid}, ${addressText(server.address)})`);
    return {
      url,
      copyUrl,
      home: installation.home,
      moved: installation.moved,
      adopted,
      owned: true,
      ...ownedLife(installation, ownership, server, { log, connectionsMax }),
    };
  } catch (error) {
    await ownership.release();
    throw error;
  }
}

function claim(home: string, serves: boolean): Promise<Ownership | null> {
  return claimOwnership(home, { serves, isServed: async () => (await findServer(home)) !== null });
}

/** Takes the home's lock, before a PostgreSQL program is started in it. */
async function hold(installation: Installation, ownership: Ownership): Promise<HeldInstallation> {
  return { ...installation, lockFd: await ownership.lockFd() };
}

type OwnerOptions = Required<Pick<StartOptions, 'log' | 'connectionsMax'>>;

async function startFirst(
  installation: Installation,
  ownership: Ownership,
  { log, connectionsMax }: OwnerOptions,
): Promise<Server> {
  const held = await hold(installation, ownership);
  if (await ensureCluster(held)) {
    log.info(`embedded PostgreSQL: created the data folder ${installation.home}`);
  }
  return await launchServer(held, connectionsMax);
}

async function useRunning(
  { home, moved }: Installation,
  server: Server,
  { log }: StartOptions,
): Promise<EmbeddedDatabase> {
  const urls = await logIn(home, server);
  log.info(`using the embedded PostgreSQL of another Sluice process (pid ${server.pid})`);
  const life = { supervise: () => {}, stop: async () => {} };
  return { ...urls, home, moved, adopted: true, owned: false, ...life };
}

function ownedLife(
  installation: Installation,
  ownership: Ownership,
  server: Server,
  { log, connectionsMax }: OwnerOptions,
): Pick<EmbeddedDatabase, 'supervise' | 'stop'> {
  const { home } = installation;
  const { address } = server;
  let supervisor: Supervisor | null = null;
  const start = async (signal: AbortSignal): Promise<Server> => {
    const running = await settledServer(home);
    if (running !== null) return running;
    const held = await hold(installation, ownership);
    return await launchServer(held, connectionsMax, { address, signal });
  };
  return {
    supervise: (events, onGivenUp) => {
      supervisor ??= new Supervisor(server, start, events, onGivenUp);
    },
    stop: once(async () => {
      await supervisor?.stop();
      try {
        await stopServer(home);
      } finally {
        await ownership.release();
      }
      log.info('embedded PostgreSQL stopped');
    }),
  };
}

function once(action: () => Promise<void>): () => Promise<void> {
  let outcome: Promise<void> | null = null;
  return () => {
    outcome ??= action();
    return outcome;
  };
}

/** The url of the server that runs for `dataDir`; null when none runs. Starts, creates and owns nothing. */
export async function connectEmbedded(dataDir: string): Promise<string | null> {
  for (const home of await existingHomes(dataDir)) {
    try {
      const server = await settledServer(home);
      if (server !== null) return (await logIn(home, server)).url;
    } catch (error) {
      throw explained(error, home);
    }
  }
  return null;
}
