/**
 * The embedded PostgreSQL server of a data folder: created, started or adopted, and stopped.
 *
 * One process owns the server. A server whose owner has died is adopted with its ownership, one whose
 * owner runs is used as a guest; the last user stops it. Handles no signals: the caller decides when to
 * stop.
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
import {
  claimOwnership,
  type GuestUse,
  type Ownership,
  registerGuest,
  stopUnlessUsed,
} from './owner.ts';
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

/** Receives lines for the operator, such as a logger of pino. */
export interface EmbeddedLog {
  info(message: string): void;
  warn(message: string): void;
}

/** The urls hold the password: never log them. */
export interface EmbeddedDatabase extends DatabaseUrls {
  /** absolute path of the folder that holds the cluster, the password and the server's log */
  readonly home: string;
  /** why `home` is not under the data folder; null when it is */
  readonly moved: string | null;
  /** true when the server was running already */
  readonly adopted: boolean;
  /** false when another living process owned the server at the start */
  readonly owned: boolean;
  /**
   * From now on starts the server again when it has died (supervisor.ts), also when its owner has left.
   *
   * @param onGivenUp called once, when it does not start any more
   */
  supervise(events: SupervisorEvents, onGivenUp: () => void): void;
  /**
   * Stops the server unless another living process uses it still. Bounded: 75 seconds. Close your
   * connections before; a second call gives the first one's outcome.
   *
   * @throws OperatorError when the server does not stop
   */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly dataDir: string;
  readonly log: EmbeddedLog;
  readonly connectionsMax?: number;
  readonly ownerWaitMs?: number;
  readonly readyWaitMs?: number;
}

/**
 * Opens the database of `dataDir`: creates it on the first start, and starts its server or adopts the
 * running one.
 *
 * @param options.dataDir folder for the data; relative paths from the working directory
 * @param options.connectionsMax most connections of all users together; a server that is running
 *   already keeps the number it was started with
 * @param options.ownerWaitMs how long to wait while another process owns the database and PostgreSQL
 *   does not run
 * @param options.readyWaitMs how long to wait while a server that somebody else started is starting or
 *   stopping
 * @throws OperatorError with one line for the operator: no binaries for this platform, an unusable
 *   folder, data of another major version, a server that does not start (with its last log lines)
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
  let lastSeen = performance.now();
  for (;;) {
    const ownership = await claim(home);
    if (ownership !== null) return startOwned(installation, ownership, options);
    const guest = await startAsGuest(installation, options);
    if (guest !== null) return guest;
    // Its owner is starting or stopping it.
    if ((await findServer(home)) !== null) lastSeen = performance.now();
    if (performance.now() > deadline || performance.now() > lastSeen + ownerWaitMs) {
      throw new OperatorError(
        `another Sluice process uses the database in ${home}, but its PostgreSQL is not running or not ` +
          `ready: restart that process. ${await serverLogTail(home, 0)}`,
      );
    }
    await sleep(POLL_MS);
  }
}

/** Turns errors of the file system into one line for the operator; returns others as they are. */
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
      ...lifeOf(installation, server, connectionsMax, {
        own: async () => ownership,
        stop: () => stopOwned(installation.home, ownership, log),
      }),
    };
  } catch (error) {
    await ownership.release();
    throw error;
  }
}

/** Claims the ownership of a home; see claimOwnership. */
function claim(home: string): Promise<Ownership | null> {
  return claimOwnership(home, { isServed: async () => (await findServer(home)) !== null });
}

/** Takes the home's lock, before a PostgreSQL program is started in it. */
async function hold(installation: Installation, ownership: Ownership): Promise<HeldInstallation> {
  return { ...installation, lockFd: await ownership.lockFd() };
}

/** Creates the cluster if it does not exist, and starts its server. */
async function startFirst(
  installation: Installation,
  ownership: Ownership,
  { log, connectionsMax }: Required<Pick<StartOptions, 'log' | 'connectionsMax'>>,
): Promise<Server> {
  const held = await hold(installation, ownership);
  if (await ensureCluster(held)) {
    log.info(`embedded PostgreSQL: created the data folder ${installation.home}`);
  }
  return await launchServer(held, connectionsMax);
}

/** null when there is no server to use as a guest now. */
async function startAsGuest(
  installation: Installation,
  { log, connectionsMax = CONNECTIONS_MAX }: StartOptions,
): Promise<EmbeddedDatabase | null> {
  if ((await findServer(installation.home))?.status !== 'ready') return null;
  const guest = await registerGuest(installation.home);
  if (guest === null) return null;
  try {
    const server = await findServer(installation.home);
    if (server?.status !== 'ready') {
      await guest.leave();
      return null;
    }
    const { url, copyUrl } = await logIn(installation.home, server);
    log.info(`using the embedded PostgreSQL of another Sluice process (pid ${server.pid})`);
    const { home, moved } = installation;
    let ownership: Ownership | null = null;
    const life = lifeOf(installation, server, connectionsMax, {
      own: async () => {
        ownership ??= await claim(home);
        return ownership;
      },
      stop: () => leave(home, guest, log, ownership),
    });
    return { url, copyUrl, home, moved, adopted: true, owned: false, ...life };
  } catch (error) {
    await guest.leave();
    throw error;
  }
}

/** How a server that is in use is kept running, and stopped. */
function lifeOf(
  installation: Installation,
  server: Server,
  connectionsMax: number,
  use: {
    /** the ownership; null while another process has it */
    readonly own: () => Promise<Ownership | null>;
    readonly stop: () => Promise<void>;
  },
): Pick<EmbeddedDatabase, 'supervise' | 'stop'> {
  let supervisor: Supervisor | null = null;
  const start = async (signal: AbortSignal): Promise<Server> => {
    const { address } = server;
    const ownership = await use.own();
    const running = await settledServer(installation.home);
    if (running !== null) return running;
    if (ownership !== null) {
      const held = await hold(installation, ownership);
      return await launchServer(held, connectionsMax, { address, signal });
    }
    throw new Error('its owner has not started it yet');
  };
  return {
    supervise: (events, onGivenUp) => {
      supervisor ??= new Supervisor(server, start, events, onGivenUp);
    },
    stop: once(async () => {
      await supervisor?.stop();
      await use.stop();
    }),
  };
}

async function stopOwned(home: string, ownership: Ownership, log: EmbeddedLog): Promise<void> {
  const stopped = await stopUnlessUsed(home, ownership, () => stopServer(home));
  log.info(`embedded PostgreSQL ${stopped ? 'stopped' : 'left running: another process uses it'}`);
}

/** Stops the server too, if its owner has left. */
async function leave(
  home: string,
  guest: GuestUse,
  log: EmbeddedLog,
  owned: Ownership | null,
): Promise<void> {
  await guest.leave();
  const ownership = owned ?? (await claim(home));
  if (ownership !== null) await stopOwned(home, ownership, log);
}

function once(action: () => Promise<void>): () => Promise<void> {
  let outcome: Promise<void> | null = null;
  return () => {
    outcome ??= action();
    return outcome;
  };
}

/**
 * The url of the server that runs for `dataDir`, for commands. Starts, creates and owns nothing.
 *
 * @returns null when none runs
 * @throws OperatorError when the login to a running server fails
 */
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
