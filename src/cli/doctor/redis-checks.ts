/** Checks of the Redis that counts limits. */
import type { RedisFacts } from '../../http/limits/redis-counts.ts';
import { bytesText } from '../answer.ts';
import { type Check, checksOf } from './check.ts';

const { ok, warning, problem } = checksOf('redis');
/** Redis 6 brought ACLs and TLS; the tests run with 7. */
const VERSION_MIN = 6;
/** Every request waits for a round trip at most each 2 ms; a slow one delays them all. */
const ROUND_TRIP_WARNING_MS = 10;

export function redisChecks(facts: RedisFacts): Check[] {
  const { version, role, maxMemoryBytes, evictionPolicy, persistence, roundTripMs } = facts;
  const major = Number(version.split('.')[0]);
  const kept = [persistence.rdb && 'snapshots', persistence.aof && 'append-only file'];
  const keeps = kept.filter((one) => one !== false).join(' and ');
  const evicts = evictionPolicy !== 'noeviction' && maxMemoryBytes !== null;
  const memory = `${maxMemoryBytes === null ? 'no limit' : bytesText(maxMemoryBytes)}, ${evictionPolicy}`;
  const time = `${roundTripMs.toFixed(1)} ms`;
  return [
    major < VERSION_MIN
      ? warning('Version', version, `Update to Redis ${VERSION_MIN} or newer.`)
      : ok('Version', version),
    role === 'master'
      ? ok('Role', 'master')
      : problem(
          'Role',
          role,
          'Name the master in REDIS_URL, or its sentinels: a replica refuses counts.',
        ),
    evicts
      ? warning(
          'Memory',
          memory,
          'Set maxmemory-policy noeviction: an evicted count admits too much.',
        )
      : ok('Memory', memory),
    keeps === ''
      ? ok('Persistence', 'off')
      : warning(
          'Persistence',
          `${keeps}; only counts of the last minute are there`,
          "Set save '' and appendonly no, if the Redis serves nothing else: writing delays answers.",
        ),
    roundTripMs > ROUND_TRIP_WARNING_MS
      ? warning(
          'Round trip',
          time,
          'Run Redis nearer: after 250 ms requests are counted by each process.',
        )
      : ok('Round trip', time),
  ];
}

/** @param message of the error, without secrets */
export function redisUnreachable(message: string): Check {
  return problem(
    'Connection',
    message,
    'Start Redis, or correct REDIS_URL; until then each process counts limits alone.',
  );
}

export function redisNotUsed(): Check {
  return ok('Connection', 'REDIS_URL is not set: this process counts limits alone');
}
