/**
 * Databases on the Citus cluster that CITUS_DATABASE_URL names, which must be able to create databases
 * on every node: its role is a superuser, as tests' role is elsewhere.
 */
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { createDatabase } from '../../src/db/database.ts';
import { distribute } from '../../src/db/distribute.ts';
import { migrate } from '../../src/db/migrate.ts';
import type { TelemetryPlacement } from '../../src/db/placement.ts';

/** Of the coordinator; null when the machine has no cluster. */
export const citusUrl: string | null = process.env.CITUS_DATABASE_URL ?? null;

/** Enough that every worker has several. */
const SHARDS = 8;

interface Node {
  readonly host: string;
  readonly port: number;
  readonly isCoordinator: boolean;
}

/** Runs `work` with one connection, and closes it. */
export async function run<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The nodes of the cluster, the coordinator first. */
async function nodesOf(url: string): Promise<Node[]> {
  const { rows } = await run(url, (client) =>
    client.query<Node>(
      `SELECT nodename AS host, nodeport AS port, groupid = 0 AS "isCoordinator"
         FROM pg_dist_node WHERE isactive AND noderole = 'primary' ORDER BY groupid`,
    ),
  );
  return rows;
}

function urlOn(url: string, { host, port }: Node, name?: string): string {
  const own = new URL(url);
  own.hostname = host;
  own.port = `${port}`;
  if (name !== undefined) own.pathname = `/${name}`;
  return own.href;
}

/** Gives a database the whole schema. @param shards of its telemetry; null: it is not distributed */
export async function prepare(url: string, shards: number | null): Promise<void> {
  const database = createDatabase(url, 1, { connectionLost: () => undefined });
  try {
    await migrate(database);
    if (shards !== null) await distribute(database, shards);
  } finally {
    await database.end();
  }
}

/**
 * Creates a database on every node.
 *
 * @param url of a database of the cluster's coordinator
 * @param isMigrated with the whole schema, distributed
 * @returns its url
 */
export async function createOnCluster(
  url: string,
  name: string,
  isMigrated: boolean,
): Promise<string> {
  const nodes = await nodesOf(url);
  for (const node of nodes) {
    await run(urlOn(url, node), (client) => client.query(`CREATE DATABASE ${name}`));
    await run(urlOn(url, node, name), (client) => client.query('CREATE EXTENSION citus'));
  }
  const [coordinator, ...workers] = nodes;
  if (coordinator?.isCoordinator !== true) throw new Error('the cluster has no coordinator');
  const own = urlOn(url, coordinator, name);
  await run(own, async (client) => {
    const { host, port } = coordinator;
    await client.query('SELECT citus_set_coordinator_host($1, $2)', [host, port]);
    for (const worker of workers) {
      await client.query('SELECT citus_add_node($1, $2)', [worker.host, worker.port]);
    }
  });
  if (isMigrated) await prepare(own, SHARDS);
  return own;
}

/** Removes a database from every node. */
export async function dropFromCluster(url: string, name: string): Promise<void> {
  for (const node of await nodesOf(url)) {
    await run(urlOn(url, node), (client) =>
      client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    );
  }
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** of the telemetry of this project's databases */
    placement: TelemetryPlacement;
  }
}

/** Says where the databases are to be created. */
export default function setUp(project: TestProject): void {
  if (citusUrl === null) throw new Error('CITUS_DATABASE_URL is not set');
  project.provide('databaseUrl', citusUrl);
  project.provide('migratedTemplate', 'migrated');
  project.provide('placement', 'distributed');
}
