/**
 * What does one tenant's flood cost another? A quiet workspace sends a hundred spans twenty times a
 * second, alone and beside a flood: 256 connections that send bodies of 1.8 MB as fast as they are
 * answered or refused. Each tenant is a separate process. Given the folder of another checkout, its
 * server is measured alternately with this one, on a separate database.
 *
 *   each round, each server:  clear ──► quiet alone ──► clear ──► flood, quiet beside it ──► rows counted
 */
import pg from 'pg';
import { emptyTables } from '../empty-tables.ts';
import { log, pause, VoidRun } from '../harness.ts';
import type { BodyKind } from '../ingest/requests.ts';
import { LoadProcess } from '../load-process.ts';
import { type MachineFacts, machineFacts } from '../machine.ts';
import { type ServerUnderTest, startServer } from '../server-under-test.ts';
import { countRecords } from '../stored-records.ts';
import type { FairnessLoad, FairnessPlan } from './load-plan.ts';
import { addWorkspace } from './workspaces.ts';

const TENANT_PROCESS = new URL('load-process.ts', import.meta.url);
const QUIET_SPANS = 100;
const FLOOD_SPANS = 1150;
const QUIET: BodyKind = { signal: 'traces', rows: QUIET_SPANS, gzip: false };
const FLOOD: BodyKind = { signal: 'traces', rows: FLOOD_SPANS, gzip: false };
const QUIET_PER_SECOND = 20;
const QUIET_CONNECTIONS = 16;
const FLOOD_CONNECTIONS = 256;
/** Time between the start of the flood and of the measurement beside it. */
const FLOOD_FIRST_SECONDS = 3;
/** Requests that timed out may still be stored, also after the next round has emptied the tables. */
const SETTLED_MS = 2000;
const SETTLES_WITHIN_MS = 60_000;
/** Warm-up, so that the first round does not include one-time costs. */
const WARM_UP_SECONDS = 4;

export interface FairnessOptions {
  readonly rounds: number;
  /** duration of each measurement of the quiet tenant */
  readonly seconds: number;
  /** the folder of another checkout with its node_modules, or null */
  readonly beside: string | null;
}

export interface FairnessRound {
  readonly alone: FairnessLoad;
  readonly beside: FairnessLoad;
  readonly flood: FairnessLoad;
}

export interface FairnessResult extends FairnessOptions {
  readonly name: 'fairness';
  readonly machine: MachineFacts;
  readonly floodBodyBytes: number;
  readonly servers: readonly { readonly name: string; readonly rounds: readonly FairnessRound[] }[];
}

interface Stage {
  readonly name: string;
  readonly server: ServerUnderTest;
  readonly client: pg.Client;
  readonly quiet: { readonly id: number; readonly key: string };
  readonly flood: { readonly id: number; readonly key: string };
}

type Tenant = LoadProcess<FairnessPlan, FairnessLoad>;

interface Tenants {
  readonly quiet: Tenant;
  readonly flood: Tenant;
}

async function openStage(name: string, root: string | undefined): Promise<Stage> {
  const server = await startServer({}, { root });
  const client = new pg.Client({ connectionString: server.databaseUrl });
  await client.connect();
  const quiet = await addWorkspace(client, 'quiet');
  return { name, server, client, quiet, flood: await addWorkspace(client, 'flood') };
}

async function clear({ client }: Stage): Promise<void> {
  await emptyTables(client);
  await client.query('CHECKPOINT');
}

const planOf = (
  { server }: Stage,
  key: string,
  load: Pick<FairnessPlan, 'kind' | 'connections' | 'seconds' | 'perSecond'>,
): FairnessPlan => ({ url: new URL('/v1/traces', server.observeUrl).href, key, ...load });

/**
 * Checks that the rows of every request answered 200 are stored, and none of refused ones. Rows of
 * requests without a status may be stored or not.
 *
 * @throws {VoidRun} when other rows are stored
 */
async function check(
  { client }: Stage,
  workspaceId: number,
  { stored, lost }: FairnessLoad,
  rowsPerBody: number,
): Promise<void> {
  const endsAt = performance.now() + SETTLES_WITHIN_MS;
  let [seen, changedAt] = [Number.NaN, 0];
  for (;;) {
    const bodies = (await countRecords(client, 'traces', workspaceId)) / rowsPerBody;
    const now = performance.now();
    if (bodies !== seen) [seen, changedAt] = [bodies, now];
    const isSettled = lost === 0 || now - changedAt >= SETTLED_MS;
    const isRight = Number.isInteger(bodies) && bodies >= stored && bodies <= stored + lost;
    if (isRight && isSettled) return;
    if (now > endsAt) {
      throw new VoidRun(`${bodies} bodies stored, ${stored} acknowledged, ${lost} without answer`);
    }
    await pause(200);
  }
}

const quietLoad = (seconds: number) => ({
  kind: QUIET,
  connections: QUIET_CONNECTIONS,
  seconds,
  perSecond: QUIET_PER_SECOND,
});

async function measureAlone(stage: Stage, tenants: Tenants, seconds: number) {
  await clear(stage);
  await tenants.quiet.prepare(planOf(stage, stage.quiet.key, quietLoad(seconds)));
  const alone = await tenants.quiet.send();
  await check(stage, stage.quiet.id, alone, QUIET_SPANS);
  return alone;
}

async function measureBeside(stage: Stage, tenants: Tenants, seconds: number) {
  await clear(stage);
  await tenants.flood.prepare(
    planOf(stage, stage.flood.key, {
      kind: FLOOD,
      connections: FLOOD_CONNECTIONS,
      seconds: FLOOD_FIRST_SECONDS + seconds,
      perSecond: null,
    }),
  );
  const flooding = tenants.flood.send();
  flooding.catch(() => {});
  await pause(FLOOD_FIRST_SECONDS * 1000);
  await tenants.quiet.prepare(planOf(stage, stage.quiet.key, quietLoad(seconds)));
  const beside = await tenants.quiet.send();
  const flood = await flooding;
  await check(stage, stage.quiet.id, beside, QUIET_SPANS);
  await check(stage, stage.flood.id, flood, FLOOD_SPANS);
  return { beside, flood };
}

async function measureRound(
  stage: Stage,
  tenants: Tenants,
  seconds: number,
): Promise<FairnessRound> {
  const alone = await measureAlone(stage, tenants, seconds);
  const round = { alone, ...(await measureBeside(stage, tenants, seconds)) };
  const { beside, flood } = round;
  log(
    `${stage.name}: p99 ${alone.storedLatency.p99} ms alone, ${beside.storedLatency.p99} beside; ` +
      `quiet ${beside.stored} stored, ${beside.refused} refused, ${beside.lost} lost; ` +
      `flood ${flood.stored}, ${flood.refused} in ${flood.refusedLatency.p99} ms, ${flood.lost}`,
  );
  return round;
}

/** Runs the benchmark. @throws {VoidRun} when what is stored is not what was acknowledged */
export async function fairnessBench(options: FairnessOptions): Promise<FairnessResult> {
  const machine = machineFacts();
  const stages: Stage[] = [];
  const tenants: Tenants = {
    quiet: new LoadProcess(TENANT_PROCESS),
    flood: new LoadProcess(TENANT_PROCESS),
  };
  try {
    stages.push(await openStage('this', undefined));
    if (options.beside !== null) stages.push(await openStage('before', options.beside));
    for (const stage of stages) await measureRound(stage, tenants, WARM_UP_SECONDS);
    const servers = stages.map(({ name }) => ({ name, rounds: [] as FairnessRound[] }));
    for (let round = 0; round < options.rounds; round += 1) {
      const order = [...stages.entries()];
      for (const [place, stage] of round % 2 === 0 ? order : order.reverse()) {
        servers[place]?.rounds.push(await measureRound(stage, tenants, options.seconds));
      }
    }
    const floodBodyBytes = FLOOD_SPANS * 1563;
    // The path of the other checkout is not published.
    const beside = options.beside === null ? null : 'another checkout';
    return { name: 'fairness', machine, ...options, beside, floodBodyBytes, servers };
  } finally {
    await Promise.all([tenants.quiet.close(), tenants.flood.close()]);
    for (const { client, server } of stages) {
      await client.end();
      await server.close();
    }
  }
}
