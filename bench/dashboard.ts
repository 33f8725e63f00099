/**
 * How long does the server take for a page of the dashboard, with very many runs and findings stored?
 * They are made by SQL, as evaluation and a team would have left them, over 90 days, and two runs of 20,000
 * steps are sent, one of which is packed; then each page is requested in turn over loopback, by a signed-in browser's request or with a
 * workspace key.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

import { connectEmbedded } from '../src/db/embedded/connect.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { fill } from './dashboard/fill.ts';
import { sendLargeRun } from './dashboard/large-run.ts';
import { FIRST_VIEWS, PATHS } from './dashboard/paths.ts';
import { median } from './harness.ts';
import { watchTurns } from './loop-delay/turns.ts';
import { type MachineFacts, machineFacts } from './machine.ts';

export interface DashboardBenchOptions {
  readonly runs: number;
  readonly findings: number;
  readonly times: number;
  /** other pages than `PATHS` */
  readonly path?: readonly string[];
}

interface MeasuredPage {
  readonly path: string;
  readonly medianMs: number;
  readonly worstMs: number;
  readonly bytes: number;
  /** CPU time of the longest turn of the event loop, of all requests; 0: none was long */
  readonly turnMs: number;
}

export interface DashboardResult {
  readonly name: 'dashboard';
  readonly machine: MachineFacts;
  readonly runs: number;
  readonly findings: number;
  readonly times: number;
  readonly pages: readonly MeasuredPage[];
}

async function signIn(
  baseUrl: string,
  owner: { email: string; password: string },
): Promise<string> {
  const answer = await fetch(`${baseUrl}/app/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: baseUrl },
    body: new URLSearchParams(owner),
  });
  const cookie = answer.headers.get('set-cookie')?.split(';')[0];
  if (answer.status !== 303 || cookie === undefined) throw new Error(`sign-in: ${answer.status}`);
  return cookie;
}

const LARGE_RUN_STEPS = 20_000;
const EVALUATED_WITHIN_MS = 120_000;

const REFUSALS_MAX = 20;

type Headers = Readonly<Record<string, string>>;

async function timePage(url: string, headers: Headers, times: number) {
  const took: number[] = [];
  let bytes = 0;
  let refusals = 0;
  while (took.length <= times) {
    const from = performance.now();
    const answer = await fetch(url, { headers, redirect: 'manual' });
    const body = await answer.arrayBuffer();
    // Costly pages are limited per minute.
    if (answer.status === 429 && refusals < REFUSALS_MAX) {
      refusals += 1;
      await pause(Number(answer.headers.get('retry-after')) * 1000);
      continue;
    }
    took.push(performance.now() - from);
    if (answer.status !== 200) throw new Error(`${url}: status ${answer.status}`);
    bytes = body.byteLength;
  }
  // The first answer warms PostgreSQL's cache and is not counted.
  const [firstMs = 0, ...counted] = took;
  return { firstMs, medianMs: median(counted), worstMs: Math.max(...counted), bytes };
}

/** Sends the large run, and waits for its evaluation. @returns its id */
async function addLargeRun(server: TestServer, client: pg.Client): Promise<string> {
  const run = await sendLargeRun(server.observeUrl, server.firstKeys?.agent ?? '', LARGE_RUN_STEPS);
  const isEvaluated = async (): Promise<boolean> => {
    const { rowCount } = await client.query(
      "SELECT FROM runs WHERE run_id = $1 AND evaluation = 'evaluated'",
      [run],
    );
    return rowCount === 1;
  };
  await waitFor(isEvaluated, { withinMs: EVALUATED_WITHIN_MS, what: 'the large run is evaluated' });
  return run;
}

/** What stands for the names in braces. */
async function namesIn(
  client: pg.Client,
  large: string,
): Promise<Readonly<Record<string, string>>> {
  const { rows } = await client.query<{ run: string; finding: string }>(
    `SELECT replace(run_id::text, '-', '') AS run, replace(id::text, '-', '') AS finding
       FROM findings f WHERE EXISTS (SELECT FROM runs r WHERE r.run_id = f.run_id AND r.title <> '')
      ORDER BY created_at DESC, id DESC OFFSET 100 LIMIT 1`,
  );
  return { ...rows[0], large, day: new Date(Date.now() - 86_400_000).toISOString() };
}

async function measure(
  paths: readonly string[],
  names: Readonly<Record<string, string>>,
  times: number,
  requestOf: (path: string) => { readonly url: string; readonly headers: Headers },
  longestTurnMs: () => number,
): Promise<MeasuredPage[]> {
  const pages: MeasuredPage[] = [];
  for (const path of paths) {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
      encodeURIComponent(names[name] ?? ''),
    );
    const { url, headers } = requestOf(filled);
    longestTurnMs();
    const { firstMs, ...timed } = await timePage(url, headers, times);
    const page = { ...timed, turnMs: longestTurnMs() };
    if (FIRST_VIEWS.includes(path)) {
      pages.push({ path: `${path} (first view)`, ...page, medianMs: firstMs, worstMs: firstMs });
    }
    pages.push({ path, ...page });
    const shown = [firstMs, page.medianMs, page.worstMs, page.turnMs].map((ms) =>
      ms.toFixed(0).padStart(6),
    );
    process.stderr.write(`${shown.join('')} ms  ${path}\n`);
  }
  return pages;
}

/** Fills a new server's first workspace and measures its pages. */
export async function dashboardBench(options: DashboardBenchOptions): Promise<DashboardResult> {
  const { runs, findings, times } = options;
  const machine = machineFacts();
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const watch = watchTurns();
  const server = await startServer({ DATA_DIR: dataDir, ...watch.settings });
  try {
    const databaseUrl = await connectEmbedded(dataDir);
    if (databaseUrl === null || server.firstKeys === null) throw new Error('the server is not new');
    const client = new pg.Client(databaseUrl);
    // Its connection ends with the server when something fails.
    client.on('error', () => undefined);
    await client.connect();
    await fill(client, 1, runs, findings);
    const large = await addLargeRun(server, client);
    const hot = await sendLargeRun(
      server.observeUrl,
      server.firstKeys.agent,
      LARGE_RUN_STEPS,
      false,
    );
    const names = { ...(await namesIn(client, large)), hot };
    await client.end();
    const { owner, workspace } = server.firstKeys;
    const cookie = await signIn(server.baseUrl, owner);
    const requestOf = (path: string) => ({
      url: `${server.baseUrl}${path}`,
      headers: path.startsWith('/app') ? { cookie } : { authorization: `Bearer ${workspace}` },
    });
    const paths = options.path ?? PATHS;
    const pages = await measure(paths, names, times, requestOf, watch.longestMs);
    return { name: 'dashboard', machine, runs, findings, times, pages };
  } finally {
    await server.stop();
    watch.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
