/**
 * A primary with its standby. Reads go to the standby, and to the primary while that is behind, away or
 * cancels them. Then the primary is killed and its standby promoted, while telemetry arrives: a server
 * that knows both hosts finds the new primary by itself, and nothing that it acknowledged is lost.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Database } from '../../src/db/database.ts';
import { ReadReplica } from '../../src/db/replica/read-replica.ts';
import { READ_TURNS } from '../../src/main/connection-shares.ts';
import { type Cluster, openCluster } from '../chaos/cluster.ts';
import { runCommand } from '../support/command.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { type Reader, spansWithIds } from '../support/stored-blocks.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser } from './browser.ts';
import { openEyes, post, rawSpan, read, request, traceBody } from './gateway.ts';

const SENDERS = 4;
const HAPPENS_WITHIN_MS = 120_000;
const READER = { workspaceId: 1 };

let cluster: Cluster;
let server: TestServer;
beforeAll(async () => {
  cluster = await openCluster();
  const [one = 0, two = 0] = cluster.ports;
  const both = cluster.url(one).replace(`:${one}/`, `:${one},127.0.0.1:${two}/`);
  server = await startServer({
    DATABASE_URL: `${both}?target_session_attrs=read-write`,
    DATABASE_READ_URL: cluster.url(two),
    DATABASE_READ_LAG_MAX_MS: '600000',
  });
});
afterAll(async () => {
  await server?.stop();
  await cluster?.close();
});

const acknowledged: string[] = [];
const statuses = new Set<number>();

async function send(): Promise<number> {
  const span = rawSpan();
  const key = server.firstKeys?.agent ?? '';
  const { status } = await post(`${server.observeUrl}/v1/traces`, key, traceBody([span]));
  statuses.add(status);
  if (status === 200) acknowledged.push(span.spanId);
  return status;
}

const metric = async (name: string): Promise<number> => {
  const { text } = await request(server.metricsUrl);
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
};

/** Another process's replica. */
async function withReplica(
  lagMaxMs: number,
  work: (replica: ReadReplica, primary: Database, fallbacks: string[]) => Promise<void>,
): Promise<void> {
  const [one = 0, two = 0] = cluster.ports;
  const primary = openEyes(cluster.url(one));
  const fallbacks: string[] = [];
  const settings = { url: cluster.url(two), lagMaxMs, turns: READ_TURNS };
  const replica = new ReadReplica(primary, settings, {
    replicaUsed: () => {},
    replicaUnused: () => {},
    replicaMeasured: () => {},
    replicaFellBack: (reason) => fallbacks.push(reason),
    connectionLost: () => {},
  });
  try {
    await waitFor(() => replica.isUsable(), {
      withinMs: HAPPENS_WITHIN_MS,
      what: 'the replica is used',
    });
    await work(replica, primary, fallbacks);
  } finally {
    await replica.close();
    await primary.end();
  }
}

const whileStandbyPauses = async (work: () => Promise<void>): Promise<void> => {
  await cluster.askStandby('SELECT pg_wal_replay_pause()');
  try {
    await waitFor(
      async () =>
        (await cluster.askStandby('SELECT pg_get_wal_replay_pause_state() AS state'))[0]?.state ===
        'paused',
      { withinMs: HAPPENS_WITHIN_MS, what: 'the standby has stopped replaying' },
    );
    await work();
  } finally {
    await cluster.askStandby('SELECT pg_wal_replay_resume()');
  }
};

const isStandby = async (database: Database): Promise<boolean> => {
  const { rows } = await database.query<{ yes: boolean }>('SELECT pg_is_in_recovery() AS yes');
  return rows[0]?.yes ?? false;
};
/** Takes long on the standby only. */
const slowly =
  (name: string) =>
  async (database: Database): Promise<boolean> => {
    const { rows } = await database.query<{ yes: boolean }>(
      `SELECT pg_is_in_recovery() AS yes, '${name}',
              CASE WHEN pg_is_in_recovery() THEN pg_sleep(25) END
         FROM (SELECT count(*) FROM conflicts) AS c`,
    );
    return rows[0]?.yes ?? false;
  };
const isBegun = (name: string) =>
  waitFor(
    async () =>
      (
        await cluster.askStandby(
          `SELECT 1 FROM pg_stat_activity
            WHERE wait_event = 'PgSleep' AND strpos(query, $1) > 0 AND pid <> pg_backend_pid()`,
          [name],
        )
      ).length > 0,
    { withinMs: HAPPENS_WITHIN_MS, what: 'the standby is read' },
  );

describe('a read replica', () => {
  interface Runs {
    readonly data: readonly { readonly run_id: string }[];
  }
  const listed = async (): Promise<string> =>
    JSON.stringify(
      await read<Runs>(`${server.baseUrl}/platform/v1/runs`, server.firstKeys?.workspace ?? ''),
    );

  test('answers the API and pages; who has changed something reads the primary', async () => {
    await waitFor(async () => (await metric('sluice_replica_used')) === 1, {
      withinMs: HAPPENS_WITHIN_MS,
      what: 'the replica is used',
    });
    const ready = await request(`${server.baseUrl}/ready`);
    expect(JSON.parse(ready.text).degraded).toBeUndefined();
    const { agent = '', workspace = '', owner } = server.firstKeys ?? {};
    const browser = new Browser(server.baseUrl);
    await browser.submit('/app/sign-in', {
      email: owner?.email ?? '',
      password: owner?.password ?? '',
    });
    expect(browser.cookies.get('sluice_changed')).toBe('1');
    const other = new Browser(server.baseUrl, browser.token);
    const span = rawSpan();
    await whileStandbyPauses(async () => {
      const { status } = await post(`${server.observeUrl}/v1/traces`, agent, traceBody([span]));
      expect(status).toBe(200);
      expect(await listed()).not.toContain(span.traceId);
      expect((await other.get('/app/runs')).text).not.toContain(span.traceId);
      expect((await browser.get('/app/runs')).text).toContain(span.traceId);
      // What the replica does not have is looked for on the primary: no link leads nowhere.
      await read(`${server.baseUrl}/platform/v1/runs/${span.traceId}`, workspace);
      expect((await other.get(`/app/runs/${span.traceId}`)).status).toBe(200);
    });
    await waitFor(async () => (await listed()).includes(span.traceId), {
      withinMs: HAPPENS_WITHIN_MS,
      what: 'the replica has the run',
    });
    expect((await other.get('/app/runs')).text).toContain(span.traceId);
    expect(await metric('sluice_replica_lag_seconds')).toBeLessThan(60);
    for (const who of [other, browser]) {
      expect((await who.get('/app')).text).toMatch(/Read replica: at most [\d.]+ (ms|s) behind/);
    }
  });

  test('is judged by doctor as by a server', async () => {
    const [one = 0, two = 0] = cluster.ports;
    const replicaLine = async (url: string): Promise<string> => {
      const { stdout } = await runCommand(['doctor'], {
        DATABASE_URL: cluster.url(one),
        DATABASE_READ_URL: url,
        DATABASE_READ_LAG_MAX_MS: '1000',
      });
      return /^ *(\w+ +Read replica.*)$/m.exec(stdout)?.[1] ?? stdout;
    };
    expect(await replicaLine(cluster.url(two))).toMatch(/^ok +Read replica +reads go to it/);
    expect(await replicaLine(cluster.url(one))).toMatch(/^problem .*does not lead to a standby/);
    await whileStandbyPauses(async () => {
      await cluster.ask("SELECT pg_logical_emit_message(true, 'test', 'doctor')");
      expect(await replicaLine(cluster.url(two))).toMatch(
        /^warning .*the primary: it is 1 s behind/,
      );
    });
  });

  test('that falls behind is left, with the reads under way, and used again later', async () => {
    await cluster.ask('CREATE TABLE conflicts (); GRANT ALL ON conflicts TO PUBLIC');
    await withReplica(1000, async (replica, primary, fallbacks) => {
      const { read, settledBefore } = replica.over(() => primary);
      const from = <T>(work: (database: Database) => Promise<T>): Promise<T> => read(READER, work);
      expect(await from(isStandby)).toBe(true);
      const settled = await settledBefore(READER);
      await whileStandbyPauses(async () => {
        const slow = from(slowly('behind'));
        await isBegun('behind');
        await cluster.ask("SELECT pg_logical_emit_message(true, 'test', 'behind')");
        expect(await slow).toBe(false);
        expect(replica.isUsable()).toBe(false);
        expect(await from(isStandby)).toBe(false);
        expect(fallbacks).toEqual(['failed', 'behind']);
        await expect(replica.check()).rejects.toThrow('behind');
      });
      await waitFor(() => replica.isUsable(), {
        withinMs: HAPPENS_WITHIN_MS,
        what: 'the replica has caught up',
      });
      expect(await from(isStandby)).toBe(true);
      expect(BigInt(await settledBefore(READER))).toBeGreaterThan(BigInt(settled));
    });
  });

  test('that cancels a read because of a conflict is read from the primary instead', async () => {
    await cluster.askStandby('ALTER SYSTEM SET max_standby_streaming_delay = 0');
    await cluster.askStandby('SELECT pg_reload_conf()');
    // However slow the machine is, the standby is not left for its lag.
    await withReplica(HAPPENS_WITHIN_MS, async (replica, primary, fallbacks) => {
      const slow = replica.over(() => primary).read(READER, slowly('cancelled'));
      await isBegun('cancelled');
      await cluster.ask('TRUNCATE conflicts');
      expect(await slow).toBe(false);
      expect(fallbacks).toEqual(['conflict']);
    });
  });

  test.each([
    ['a server that takes writes', 0, '/sluice'],
    ['the standby of another database', 1, '/postgres'],
  ])('is not %s', async (_, server, database) => {
    const [one = 0] = cluster.ports;
    const primary = openEyes(cluster.url(one));
    const failures: string[] = [];
    const url = new URL(cluster.url(cluster.ports[server] ?? 0));
    url.pathname = database;
    const settings = { url: url.href, lagMaxMs: 1000, turns: READ_TURNS };
    const replica = new ReadReplica(primary, settings, {
      replicaUsed: () => {},
      replicaUnused: (error) => failures.push(String(error)),
      replicaMeasured: () => {},
      replicaFellBack: () => {},
      connectionLost: () => {},
    });
    try {
      await waitFor(() => failures.length > 0, {
        withinMs: HAPPENS_WITHIN_MS,
        what: 'the replica is refused',
      });
      expect(failures[0]).toContain('does not lead to a standby of the database');
      expect(replica.isUsable()).toBe(false);
    } finally {
      await replica.close();
      await primary.end();
    }
  });
});

const isReady = async (): Promise<boolean> =>
  (await request(`${server.baseUrl}/ready`)).status === 200;

test('after a promotion ingest continues, without a row lost and without a resource missing', async () => {
  let isSending = true;
  const sending = Array.from({ length: SENDERS }, async () => {
    while (isSending) await send();
  });
  await waitFor(() => acknowledged.length > 50, {
    withinMs: HAPPENS_WITHIN_MS,
    what: 'telemetry arrives',
  });
  const unready = waitFor(async () => !(await isReady()), {
    withinMs: HAPPENS_WITHIN_MS,
    what: '/ready says 503',
  });
  await cluster.promote(() => {});
  await unready;
  const before = acknowledged.length;
  await waitFor(isReady, { withinMs: HAPPENS_WITHIN_MS, what: '/ready says 200' });
  await waitFor(() => acknowledged.length > before + 50, {
    withinMs: HAPPENS_WITHIN_MS,
    what: 'telemetry arrives at the new primary',
  });
  isSending = false;
  await Promise.all(sending);

  expect([...statuses].sort()).toEqual([200, 503]);
  const query = async (sql: string, values: unknown[]) => ({
    rows: await cluster.ask(sql, values),
  });
  const stored = await spansWithIds({ query } as Reader, acknowledged);
  const ids = stored.map(({ record }) => record.spanId);
  expect(new Set(ids).size).toBe(acknowledged.length);
});

test('the standby that was promoted is no replica any more: reads go to the primary', async () => {
  await waitFor(async () => (await metric('sluice_replica_used')) === 0, {
    withinMs: HAPPENS_WITHIN_MS,
    what: 'the replica is not used',
  });
  const seen = { status: 0, degraded: undefined };
  // Results of probes are reused for a second.
  await waitFor(
    async () => {
      const { status, text } = await request(`${server.baseUrl}/ready`);
      Object.assign(seen, { status, degraded: JSON.parse(text).degraded });
      return seen.degraded !== undefined;
    },
    { withinMs: HAPPENS_WITHIN_MS, what: '/ready names what is degraded' },
  );
  expect(seen).toEqual({ status: 200, degraded: ['replica'] });
  const headers = { authorization: `Bearer ${server.firstKeys?.workspace}` };
  // A pool may first lose the connections that it still has to the former primary.
  await waitFor(
    async () => (await request(`${server.baseUrl}/platform/v1/runs`, { headers })).status === 200,
    { withinMs: HAPPENS_WITHIN_MS, what: 'runs are read from the new primary' },
  );
});
