/**
 * The embedded PostgreSQL server: found or made, started or adopted, handed out as a url, stopped.
 *
 * One process owns the server of a data directory. A server that outlived its owner is adopted
 * with ownership, one whose owner lives is used as a guest; the last of them to leave stops it.
 * Knows nothing of tables. Handles no signals: when to stop is decided by who starts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../../errors.ts';
import { addressText, type DatabaseUrls } from './address.ts';
import { ensureCluster, readPassword } from './cluster.ts';
import { unusableFolder } from './folder.ts';
import { launchServer } from './launch.ts';
import {
  claimOwnership,
  type Ownership,
  stopUnlessVisited,
  unlessVisited,
  type Visit,
  visit,
} from './owner.ts';
import { clusterOf, existingHomes, type Place, preparePlace } from './place.ts';
import { demoteRole } from './roles.ts';
import {
  findServer,
  type Login,
  logIn,
  POLL_MS,
  type Server,
  START_TIMEOUT_MS,
  settledServer,
  stopServer,
} from './server.ts';

/** Enough for a server with a few threads and a command or two beside it. */
const CONNECTIONS_MAX = 50;

/** What is worth an operator's line; pino's loggers fit. */
export interface EmbeddedLog {
  info(message: string): void;
  warn(message: string): void;
}

/** The urls hold the password: never log them. */
export interface EmbeddedDatabase extends DatabaseUrls {
  /** absolute path of the folder that holds the cluster, the password and the server's log */
  readonly home: string;
  /** why `home` is not under the folder asked for; null when it is */
  readonly moved: string | null;
  /** true when the server was running already */
  readonly adopted: boolean;
  /** false when another living process owned the server at the start */
  readonly owned: boolean;
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
}

/**
 * Gives the database of `dataDir`: makes it on the first start, starts its server or takes over
 * the one that runs.
 *
 * @param options.dataDir folder for the data; relative paths from the working directory
 * @param options.connectionsMax most connections of all users together; a server that is running
 *   already keeps the number it was started with
 * @throws OperatorError with one line for the operator: no binaries for this platform, an unusable
 *   folder, data of another major version, a server that does not start (with its last log lines)
 */
export async function startEmbedded(options: StartOptions): Promise<EmbeddedDatabase> {
  const place = await preparePlace(options.dataDir);
  if (place.moved !== null) {
    options.log.warn(`embedded database is in ${place.home}: ${place.moved}`);
  }
  try {
    return await startIn(place, options);
  } catch (error) {
    throw explained(error, place.home);
  }
}

async function startIn(place: Place, options: StartOptions): Promise<EmbeddedDatabase> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const ownership = await claimOwnership(place.home);
    if (ownership !== null) return startOwned(place, ownership, options);
    const guest = await startAsGuest(place, options.log);
    if (guest !== null) return guest;
    // Its owner is in the middle of starting or stopping it: look again, claim again.
    if (Date.now() > deadline) {
      throw new OperatorError(
        `another process owns the database in ${place.home}, and it does not become ready`,
      );
    }
    await sleep(POLL_MS);
  }
}

/** A full disk, a lost permission: one line for the operator. Anything else stays as it is. */
function explained(error: unknown, home: string): unknown {
  const isSystemError = error instanceof Error && 'syscall' in error && 'errno' in error;
  return isSystemError ? unusableFolder(home, error) : error;
}

async function startOwned(
  place: Place,
  ownership: Ownership,
  { log, connectionsMax = CONNECTIONS_MAX }: StartOptions,
): Promise<EmbeddedDatabase> {
  try {
    const running = await settledServer(place.home);
    if (running === null && (await ensureCluster(place))) {
      log.info(`embedded database made in ${place.home}`);
    }
    const first = running ?? (await launchServer(place, connectionsMax));
    const { server, url, copyUrl } = await ensureOrdinary(place, first, { log, connectionsMax });
    const adopted = server.pid === running?.pid;
    const verb = adopted ? 'adopted' : 'started';
    log.info(`embedded PostgreSQL ${verb} (pid ${server.pid}, ${addressText(server.address)})`);
    const stop = once(() => stopOwned(place.home, ownership, log));
    return { url, copyUrl, home: place.home, moved: place.moved, adopted, owned: true, stop };
  } catch (error) {
    await ownership.release();
    throw error;
  }
}

/**
 * Upgrades a cluster of an older version, where `sluice` is the superuser: stops its server, makes
 * the role an ordinary one, starts the server again. Not while guests use the server; then the next
 * start does it.
 */
async function ensureOrdinary(
  place: Place,
  server: Server,
  { log, connectionsMax }: Required<Pick<StartOptions, 'log' | 'connectionsMax'>>,
): Promise<Login & { readonly server: Server }> {
  const { home } = place;
  const login = await logIn(home, server);
  if (login.isOrdinary) return { ...login, server };
  const stopped = await unlessVisited(home, async () => {
    await stopServer(home);
    await demoteRole(place, clusterOf(home), await readPassword(home));
  });
  if (!stopped) {
    log.warn(
      'embedded PostgreSQL: its role is a superuser and another process uses it; the next start upgrades it',
    );
    return { ...login, server };
  }
  log.info(`embedded database in ${home}: upgraded, its role is no longer a superuser`);
  const next = await launchServer(place, connectionsMax);
  return { ...(await logIn(home, next)), server: next };
}

/** null when there is no server to use as a guest now. */
async function startAsGuest(place: Place, log: EmbeddedLog): Promise<EmbeddedDatabase | null> {
  if ((await findServer(place.home))?.status !== 'ready') return null;
  const guest = await visit(place.home);
  if (guest === null) return null;
  try {
    const server = await findServer(place.home);
    if (server?.status !== 'ready') {
      await guest.leave();
      return null;
    }
    const { url, copyUrl } = await logIn(place.home, server);
    log.info(`embedded PostgreSQL in use (pid ${server.pid}); another process owns it`);
    const stop = once(() => leave(place.home, guest, log));
    const { home, moved } = place;
    return { url, copyUrl, home, moved, adopted: true, owned: false, stop };
  } catch (error) {
    await guest.leave();
    throw error;
  }
}

async function stopOwned(home: string, ownership: Ownership, log: EmbeddedLog): Promise<void> {
  const stopped = await stopUnlessVisited(home, ownership, () => stopServer(home));
  log.info(`embedded PostgreSQL ${stopped ? 'stopped' : 'left running: another process uses it'}`);
}

/** Its owner may have left it to us. */
async function leave(home: string, guest: Visit, log: EmbeddedLog): Promise<void> {
  await guest.leave();
  const ownership = await claimOwnership(home);
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
 * The url of the server that already runs for `dataDir`: for commands beside a running Sluice.
 * Starts nothing, makes nothing, owns nothing.
 *
 * @returns null when none runs
 * @throws OperatorError when one runs but we may not log in to it
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
