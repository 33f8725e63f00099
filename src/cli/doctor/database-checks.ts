/**
 * Checks of PostgreSQL by the facts that src/db/server-facts.ts reads, and of the addresses beside DATABASE_URL:
 * DATABASE_DIRECT_URL past a pooler, and the standby of DATABASE_READ_URL, by the code with which a server uses them.
 */

import type { Config } from '../../config/config.ts';
import type { Database } from '../../db/database.ts';
import type { CitusFacts } from '../../db/distribute.ts';
import { ReadReplica, type ReplicaEvents, ReplicaLate } from '../../db/replica/read-replica.ts';
import type { DatabaseRoute } from '../../db/route.ts';
import type {
  SchemaFacts,
  ServerCheckpoints,
  ServerConnections,
  ServerPrivileges,
  ServerReplica,
  ServerSettings,
  ServerSlot,
} from '../../db/server-facts.ts';
import type { BlockCheck, PlaceCheck } from '../../db/telemetry/block-check.ts';
import { USE_ZSTD_NODE } from '../../db/telemetry/codecs.ts';
import { READ_TURNS } from '../../main/connection-shares.ts';
import { inspectDirectUrl, WITHOUT_SESSION } from '../../main/open-database.ts';
import { bytesText } from '../answer.ts';
import { type Check, checksOf, connectionAdvice, messageOf } from './check.ts';

const { ok, warning, problem } = checksOf('postgresql');

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;
const VERSION_MIN = 14;
/** The server reads its clock as wrong beyond 30 s; half a second is what NTP keeps easily. */
const CLOCK_WARNING_MS = 500;
/** docs/configuration.md recommends these for thousands of rows a second. */
const MAX_WAL_BYTES = 4 * GIB;
const CHECKPOINT_SECONDS = 15 * 60;
const SHARED_BUFFER_BYTES = 256 * MIB;
/** A slower average is no load that needs other checkpoints than the default ones. */
const WAL_PER_SECOND = MIB;
/** A checkpoint begins after `max_wal_size` / (1 + `checkpoint_completion_target`) bytes of WAL. */
const CHECKPOINTS_PER_MAX_WAL = 2;
/** Fewer say nothing yet. */
const CHECKPOINTS_MIN = 10;
const LAG_WARNING_SECONDS = 10;
const SLOT_BYTES_WARNING = 10 * GIB;

function versionChecks(settings: ServerSettings): Check[] {
  const { version, versionName, encoding, isStandby, readOnly, databaseBytes } = settings;
  const checks = [
    Math.floor(version / 10_000) < VERSION_MIN
      ? problem('Version', versionName, `Update PostgreSQL to ${VERSION_MIN} or newer.`)
      : ok('Version', `${versionName}; the database has ${bytesText(databaseBytes)}`),
  ];
  if (encoding !== 'UTF8') {
    const change = 'Create the database with ENCODING UTF8: other encodings cannot hold all texts.';
    checks.push(problem('Encoding', encoding, change));
  }
  if (isStandby) {
    const change = 'Name the primary in DATABASE_URL, or all hosts (docs/high-availability.md).';
    checks.push(problem('Writes', 'the server is a standby', change));
  } else if (readOnly) {
    const change = 'Set default_transaction_read_only = off for this role and database.';
    checks.push(problem('Writes', 'transactions are read-only', change));
  }
  return checks;
}

function durabilityChecks(settings: ServerSettings): Check[] {
  const { fsync, fullPageWrites, synchronousCommit, dataChecksums, autovacuum } = settings;
  const checks: Check[] = [];
  if (!fsync) {
    checks.push(
      problem('fsync', 'off: a crash of the machine destroys the database', 'Set fsync = on.'),
    );
  }
  if (!fullPageWrites) {
    const found = 'off: a crash may leave torn pages';
    checks.push(problem('full_page_writes', found, 'Set full_page_writes = on.'));
  }
  if (synchronousCommit === 'off') {
    const found = 'off: what was answered with 200 may be lost in a crash';
    checks.push(problem('synchronous_commit', found, 'Set synchronous_commit = on.'));
  }
  if (!autovacuum) {
    const found = 'off: tables grow, and statistics become wrong';
    checks.push(problem('autovacuum', found, 'Set autovacuum = on.'));
  }
  if (checks.length === 0) {
    checks.push(
      ok('Durability', `fsync, full_page_writes; synchronous_commit ${synchronousCommit}`),
    );
  }
  if (!dataChecksums) {
    const change = 'Stop the server and run pg_checksums --enable: damaged disks are then noticed.';
    checks.push(warning('Data checksums', 'off', change));
  }
  return checks;
}

const minutes = (seconds: number): string => `${Math.round(seconds / 60)} min`;

/**
 * How many checkpoints `max_wal_size` can have led to. PostgreSQL counts those of commands (CREATE and
 * DROP DATABASE, backups) with them, so a new server without load has many.
 */
function earlyCheckpoints({ requested, walBytes }: ServerCheckpoints, maxWalBytes: number): number {
  return Math.min(requested, Math.floor((CHECKPOINTS_PER_MAX_WAL * walBytes) / maxWalBytes));
}

export function loadChecks(settings: ServerSettings, checkpoints: ServerCheckpoints): Check[] {
  const { maxWalBytes, checkpointSeconds, sharedBufferBytes, walInitZero } = settings;
  const { timed, requested, walBytesPerSecond } = checkpoints;
  const isLoaded = walBytesPerSecond >= WAL_PER_SECOND;
  const rate = `${bytesText(walBytesPerSecond)} of WAL a second on average`;
  const wal = `max_wal_size ${bytesText(maxWalBytes)}, checkpoint_timeout ${minutes(checkpointSeconds)}`;
  const early = earlyCheckpoints(checkpoints, maxWalBytes);
  const counted = `${early} of ${timed + requested} checkpoints came early`;
  const checks: Check[] = [];
  if (early > timed && timed + early >= CHECKPOINTS_MIN) {
    const wanted = Math.max(MAX_WAL_BYTES, 2 * maxWalBytes);
    const change = `Set max_wal_size = ${Math.round(wanted / GIB)}GB and checkpoint_timeout = 15min.`;
    checks.push(warning('Checkpoints', `${counted}; ${wal}`, change));
  } else if (isLoaded && (maxWalBytes < MAX_WAL_BYTES || checkpointSeconds < CHECKPOINT_SECONDS)) {
    const change = 'Set max_wal_size = 4GB and checkpoint_timeout = 15min.';
    checks.push(warning('Checkpoints', `${wal}; ${rate}`, change));
  } else {
    checks.push(ok('Checkpoints', `${wal}; ${counted}`));
  }
  if (isLoaded && walInitZero) {
    const change = 'Set wal_init_zero = off, on file systems where new blocks read as zeroes.';
    checks.push(warning('wal_init_zero', `on; ${rate}`, change));
  }
  const buffers = bytesText(sharedBufferBytes);
  const change = 'Set shared_buffers to a quarter of the memory of the database machine.';
  checks.push(
    isLoaded && sharedBufferBytes < SHARED_BUFFER_BYTES
      ? warning('shared_buffers', `${buffers}; ${rate}`, change)
      : ok('shared_buffers', buffers),
  );
  return checks;
}

export function blocksCheck({ checked, faults, unsupported }: BlockCheck): Check {
  const [first] = faults;
  if (first === undefined && unsupported > 0) {
    const found =
      `${unsupported} of ${checked} are compressed with zstd, which Node.js ` +
      `${process.versions.node} cannot read; the others are as they were stored`;
    return warning('Blocks', found, `To check them, ${USE_ZSTD_NODE}.`);
  }
  if (first === undefined) {
    const found = checked === 0 ? 'none stored' : `${checked} read, all as they were stored`;
    return ok('Blocks', found);
  }
  const change =
    'Restore these blocks from a backup, and check the disks: their records cannot be read, no others suffer.';
  return problem('Blocks', `${faults.length} of ${checked} read: ${first}`, change);
}

export function placesCheck({ checked, faults }: PlaceCheck): Check {
  const [first] = faults;
  if (first === undefined) {
    const found = checked === 0 ? 'none stored' : `${checked} read, all fit their blocks`;
    return ok('Places', found);
  }
  const change =
    'Restore the tables blocks and places from one backup, and check the disks: steps of these runs cannot be read.';
  return problem('Places', `${faults.length} of ${checked} read: ${first}`, change);
}

export function settingsOfServer(settings: ServerSettings): Check[] {
  return [...versionChecks(settings), ...durabilityChecks(settings)];
}

/** @param differenceMs how far this machine's clock is ahead of PostgreSQL's */
export function clockCheck(differenceMs: number, isTooFar: boolean): Check {
  const found = `this machine is ${Math.abs(differenceMs)} ms ${differenceMs < 0 ? 'behind' : 'ahead'}`;
  const change = 'Start time synchronisation (NTP) on both machines.';
  if (isTooFar) return problem('Clock', found, change);
  if (Math.abs(differenceMs) > CLOCK_WARNING_MS) return warning('Clock', found, change);
  return ok('Clock', found);
}

/** Checks whether another process of Sluice fits next to the present connections. */
export function connectionCheck(
  { allowed, used, roleLimit, databaseLimit }: ServerConnections,
  needed: number,
): Check {
  const limit = Math.min(allowed, roleLimit ?? allowed, databaseLimit ?? allowed);
  const found = `${limit} at most, ${used} in use; one process opens up to ${needed}`;
  const raise =
    limit < allowed
      ? 'raise the CONNECTION LIMIT of the role or database'
      : 'raise max_connections and restart PostgreSQL';
  const change = `Lower MATCH_THREADS, or ${raise}.`;
  if (needed > limit) return problem('Connections', found, change);
  if (used + needed > limit) {
    const more = `If no process runs yet, there is no room for one. ${change}`;
    return warning('Connections', found, more);
  }
  return ok('Connections', found);
}

export function privilegeCheck(privileges: ServerPrivileges): Check {
  const { role, mayCreate, isSuperuser, foreignTables } = privileges;
  if (!mayCreate) {
    const found = `${role} may not create tables`;
    const change = `GRANT CREATE, USAGE ON SCHEMA public TO "${role}": partitions are created daily.`;
    return problem('Privileges', found, change);
  }
  if (foreignTables.length > 0) {
    const found = `${foreignTables.join(', ')} belong to another role than ${role}`;
    const change = `ALTER TABLE … OWNER TO "${role}", or use the role that owns them.`;
    return problem('Privileges', found, change);
  }
  if (isSuperuser) {
    const change = 'Use a role without superuser rights that owns the database.';
    return warning('Privileges', `${role} is a superuser`, change);
  }
  return ok('Privileges', `${role} may create tables and owns those of Sluice`);
}

export function replicationChecks(
  { synchronousStandbys }: ServerSettings,
  replicas: readonly ServerReplica[],
  slots: readonly ServerSlot[],
): Check[] {
  const checks: Check[] = [];
  const isSync = replicas.some(({ syncState }) => syncState === 'sync' || syncState === 'quorum');
  if (synchronousStandbys !== '' && !isSync) {
    const found = 'synchronous_standby_names is set, and no standby is connected as such';
    const change =
      'Start the standby: until then every COMMIT waits, and requests are answered 503.';
    checks.push(problem('Replication', found, change));
  }
  for (const { name, state, lagSeconds } of replicas) {
    if (state === null || (state === 'streaming' && lagSeconds <= LAG_WARNING_SECONDS)) continue;
    const found = `${name}: ${state}, ${Math.round(lagSeconds)} s behind`;
    const change = "Check the standby's disk, its network, and queries that hold up replay.";
    checks.push(warning('Replication', found, change));
  }
  for (const { name, active, retainedBytes } of slots) {
    const found = `slot ${name}${active ? '' : ' is not used and'} keeps ${bytesText(retainedBytes)} of WAL`;
    const change =
      'Start its standby, or drop the slot (pg_drop_replication_slot): WAL fills the disk.';
    if (!active) checks.push(warning('Replication slot', found, change));
    else if (retainedBytes > SLOT_BYTES_WARNING) {
      checks.push(warning('Replication slot', found, change));
    }
  }
  if (checks.length > 0) return checks;
  const found = replicas.length === 0 ? 'no standby' : `${replicas.length} standbys, up to date`;
  return [ok('Replication', found)];
}

export function schemaChecks(schema: SchemaFacts | null): Check[] {
  if (schema === null) return [ok('Schema', 'empty: the first start of the server creates it')];
  const { missingMigrations, historyFault: fault, missingPartitions } = schema;
  if (fault !== null) return [problem('Schema', fault.found, fault.remedy)];
  const partitions =
    missingPartitions.length === 0
      ? ok('Partitions', 'of today and tomorrow are there')
      : warning(
          'Partitions',
          `missing: ${missingPartitions.join(', ')}`,
          'Start the server: it creates them, every hour too. If one runs, its log says why it cannot.',
        );
  const migrations =
    missingMigrations.length === 0
      ? ok('Schema', 'up to date')
      : warning(
          'Schema',
          `${missingMigrations.length} migrations are pending, from ${missingMigrations[0]}`,
          'Run sluice migrate, or start this version of the server. Back up first (docs/operations.md).',
        );
  return [migrations, partitions];
}

/** docs/citus.md sets 5 s: until then rows that a lost worker had prepared cannot be read. */
const RECOVERY_SECONDS_MAX = 10;

/** Of plain PostgreSQL there are none. */
export function citusChecks(facts: CitusFacts | null): Check[] {
  if (facts === null) return [];
  const { version, isCoordinator, workers, recoverySeconds, shards } = facts;
  const name = `Citus ${version}`;
  if (!isCoordinator) {
    return [problem(name, 'this is a worker', 'Name the coordinator in DATABASE_URL.')];
  }
  if (workers.length === 0) {
    const found = 'no workers: telemetry is stored on this server';
    return [warning(name, found, 'Add them with citus_add_node (docs/citus.md).')];
  }
  const checks: Check[] = [];
  for (const worker of workers.filter(({ answers }) => !answers)) {
    const found = `worker ${worker.name} does not answer`;
    checks.push(problem(name, found, 'Start it: until then requests are answered 503.'));
  }
  if (shards === 0) {
    const change = 'Stop all servers, then run sluice migrate --citus.';
    checks.push(warning(name, 'telemetry is not distributed', change));
  }
  if (recoverySeconds > RECOVERY_SECONDS_MAX) {
    const found = `citus.recover_2pc_interval ${recoverySeconds} s`;
    const change =
      "Set it to '5s' on the coordinator: after a worker was lost, runs wait for it before they are evaluated.";
    checks.push(warning(name, found, change));
  }
  if (checks.length > 0) return checks;
  const where = shards === null ? 'the first start distributes telemetry' : `${shards} shards`;
  return [ok(name, `${workers.length} workers answer; ${where}`)];
}

/** A standby that has not replayed what the primary had this long ago is shown as late. */
const REPLICA_WAIT_MS_MAX = 10_000;

/** Checks whether a pooler keeps a server from LISTEN, and whether the server bypasses it. */
export async function directChecks(config: Config, route: DatabaseRoute): Promise<Check[]> {
  const { databaseDirectUrl } = config;
  if (databaseDirectUrl === null) {
    const [found = '', change = ''] = WITHOUT_SESSION.split('. ');
    return route.isDirect ? [] : [warning('Connection pooler', found, change)];
  }
  try {
    await inspectDirectUrl(databaseDirectUrl, route);
    return [ok('Direct connection', 'DATABASE_DIRECT_URL leads to the same database')];
  } catch (error) {
    const change = connectionAdvice(error, 'DATABASE_DIRECT_URL');
    return [problem('Direct connection', messageOf(error), change)];
  }
}

function judgedReplica(primary: Database, url: string, lagMaxMs: number): Promise<Check> {
  return new Promise((resolve, reject) => {
    const end = (check: Check): void => {
      replica.close().then(() => resolve(check), reject);
    };
    const events: ReplicaEvents = {
      replicaUsed: () => end(ok('Read replica', 'reads go to it')),
      replicaUnused: (error) => end(unusedReplica(error)),
      replicaMeasured: () => {},
      replicaFellBack: () => {},
      connectionLost: () => {},
    };
    const settings = { url, lagMaxMs, turns: READ_TURNS };
    const replica = new ReadReplica(primary, settings, events);
  });
}

function unusedReplica(error: unknown): Check {
  const found = `reads go to the primary: ${messageOf(error)}`;
  if (error instanceof ReplicaLate) {
    const change = "Check the standby's disk, its network, and queries that hold up replay.";
    return warning('Read replica', found, change);
  }
  return problem('Read replica', found, connectionAdvice(error, 'DATABASE_READ_URL'));
}

/** Checks whether reads would go to the standby of DATABASE_READ_URL. */
export async function replicaChecks(config: Config, primary: Database): Promise<Check[]> {
  const { databaseReadUrl, databaseReadLagMaxMs } = config;
  if (databaseReadUrl === null) return [];
  const lagMaxMs = Math.min(databaseReadLagMaxMs, REPLICA_WAIT_MS_MAX);
  return [await judgedReplica(primary, databaseReadUrl, lagMaxMs)];
}
