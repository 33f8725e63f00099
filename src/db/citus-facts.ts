/** Facts of a Citus cluster: coordinator, workers, settings (docs/citus.md). Read only; `sluice doctor` judges them. */
import { onlyRow, type Queryable } from './database.ts';

export interface CitusFacts {
  readonly version: string;
  /** false: the connection leads to a worker */
  readonly isCoordinator: boolean;
  /** host and port of workers that may have shards */
  readonly workers: readonly { readonly name: string; readonly answers: boolean }[];
  /** how often transactions that a lost worker left prepared are ended */
  readonly recoverySeconds: number;
  /** of the table of blocks: 0 when it is not distributed, null when it does not exist */
  readonly shards: number | null;
}

/** @returns null for plain PostgreSQL */
export async function readCitusFacts(database: Queryable): Promise<CitusFacts | null> {
  const extension = await database.query<{ version: string }>(
    `SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'`,
  );
  const [citus] = extension.rows;
  if (citus === undefined) return null;
  const facts = onlyRow(
    await database.query<Omit<CitusFacts, 'version'>>(
      `SELECT (SELECT groupid = 0 FROM pg_dist_local_group) AS "isCoordinator",
            (SELECT coalesce(json_agg(json_build_object(
                'name', nodename || ':' || nodeport,
                'answers', citus_check_connection_to_node(nodename, nodeport)) ORDER BY nodeid), '[]')
               FROM pg_dist_node
              WHERE groupid <> 0 AND noderole = 'primary' AND shouldhaveshards) AS workers,
            (SELECT setting::float8 / 1000 FROM pg_settings
              WHERE name = 'citus.recover_2pc_interval') AS "recoverySeconds",
            (SELECT count(shardid)::int
               FROM (SELECT to_regclass('blocks') AS oid) AS blocks
               LEFT JOIN pg_dist_shard ON logicalrelid = blocks.oid
             HAVING max(blocks.oid::oid) IS NOT NULL) AS shards`,
    ),
  );
  return { ...citus, ...facts };
}
