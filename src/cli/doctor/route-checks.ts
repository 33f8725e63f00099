/**
 * Checks of the addresses of a database beside DATABASE_URL: DATABASE_DIRECT_URL past a pooler, and the
 * standby of DATABASE_READ_URL. Both are judged by the code with which a server uses them.
 */
import type { Config } from '../../config/config.ts';
import type { Database } from '../../db/database.ts';
import { ReadReplica, type ReplicaEvents, ReplicaLate } from '../../db/replica/read-replica.ts';
import type { DatabaseRoute } from '../../db/route.ts';
import { READ_TURNS } from '../../main/connection-shares.ts';
import { inspectDirectUrl, WITHOUT_SESSION } from '../../main/open-database.ts';
import { type Check, checksOf, messageOf } from './check.ts';
import { connectionAdvice } from './connection-advice.ts';

const { ok, warning, problem } = checksOf('postgresql');

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
