/**
 * 200 means committed: whatever ends the server in the middle of a burst (kill -9, the machine, a
 * clean stop), every span it has acknowledged is there after the next start, once, and a request
 * that was not answered is stored whole or not at all; sent again, it is there once.
 */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { startEmbedded } from '../../src/db/embedded/connect.ts';
import { findServer } from '../../src/db/embedded/server.ts';
import { copyCluster } from '../support/cluster.ts';
import { runCommand } from '../support/command.ts';
import {
  createDataDirectory,
  type DataDirectory,
  startServer,
  type TestServer,
} from '../support/server.ts';
import { spansWithIds } from '../support/stored-blocks.ts';
import { waitFor } from '../support/wait-for.ts';
import { openEyes, post, rawSpan, traceBody } from './gateway.ts';

const SENDERS = 8;
const SPANS_PER_REQUEST = 10;
/** Enough that batches are being filled and committed when the blow falls. */
const ANSWERED_MIN = 60;
const BURST_WITHIN_MS = 30_000;
const silent = { info: () => {}, warn: () => {} };

let folder: DataDirectory;
let keys: TestServer['firstKeys'] = null;
let server: TestServer;

beforeAll(async () => {
  folder = await createDataDirectory();
  await copyCluster(inject('clusterFolder'), folder.path);
  server = await startServer({ DATA_DIR: folder.path });
  keys = server.firstKeys;
});
afterAll(async () => {
  await server.kill();
  await folder.remove();
});

interface Sent {
  readonly body: unknown;
  readonly spanIds: readonly string[];
  /** status of the answer; null when the connection broke */
  readonly status: number | null;
}

interface Burst {
  readonly sent: readonly Sent[];
  /** resolves when every sender has met a server that no longer takes its requests */
  readonly over: Promise<void>;
}

/** Sends request after request over several connections until the server is gone. */
function startBurst({ observeUrl }: TestServer): Burst {
  const sent: Sent[] = [];
  const sendOn = async (): Promise<void> => {
    for (;;) {
      const spans = Array.from({ length: SPANS_PER_REQUEST }, () => rawSpan());
      const spanIds = spans.map(({ spanId }) => spanId);
      // fetch rejects when the connection breaks or is refused, which is what is waited for here.
      const body = traceBody(spans);
      const answer = await post(`${observeUrl}/v1/traces`, keys?.agent ?? '', body).catch(
        () => null,
      );
      sent.push({ body, spanIds, status: answer?.status ?? null });
      if (answer?.status !== 200) return;
    }
  };
  return { sent, over: Promise.all(Array.from({ length: SENDERS }, sendOn)).then(() => {}) };
}

async function underWay(burst: Burst): Promise<void> {
  await waitFor(() => burst.sent.length >= ANSWERED_MIN, {
    withinMs: BURST_WITHIN_MS,
    what: `${ANSWERED_MIN} requests of the burst are answered`,
  });
}

/**
 * Compares what was answered with what PostgreSQL holds.
 *
 * @param inDoubt whether a request may be stored whose answer never came, or was 503
 */
async function expectKept(url: string, { sent }: Burst, inDoubt: boolean): Promise<void> {
  const eyes = openEyes(url);
  try {
    const ids = (
      await spansWithIds(
        eyes,
        sent.flatMap(({ spanIds }) => spanIds),
      )
    ).map(({ record }) => record.spanId);
    const stored = new Set(ids);
    expect(ids).toHaveLength(stored.size);
    const wrong = sent.filter(({ spanIds, status }) => {
      const kept = spanIds.filter((id) => stored.has(id)).length;
      if (status === 200) return kept !== SPANS_PER_REQUEST;
      if ((status === null || status === 503) && inDoubt)
        return kept !== 0 && kept !== SPANS_PER_REQUEST;
      return kept !== 0;
    });
    expect(wrong).toEqual([]);
    expect(sent.filter(({ status }) => status === 200).length).toBeGreaterThan(SENDERS);
  } finally {
    await eyes.end();
  }
}

/** Uses the embedded database as a command does. */
async function withDatabase(work: (url: string) => Promise<void>): Promise<void> {
  const database = await startEmbedded({ dataDir: folder.path, log: silent, serves: false });
  try {
    await work(database.url);
  } finally {
    await database.stop();
  }
}

/** Sends every request that was not answered 200 again, as exporters do. */
async function resend({ sent }: Burst): Promise<Burst> {
  const again = sent.map(async (one) => {
    if (one.status === 200) return one;
    const answer = await post(`${server.observeUrl}/v1/traces`, keys?.agent ?? '', one.body);
    return { ...one, status: answer.status };
  });
  const answered = await Promise.all(again);
  expect(answered.filter(({ status }) => status !== 200)).toEqual([]);
  return { sent: answered, over: Promise.resolve() };
}

async function expectWorking(): Promise<void> {
  expect(server.firstKeys).toBeNull();
  const span = rawSpan();
  const answer = await post(`${server.observeUrl}/v1/traces`, keys?.agent ?? '', traceBody([span]));
  expect(answer).toMatchObject({ status: 200, text: '{}' });
}

test('kill -9 of the server: its database is found running, nothing is lost', async () => {
  const burst = startBurst(server);
  await underWay(burst);
  await server.kill();
  await burst.over;
  expect(await findServer(folder.home)).toMatchObject({ status: 'ready' });

  server = await startServer({ DATA_DIR: folder.path });
  expect(server.stdout()).toContain('embedded PostgreSQL, found running');
  await withDatabase((url) => expectKept(url, burst, true));
  const again = await resend(burst);
  await withDatabase((url) => expectKept(url, again, false));
  await expectWorking();
});

test('kill -9 of server and database: the next start recovers', async () => {
  const burst = startBurst(server);
  await underWay(burst);
  const postmaster = await findServer(folder.home);
  server.signal('SIGKILL');
  process.kill(postmaster?.pid ?? 0, 'SIGKILL');
  await server.exited;
  await burst.over;

  server = await startServer({ DATA_DIR: folder.path });
  expect(server.stdout()).not.toContain('found running');
  await withDatabase((url) => expectKept(url, burst, true));
  const again = await resend(burst);
  await withDatabase((url) => expectKept(url, again, false));
  await expectWorking();
});

test('a command beside a database that hangs ends and says why', async () => {
  const { pid = 0 } = (await findServer(folder.home)) ?? {};
  process.kill(pid, 'SIGSTOP');
  try {
    const { code, stderr } = await runCommand(['key', 'list'], { DATA_DIR: folder.path });
    expect(code).toBe(1);
    expect(stderr).toContain(`cannot log in to the embedded PostgreSQL (pid ${pid}`);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
});

test('kill -9 of the database alone: the server starts it again, nothing is lost', async () => {
  const { pid } = server;
  const burst = startBurst(server);
  await underWay(burst);
  const killed = await findServer(folder.home);
  process.kill(killed?.pid ?? 0, 'SIGKILL');
  const command = runCommand(['key', 'list'], { DATA_DIR: folder.path });
  await burst.over;
  const answers = new Set(burst.sent.map(({ status }) => status));
  expect(answers).toEqual(new Set([200, 503]));

  const again = async (): Promise<boolean> => {
    const spans = traceBody([rawSpan()]);
    const answer = await post(`${server.observeUrl}/v1/traces`, keys?.agent ?? '', spans);
    if (answer.status !== 200) expect(answer.headers.get('retry-after')).not.toBeNull();
    return answer.status === 200;
  };
  await waitFor(again, { withinMs: BURST_WITHIN_MS, what: 'requests are stored again' });
  expect(server.pid).toBe(pid);
  expect(await findServer(folder.home)).toMatchObject({ status: 'ready' });
  expect((await findServer(folder.home))?.pid).not.toBe(killed?.pid);
  await withDatabase((url) => expectKept(url, burst, true));
  await expectWorking();
  // It has waited for the database, or found it running again.
  expect((await command).stdout).toContain('first agent key');
  const said = (text: string): number => server.stderr().split(text).length - 1;
  await waitFor(() => said('the embedded PostgreSQL runs again') === 1, {
    withinMs: BURST_WITHIN_MS,
    what: 'the log says that it runs again',
  });
  expect(said('the embedded PostgreSQL has died')).toBe(1);
});

test('SIGTERM in a burst: exit code 0, every answer true, the database stopped', async () => {
  const burst = startBurst(server);
  await underWay(burst);
  expect(await server.stop()).toEqual({ code: 0, signal: null });
  await burst.over;
  expect(await findServer(folder.home)).toBeNull();
  // Stopping waits for requests under way: what is stored was answered, or it would come twice.
  await withDatabase((url) => expectKept(url, burst, false));
});
