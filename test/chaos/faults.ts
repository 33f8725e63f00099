/** How each fault is brought about and ended. */
import { setTimeout as sleep } from 'node:timers/promises';

import type { TestRedis } from '../support/redis.ts';
import type { Cluster } from './cluster.ts';
import { dropHotDay } from './hot-day.ts';
import type { Load } from './load.ts';
import type { Fault, Round } from './schedule.ts';
import type { Sluice } from './servers.ts';

const DAYS_40_MS = 40 * 86_400_000;
const DELAY_MS = 500;

export interface Parts {
  readonly cluster: Cluster;
  readonly servers: readonly Sluice[];
  readonly redis: TestRedis;
  readonly load: Load;
  /** numbers from 0 to below 1 */
  readonly random: () => number;
}

type Act = (parts: Parts & { readonly server: Sluice; readonly lastsMs: number }) => Promise<void>;

const OWN_BACKENDS = "FROM pg_stat_activity WHERE usename = 'sluice' AND pid <> pg_backend_pid()";

const withClock =
  (shiftMs: number): Act =>
  async ({ server }) => {
    await server.stop();
    await server.start(shiftMs);
    await server.stop();
    await server.start();
  };

/** What happens while a hot day is packed and dropped. */
const WHILE_A_DAY_ENDS: readonly Fault[] = [
  'kill-server',
  'pause-server',
  'kill-postgres',
  'kill-backend',
  'end-backends',
  'cancel-statements',
  'promote',
  'cut-database',
];
const DAY_ENDS_WITHIN_MS = 1_000;

/** Each resolves when the fault has ended and its part runs again. */
const ACTS: Readonly<Record<Fault, Act>> = {
  'kill-server': async ({ server, lastsMs }) => {
    await server.kill();
    await sleep(lastsMs);
    await server.start();
  },
  'stop-server': async ({ server }) => {
    await server.stop();
    await server.start();
  },
  'pause-server': async ({ server, lastsMs }) => {
    const resume = server.freeze();
    await sleep(lastsMs);
    resume();
  },
  'clock-ahead': withClock(DAYS_40_MS),
  'clock-behind': withClock(-DAYS_40_MS),
  'kill-postgres': async ({ cluster }) => {
    await cluster.kill();
    await cluster.start();
  },
  'hang-postgres': async ({ cluster, lastsMs }) => {
    const resume = cluster.hang();
    await sleep(lastsMs);
    resume();
  },
  'kill-backend': async ({ cluster, random }) => await cluster.killBackend(random),
  'end-backends': async ({ cluster }) => {
    await cluster.ask(`SELECT pg_terminate_backend(pid) ${OWN_BACKENDS}`);
  },
  'cancel-statements': async ({ cluster }) => {
    await cluster.ask(`SELECT pg_cancel_backend(pid) ${OWN_BACKENDS}`);
  },
  'kill-standby': async ({ cluster, lastsMs }) => {
    await cluster.killStandby();
    await sleep(lastsMs);
    await cluster.startStandby();
  },
  promote: async ({ cluster, servers }) => {
    await cluster.promote(() => {
      for (const { proxy } of servers) proxy.pointTo(cluster.port());
    });
  },
  'disk-full': async ({ cluster, lastsMs }) => {
    await cluster.fillDisk();
    await sleep(lastsMs);
    await cluster.freeDisk();
  },
  'cut-database': async ({ server, lastsMs }) => {
    server.proxy.change({ is: 'cut' });
    await sleep(lastsMs);
    server.proxy.change({ is: 'up' });
  },
  'drop-database': async ({ server, lastsMs }) => {
    server.proxy.change({ is: 'dropping' });
    await sleep(lastsMs);
    server.proxy.change({ is: 'up' });
  },
  'delay-database': async ({ server, lastsMs, random }) => {
    server.proxy.change({ is: 'slow', upToMs: DELAY_MS }, random);
    await sleep(lastsMs);
    server.proxy.change({ is: 'up' });
  },
  'cut-clients': async ({ load, lastsMs }) => {
    load.cutAnswers(true);
    await sleep(lastsMs);
    load.cutAnswers(false);
  },
  'drop-hot-day': async (parts) => {
    const { cluster, random, server } = parts;
    const kind = WHILE_A_DAY_ENDS[Math.floor(random() * WHILE_A_DAY_ENDS.length)] as Fault;
    const lastsMs = random() * DAY_ENDS_WITHIN_MS;
    await dropHotDay({
      cluster,
      random,
      restart: async () => {
        await server.kill();
        await server.start();
      },
      log: server.log,
      disturb: () => ACTS[kind]({ ...parts, lastsMs }),
    });
  },
  'kill-redis': async ({ redis, lastsMs }) => {
    await redis.kill();
    await sleep(lastsMs);
    await redis.restart();
  },
  'hang-redis': async ({ redis, lastsMs }) => {
    redis.freeze();
    await sleep(lastsMs);
    redis.thaw();
  },
};

/** Brings a round's fault about and ends it. */
export async function apply(round: Round, parts: Parts): Promise<void> {
  const server = parts.servers[round.server];
  if (server === undefined) throw new Error(`there is no server ${round.server}`);
  await ACTS[round.fault]({ ...parts, server, lastsMs: round.lastsMs });
}
