/** Opens the database of DATABASE_URL, or the embedded one, and brings its schema up to date. */
import type { Config } from '../config/config.ts';
import { parseDatabaseUrl } from '../database-url.ts';
import { checkConnections, checkServer, createDatabase, type Database } from '../db/database.ts';
import { describeDistribution, distributeIfEmpty, requireCoordinator } from '../db/distribute.ts';
import type { DatabaseUrls } from '../db/embedded/address.ts';
import { becomeOwner } from '../db/embedded/become-owner.ts';
import { type EmbeddedLog, type StartOptions, startEmbedded } from '../db/embedded/connect.ts';
import { existingHomes } from '../db/embedded/installation.ts';
import type { SupervisorEvents } from '../db/embedded/supervisor.ts';
import { migrate } from '../db/migrate.ts';
import { type DatabaseRoute, findRoute } from '../db/route.ts';
import { OperatorError } from '../errors.ts';
import type { Events } from '../observe/events.ts';
import { CONNECTIONS_PER_THREAD, SPARE_THREAD_CONNECTIONS } from '../pool/tasks.ts';
import { MAIN_CONNECTIONS, openForMain, REQUEST_CONNECTIONS } from './connection-shares.ts';

/** A command runs at most a few statements at a time. */
const COMMAND_CONNECTIONS = 10;
/** Processes that share an embedded server: the one that serves, and a `pass run` beside it. */
const FULL_PROCESSES = 2;
/** Small commands and the odd psql. */
const SPARE_CONNECTIONS = 30;
/** A server needs less, from taking the folder until PostgreSQL starts. */
const COMMAND_OWNER_WAIT_MS = 15_000;
/** PostgreSQL of a server may recover for minutes; a command can be repeated. */
const COMMAND_READY_WAIT_MS = 30_000;

/** LISTEN needs a session; without it, remembered keys are looked up again after `KEY_TTL_MS`. */
export const WITHOUT_SESSION =
  'DATABASE_URL leads through a connection pooler: changed and revoked keys take effect within 5 s, ' +
  'not at once. Set DATABASE_DIRECT_URL to the address of PostgreSQL itself.';

const AS_COMMAND = {
  serves: false,
  ownerWaitMs: COMMAND_OWNER_WAIT_MS,
  readyWaitMs: COMMAND_READY_WAIT_MS,
};

/** For commands, whose output must not contain messages of the embedded server. */
const SILENT_LOG: EmbeddedLog = { info: () => {}, warn: () => {} };

export interface OpenDatabase {
  /** for the pass, upkeep and commands; requests have separate connections */
  readonly database: Database;
  readonly probes: Database;
  readonly urls: DatabaseUrls;
  /** of connections that keep their session; null: all of them lead through a pooler */
  readonly sessionUrl: string | null;
  /** one line about where the data is, for people; holds no password */
  readonly where: string;
  readonly migrations: readonly string[];
  /**
   * Starts the embedded server again when it dies; nothing for another one.
   * @param onGivenUp called once, when it does not start any more
   */
  readonly supervise: (events: SupervisorEvents, onGivenUp: () => void) => void;
  readonly close: () => Promise<void>;
}

interface Source {
  readonly urls: DatabaseUrls;
  readonly directUrl: string | null;
  readonly where: string;
  /** keeps the embedded server running */
  readonly supervise: OpenDatabase['supervise'];
  readonly stop: () => Promise<void>;
}

/** Of the listener for revoked keys. */
const LISTENING_CONNECTIONS = 1;

/**
 * Most connections of one process: for background work, for requests, of the listener for revoked keys,
 * and of the match threads' tasks (docs/configuration.md).
 */
function connectionsOf({ matchThreads }: Config): number {
  const matching = matchThreads * CONNECTIONS_PER_THREAD + SPARE_THREAD_CONNECTIONS;
  return MAIN_CONNECTIONS + REQUEST_CONNECTIONS + LISTENING_CONNECTIONS + matching;
}

function configuredSource(url: string, directUrl: string | null): Source {
  const parsed = parseDatabaseUrl(url);
  // The configuration has refused a url that cannot be parsed.
  const where = `PostgreSQL at ${typeof parsed === 'string' ? '' : parsed.where}`;
  const urls = { url, copyUrl: directUrl ?? url };
  return { urls, directUrl, where, supervise: () => {}, stop: async () => {} };
}

async function startedSource(
  config: Config,
  log: EmbeddedLog,
  how: Pick<StartOptions, 'serves' | 'ownerWaitMs' | 'readyWaitMs'> = {},
): Promise<Source> {
  const embedded = await startEmbedded({
    dataDir: config.dataDir,
    log,
    ...how,
    connectionsMax: FULL_PROCESSES * connectionsOf(config) + SPARE_CONNECTIONS,
  });
  const found = embedded.adopted ? ', found running' : '';
  const why = embedded.moved === null ? '' : `; ${embedded.moved}`;
  return {
    urls: { url: embedded.url, copyUrl: embedded.copyUrl },
    directUrl: null,
    where: `embedded PostgreSQL${found}, data in ${embedded.home}${why}`,
    supervise: embedded.supervise,
    stop: () => embedded.stop(),
  };
}

/** For commands: as root, those of a folder of another user run as that user. */
async function commandSource(config: Config): Promise<Source> {
  const { databaseUrl, databaseDirectUrl, dataDir } = config;
  if (databaseUrl !== null) return configuredSource(databaseUrl, databaseDirectUrl);
  await becomeOwner(dataDir);
  return await startedSource(config, SILENT_LOG, AS_COMMAND);
}

/** @throws {OperatorError} unless DATABASE_DIRECT_URL leads past the pooler, to the same database */
async function requireDirect(direct: Database, { identity }: DatabaseRoute): Promise<void> {
  await checkServer(direct, 'DATABASE_DIRECT_URL');
  const route = await findRoute(direct);
  if (!route.isDirect) {
    throw new OperatorError(
      'DATABASE_DIRECT_URL leads through a pooler too: it must name PostgreSQL itself',
    );
  }
  if (route.identity !== identity) {
    throw new OperatorError(
      'DATABASE_DIRECT_URL and DATABASE_URL lead to different databases or servers',
    );
  }
}

async function overDirectUrl<T>(
  url: string,
  route: DatabaseRoute,
  work: (direct: Database) => Promise<T>,
): Promise<T> {
  const direct = createDatabase(url, 1, { connectionLost: () => {} });
  try {
    await requireDirect(direct, route);
    return await work(direct);
  } finally {
    await direct.end();
  }
}

/** For looking only. @throws {OperatorError} naming why a server could not use DATABASE_DIRECT_URL */
export async function inspectDirectUrl(url: string, route: DatabaseRoute): Promise<void> {
  await overDirectUrl(url, route, async () => {});
}

interface OpenOptions {
  readonly max?: number;
  readonly onMigrated?: (database: Database) => Promise<void>;
}

async function open(
  source: Source,
  connections: number,
  events: Pick<Events, 'connectionLost'> & Partial<Pick<Events, 'connectionOpened'>>,
  { max, onMigrated = async () => {} }: OpenOptions = {},
): Promise<OpenDatabase> {
  const {
    background: database,
    probes,
    close: closePool,
  } = openForMain(source.urls.url, events, max);
  const close = async (): Promise<void> => {
    try {
      await closePool();
    } finally {
      await source.stop();
    }
  };
  try {
    await checkServer(database);
    await requireCoordinator(database);
    const route = await findRoute(database);
    // The server's limit is for the pooler's connections, not for those to the pooler.
    if (route.isDirect) await checkConnections(database, connections);
    const { urls, directUrl, supervise } = source;
    const migrations =
      directUrl === null
        ? await migrate(database)
        : // A pooler may have its own time limits.
          await overDirectUrl(directUrl, route, migrate);
    await onMigrated(database);
    const where = route.isDirect ? source.where : `${source.where}, through a pooler`;
    const sessionUrl = directUrl ?? (route.isDirect ? urls.url : null);
    return { database, probes, urls, sessionUrl, where, migrations, supervise, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const NOT_DISTRIBUTED =
  'The database is on a Citus cluster and has telemetry that is not distributed: all of it is stored on ' +
  'the coordinator. To distribute it, stop all servers and run sluice migrate --citus.';

async function distributeAtStart(database: Database, events: Events): Promise<void> {
  const distributed = await distributeIfEmpty(database);
  if (distributed === 'has telemetry') events.warned(NOT_DISTRIBUTED);
  else if (distributed?.isNew === true) events.noted(describeDistribution(distributed));
}

/** For the server: starts the embedded database unless DATABASE_URL names another. */
export async function openForServer(config: Config, events: Events): Promise<OpenDatabase> {
  const source =
    config.databaseUrl === null
      ? await startedSource(config, { info: events.noted, warn: events.warned })
      : configuredSource(config.databaseUrl, config.databaseDirectUrl);
  const onMigrated = (database: Database) => distributeAtStart(database, events);
  return await open(source, connectionsOf(config), events, { onMigrated });
}

export interface InspectedDatabase {
  readonly database: Database;
  readonly route: DatabaseRoute;
  readonly where: string;
  readonly connections: number;
  readonly close: () => Promise<void>;
}

/**
 * For looking only: nothing is migrated, and no version is refused. Starts the embedded database
 * unless it runs.
 *
 * @returns null when there is no embedded database yet
 * @throws the error of the connection
 */
export async function openForInspection(config: Config): Promise<InspectedDatabase | null> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl === null && (await existingHomes(dataDir)).length === 0) return null;
  const source = await commandSource(config);
  const database = createDatabase(source.urls.url, 1, { connectionLost: () => {} });
  const close = async (): Promise<void> => {
    try {
      await database.end();
    } finally {
      await source.stop();
    }
  };
  try {
    const route = await findRoute(database);
    const where = route.isDirect ? source.where : `${source.where}, through a pooler`;
    return { database, route, where, connections: connectionsOf(config), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * For a command. If a server runs, the command uses its embedded database, which ends with the server; otherwise
 * the command starts it for itself. Never creates a database.
 *
 * @throws {OperatorError} when there is none, with where it was looked for and what to do
 */
export async function openForCommand(config: Config): Promise<OpenDatabase> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl === null && (await existingHomes(dataDir)).length === 0) {
    throw new OperatorError(noDatabase(dataDir));
  }
  const source = await commandSource(config);
  return await open(source, 1, { connectionLost: () => {} }, { max: COMMAND_CONNECTIONS });
}

function noDatabase(dataDir: string): string {
  return (
    `There is no database in ${dataDir} (DATA_DIR), and DATABASE_URL is not set.\n` +
    "  If your server keeps its data elsewhere, use the server's settings, as in\n" +
    '    DATA_DIR=/path/to/data sluice …\n' +
    '  or run the command in the folder in which the server was started.\n' +
    '  If there is no server yet, start one: sluice serve (or npm start) creates the database.'
  );
}
