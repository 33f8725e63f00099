/** Checks of a Citus cluster, by the facts that src/db/citus-facts.ts reads. */
import type { CitusFacts } from '../../db/citus-facts.ts';
import { type Check, checksOf } from './check.ts';

const { ok, warning, problem } = checksOf('postgresql');

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
