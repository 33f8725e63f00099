/**
 * How long does the server take for a page of the dashboard, with very many runs and findings stored?
 * They are made by SQL, as the evaluation would have left them, over 90 days; then each page is requested
 * in turn by a signed-in browser's request, over loopback.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

import { connectEmbedded } from '../src/db/embedded/connect.ts';
import { startServer } from '../test/support/server.ts';
import { median } from './harness.ts';
import { type MachineFacts, machineFacts } from './machine.ts';

export interface DashboardBenchOptions {
  readonly runs: number;
  readonly findings: number;
  readonly times: number;
  /** other pages than `PAGES` */
  readonly path?: readonly string[];
}

interface MeasuredPage {
  readonly path: string;
  readonly medianMs: number;
  readonly worstMs: number;
  readonly bytes: number;
}

export interface DashboardResult {
  readonly name: 'dashboard';
  readonly machine: MachineFacts;
  readonly runs: number;
  readonly findings: number;
  readonly times: number;
  readonly pages: readonly MeasuredPage[];
}

/** `{run}`, `{finding}` and `{day}` are one run with findings, one of its findings, and a day ago. */
const PAGES = [
  '/app',
  '/app/findings',
  '/app/findings?sort=oldest',
  '/app/findings?sort=severity',
  '/app/findings?severity=critical&since={day}',
  '/app/findings?category=atr_tool_poisoning',
  '/app/findings?agent=planner',
  '/app/findings?user_id=user-77',
  '/app/findings?user_id=nobody',
  '/app/findings?q=password',
  '/app/findings?q=nothing-has-this',
  '/app/findings?surface=tool_result&sort=severity',
  '/app/findings?group_by=run',
  '/app/findings?group_by=run&sort=severity',
  '/app/findings?group_by=match',
  '/app/findings?group_by=match&sort=count',
  '/app/findings?same_as={finding}',
  '/app/findings/{finding}',
  '/app/runs',
  '/app/runs?has_findings=true',
  '/app/runs?agent=planner-7',
  '/app/runs/{run}',
  '/app/rules',
  '/app/rules/ATR-2026-00001',
  '/app/settings',
];

const SEED_RUNS = `
  INSERT INTO runs (workspace_id, run_id, state, evaluation, name, service_name, agent_name, model,
    session_id, user_id, spans, log_records, first_arrival_at, last_arrival_at, evaluated_at,
    evaluated_steps, unread_steps, texts, truncated_texts, unparsed_values, surfaces, text_gaps,
    text_cap_bytes, corpus_version, start_unix_nano, end_unix_nano)
  SELECT $1, md5('run' || n)::uuid, 'completed', 'evaluated', 'invoke_agent planner',
         'service-' || n % 12, 'planner-' || n % 40, 'model-' || n % 5, 'session-' || n / 4,
         'user-' || n % 5000, 12, 3, at, at + interval '5 seconds', at + interval '1 minute',
         15, 0, 20, 0, 0, '{step_input,tool_args,tool_result,agent_output}', '{}', 65536, '1',
         (extract(epoch FROM at) * 1e9)::bigint, (extract(epoch FROM at) * 1e9)::bigint + 5000000000
    FROM generate_series($2::int, $3::int) AS n,
         LATERAL (SELECT now() - n * (interval '90 days' / $4)) AS t (at)`;
/** Two findings a run, so that some runs have several; a quarter are of few, repeated texts. */
const SEED_FINDINGS = `
  INSERT INTO findings (workspace_id, created_at, run_id, rule_id, rule_version, rule_status,
    severity, category, corpus_version, description, condition_index, condition_description, field,
    surface, step_name, excerpt, recommended_actions, place, agent_name, service_name, user_id,
    session_id, model, tool_name, match_digest)
  SELECT $1, r.evaluated_at, r.run_id, 'ATR-2026-' || lpad((n % 200 + k)::text, 5, '0'), '1', 'stable',
         (ARRAY['critical','high','high','medium','low'])[1 + (n + k) % 5],
         (ARRAY['prompt-injection','tool-poisoning','privilege-escalation'])[1 + (n + k) % 3],
         '1', 'ATR-2026-' || lpad((n % 200 + k)::text, 5, '0')
           || ' "A rule about reading a password" matched the tool result', 0,
         'what the condition says of what it looks for', 'content',
         (ARRAY['step_input','tool_args','tool_result'])[1 + n % 3], 'execute_tool lookup',
         repeat('some text before it ', 3) || 'match ' || n || repeat(' and text after', 4),
         '["alert","block_input","escalate"]',
         ('{"step":1,"source":"span","startUnixNano":"1","twin":0,"text":0,"match":{"start":60,"end":70},'
           || '"inExcerpt":{"start":60,"end":70},"nameDigest":null}')::json,
         r.agent_name, r.service_name, r.user_id, r.session_id, r.model, 'lookup',
         sha256((CASE WHEN n % 4 = 0 THEN n % 50 ELSE n END)::text::bytea)
    FROM generate_series($2::int, $3::int) AS n CROSS JOIN generate_series(0, 1) AS k
    JOIN runs r ON r.workspace_id = $1 AND r.run_id = md5('run' || n * $4)::uuid`;
const ROWS_A_STATEMENT = 50_000;

async function seed(client: pg.Client, workspaceId: number, runs: number, findings: number) {
  for (let from = 1; from <= runs; from += ROWS_A_STATEMENT) {
    const to = Math.min(runs, from + ROWS_A_STATEMENT - 1);
    await client.query(SEED_RUNS, [workspaceId, from, to, runs]);
  }
  await client.query('VACUUM (ANALYZE) runs');
  const withFindings = Math.ceil(findings / 2);
  const every = Math.max(1, Math.floor(runs / withFindings));
  for (let from = 1; from <= withFindings; from += ROWS_A_STATEMENT) {
    const to = Math.min(withFindings, from + ROWS_A_STATEMENT - 1);
    await client.query(SEED_FINDINGS, [workspaceId, from, to, every]);
  }
  await client.query('VACUUM (ANALYZE) findings');
}

/** Signs in and returns the session's cookie. */
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

async function timePage(url: string, cookie: string, times: number) {
  const took: number[] = [];
  let bytes = 0;
  // The first answer warms PostgreSQL's cache and is not counted.
  for (let time = 0; time <= times; time += 1) {
    const from = performance.now();
    const answer = await fetch(url, { headers: { cookie }, redirect: 'manual' });
    const body = await answer.arrayBuffer();
    if (time > 0) took.push(performance.now() - from);
    if (answer.status !== 200) throw new Error(`${url}: status ${answer.status}`);
    bytes = body.byteLength;
  }
  return { medianMs: median(took), worstMs: Math.max(...took), bytes };
}

/** Fills a new server's first workspace and measures its pages. */
export async function dashboardBench(options: DashboardBenchOptions): Promise<DashboardResult> {
  const { runs, findings, times } = options;
  const machine = machineFacts();
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const server = await startServer({ DATA_DIR: dataDir });
  try {
    const databaseUrl = await connectEmbedded(dataDir);
    if (databaseUrl === null || server.firstKeys === null) throw new Error('the server is not new');
    const client = new pg.Client(databaseUrl);
    // Its connection ends with the server when something fails.
    client.on('error', () => undefined);
    await client.connect();
    await seed(client, 1, runs, findings);
    const { rows } = await client.query<{ run: string; finding: string }>(
      `SELECT replace(run_id::text, '-', '') AS run, replace(id::text, '-', '') AS finding
         FROM findings ORDER BY created_at DESC, id DESC OFFSET 100 LIMIT 1`,
    );
    await client.end();
    const known = { ...rows[0], day: new Date(Date.now() - 86_400_000).toISOString() };
    const cookie = await signIn(server.baseUrl, server.firstKeys.owner);
    const pages: MeasuredPage[] = [];
    for (const path of options.path ?? PAGES) {
      const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: keyof typeof known) =>
        encodeURIComponent(known[name] ?? ''),
      );
      pages.push({ path, ...(await timePage(`${server.baseUrl}${filled}`, cookie, times)) });
      const last = pages.at(-1);
      process.stderr.write(`${last?.medianMs.toFixed(0).padStart(6)} ms  ${path}\n`);
    }
    return { name: 'dashboard', machine, runs, findings, times, pages };
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
