/**
 * Three processes, in `npm test` two, over one PostgreSQL and one Redis, behind HAProxy with the configuration that compose
 * uses: a key's limit is that of all together, each run is evaluated once, and while they are restarted
 * one after the other under load no request is refused and none is stored twice.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { shippedHaproxy } from '../deploy/shipped-haproxy.ts';
import { casesOf, isExhaustive } from '../support/cases.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { canStartRedis, haproxyPath, mustRunAll } from '../support/programs.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { findFreePort } from '../support/sockets.ts';
import { spansWithIds } from '../support/stored-blocks.ts';
import { quickAttempt, waitFor } from '../support/wait-for.ts';
import { addKey, openEyes, rawSpan, request, traceBody } from './gateway.ts';

const PROCESSES = isExhaustive ? 3 : 2;
const WITHIN_MS = 120_000;
const CONNECTIONS = 6;
const LIMIT = casesOf(200, 2);
const WINDOW_MS = 60_000;
/** Between two requests of a connection while processes restart: load, and cores left for them. */
const PAUSE_MS = isExhaustive ? 0 : 300;

interface Sent {
  readonly status: number;
  /** says why, if it is refused */
  readonly text: string;
  readonly span: string;
}

describe.skipIf(!(haproxyPath !== null && canStartRedis) && !mustRunAll)(
  'several processes',
  () => {
    let home: TestDatabase;
    let database: ReturnType<typeof openEyes>;
    let redis: TestRedis;
    let folder: string;
    let haproxy: ChildProcess | null = null;
    let observeUrl: string;
    const servers: TestServer[] = [];
    const ports: { base: number; observe: number }[] = [];
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

    const start = (at: number): Promise<TestServer> => {
      const { base = 0, observe = 0 } = ports[at] ?? {};
      return startServer({
        DATABASE_URL: home.url,
        REDIS_URL: redis.url,
        PORT: String(base),
        OBSERVE_PORT: String(observe),
        DRAIN_MS: '3000',
        RUN_SETTLE_MS: '0',
      });
    };

    beforeAll(async () => {
      home = await createTestDatabase({ template: inject('migratedTemplate') });
      database = openEyes(home.url);
      redis = await startRedis();
      for (let at = 0; at < PROCESSES; at += 1) {
        ports.push({ base: await findFreePort(), observe: await findFreePort() });
      }
      servers.push(await start(0));
      const others = Array.from({ length: PROCESSES - 1 }, (_, at) => start(at + 1));
      servers.push(...(await Promise.all(others)));
      const [base, observe] = [await findFreePort(), await findFreePort()];
      folder = await mkdtemp(join(tmpdir(), 'sluice-haproxy-'));
      const file = join(folder, 'haproxy.cfg');
      await writeFile(file, shippedHaproxy({ base, observe }, ports));
      haproxy = spawn(haproxyPath ?? 'haproxy', ['-f', file, '-db'], { stdio: 'ignore' });
      observeUrl = `http://127.0.0.1:${observe}`;
      await waitFor(
        async () => (await fetch(`${observeUrl}/ready`).catch(() => null))?.status === 200,
        { withinMs: WITHIN_MS, what: 'HAProxy has a ready server' },
      );
    });
    afterAll(async () => {
      agent.destroy();
      for (const server of servers) await server.stop();
      if (haproxy !== null) {
        const ended = once(haproxy, 'exit');
        haproxy.kill('SIGKILL');
        await ended;
      }
      await redis?.kill();
      await database?.end();
      await home?.drop();
      await rm(folder, { recursive: true, force: true });
    });

    /** Posts a run of one span, on a connection that is kept; a broken one is status 0. */
    const send = (key: string): Promise<Sent> =>
      new Promise((resolve) => {
        const span = rawSpan();
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
        const url = `${observeUrl}/v1/traces`;
        const outgoing = httpRequest(url, { method: 'POST', agent, headers }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => {
            text += part;
          });
          const done = () => resolve({ status: response.statusCode ?? 0, text, span: span.spanId });
          response.once('end', done);
        });
        outgoing.once('error', () => resolve({ status: 0, text: '', span: span.spanId }));
        outgoing.end(JSON.stringify(traceBody([span])));
      });
    const sendMany = async (
      key: string,
      isDone: (sent: number) => boolean,
      pauseMs = 0,
    ): Promise<Sent[]> => {
      const all: Sent[] = [];
      let begun = 0;
      const sender = async (): Promise<void> => {
        while (!isDone(begun)) {
          begun += 1;
          all.push(await send(key));
          if (pauseMs > 0) await sleep(pauseMs);
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, sender));
      return all;
    };
    const newKey = async (limit: number): Promise<string> =>
      await addKey(database, (await findWorkspace(database, 'default')).id, 'agent', limit);
    /** A metric of all processes together. */
    const sumOf = async (name: string): Promise<number> => {
      const texts = await Promise.all(servers.map(({ metricsUrl }) => request(metricsUrl)));
      const values = texts.map(({ text }) => {
        const line = text.split('\n').find((one) => one.startsWith(`${name} `));
        return Number(line?.slice(name.length + 1) ?? 0);
      });
      return values.reduce((sum, value) => sum + value, 0);
    };
    const runs = async (): Promise<Record<string, number>> => {
      const { rows } = await database.query<{ evaluation: string; runs: number }>(
        'SELECT evaluation, count(*)::int AS runs FROM runs GROUP BY 1',
      );
      return Object.fromEntries(rows.map((row) => [row.evaluation, row.runs]));
    };
    const allEvaluated = (expected: number) =>
      waitFor(async () => (await runs()).evaluated === expected, {
        withinMs: WITHIN_MS,
        what: `${expected} runs are evaluated`,
      });

    let stored = 0;

    test('admit what a key may send, and evaluate each run once', async () => {
      await waitFor(async () => (await sumOf('sluice_limits_shared')) === PROCESSES, {
        withinMs: WITHIN_MS,
        what: 'Redis answers each process',
      });
      const burst = async (): Promise<{ admitted: number; alone: number }> => {
        const before = await sumOf('sluice_limits_counted_here_total');
        const sent = await sendMany(await newKey(LIMIT), (begun) => begun >= 2 * LIMIT);
        const statuses = new Set(sent.map(({ status }) => status));
        expect([...statuses].sort()).toEqual([200, 429]);
        const admitted = sent.filter(({ status }) => status === 200).length;
        stored += admitted;
        return { admitted, alone: (await sumOf('sluice_limits_counted_here_total')) - before };
      };
      // On a busy machine Redis may answer too late, and then a process counts alone, or so late that it
      // counts ahead as for another region, and some of that is not used.
      const { admitted } = await quickAttempt(
        WINDOW_MS,
        burst,
        (result) => result.alone === 0 && result.admitted >= LIMIT,
      );
      expect(admitted).toBe(LIMIT);
      await allEvaluated(stored);
      // A process counts a run when its thread has reported, after the run is stored as evaluated.
      const evaluated = () => sumOf('sluice_pass_runs_total{outcome="evaluated"}');
      await waitFor(async () => (await evaluated()) >= stored, {
        withinMs: WITHIN_MS,
        what: 'each evaluation is counted',
      });
      expect(await evaluated()).toBe(stored);
    });

    test('are restarted one after the other, and no request is refused or stored twice', async () => {
      let isOver = false;
      const sending = sendMany(await newKey(100_000), () => isOver, PAUSE_MS);
      for (const [at, server] of servers.entries()) {
        expect(await server.stop()).toEqual({ code: 0, signal: null });
        const restarted = await start(at);
        servers[at] = restarted;
        // As with any balancer, the next process is stopped when HAProxy sends requests to this one again.
        const isUsed = async () =>
          (await (await fetch(restarted.metricsUrl)).text()).includes(
            'sluice_ingest_requests_total{signal="traces",status="200"}',
          );
        await waitFor(isUsed, { withinMs: WITHIN_MS, what: 'HAProxy uses the restarted process' });
      }
      isOver = true;
      const sent = await sending;
      expect(sent.filter(({ status }) => status !== 200)).toEqual([]);
      const ids = sent.map(({ span }) => span);
      const kept = (await spansWithIds(database, ids)).map(({ record }) => record.spanId);
      expect(kept).toHaveLength(sent.length);
      expect(new Set(kept).size).toBe(sent.length);
      stored += sent.length;
      await allEvaluated(stored);
      expect(await runs()).toEqual({ evaluated: stored });
    });
  },
);
