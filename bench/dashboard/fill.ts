/**
 * Fills the first workspace of a new server, as evaluation and a busy team would have left it over 90 days:
 * runs and findings, what people decided about them, exceptions and alerts.
 */
import type pg from 'pg';

/** In the order in which they are stored; `$1` workspace, `$2` to `$3` numbers, `$4` runs in all or per finding. */
const RUNS = `
  INSERT INTO runs (workspace_id, run_id, state, evaluation, name, service_name, agent_name, model,
    session_id, user_id, spans, log_records, first_arrival_at, last_arrival_at, evaluated_at,
    evaluated_steps, unread_steps, texts, truncated_texts, unparsed_values, surfaces,
    rule_set_id, start_unix_nano, end_unix_nano, title, input_tokens, output_tokens)
  SELECT $1, md5('run' || n)::uuid, 'completed', 'evaluated', 'invoke_agent planner',
         'service-' || n % 12, 'planner-' || n % 40, 'model-' || n % 5, 'session-' || n / 4,
         'user-' || n % 5000, 12, 3, at, at + interval '5 seconds', at + interval '1 minute',
         15, null, 20, null, null, 39, 1,
         (extract(epoch FROM at) * 1e9)::bigint, (extract(epoch FROM at) * 1e9)::bigint + 5000000000,
         'Plan the visit of customer ' || n % 1000, 1200, 300
    FROM generate_series($2::int, $3::int) AS n,
         LATERAL (SELECT now() - n * (interval '90 days' / $4)) AS t (at)`;
/** Two findings a run, so that some runs have several; a quarter are of few, repeated texts. */
const FINDINGS = `
  INSERT INTO findings (workspace_id, created_at, run_id, rule_id, rule_version, rule_status,
    severity, category, corpus_version, description, condition_index, condition_description, field,
    surface, step_name, excerpt, recommended_actions, corpus_identity, step_name_matched, place, agent_name, service_name, user_id,
    session_id, model, tool_name, match_digest)
  SELECT $1, r.evaluated_at, r.run_id, 'ATR-2026-' || lpad((n % 200 + k)::text, 5, '0'), '1', 'stable',
         (ARRAY['critical','high','high','medium','low'])[1 + (n + k) % 5],
         (ARRAY['prompt-injection','tool-poisoning','privilege-escalation'])[1 + (n + k) % 3],
         '1', 'ATR-2026-' || lpad((n % 200 + k)::text, 5, '0')
           || ' "A rule about reading a password" matched the tool result', 0,
         'what the condition says of what it looks for', 'content',
         (ARRAY['step_input','tool_args','tool_result'])[1 + n % 3], 'execute_tool lookup',
         repeat('some text before it ', 3) || 'match ' || n || repeat(' and text after', 4),
         '["alert","block_input","escalate"]', '\\x00', false,
         ('{"step":1,"source":"span","startUnixNano":"1","arrivedOn":"2026-11-20","twin":0,"text":0,'
           || '"match":{"start":60,"end":70},"inExcerpt":{"start":60,"end":70},"nameDigests":[]}')::json,
         r.agent_name, r.service_name, r.user_id, r.session_id, r.model, 'lookup',
         sha256((CASE WHEN n % 4 = 0 THEN n % 50 ELSE n END)::text::bytea)
    FROM generate_series($2::int, $3::int) AS n CROSS JOIN generate_series(0, 1) AS k
    JOIN runs r ON r.workspace_id = $1 AND r.run_id = md5('run' || n * $4)::uuid`;
const ROWS_A_STATEMENT = 50_000;

/**
 * Of the findings of the last three days one in five has been looked at, of older ones all but three in a
 * hundred: most are closed, so few of very many are open.
 */
const STATES = `
  INSERT INTO finding_states (workspace_id, finding_id, state, assignee_id, updated_at)
  SELECT workspace_id, id,
         CASE WHEN share < 60 THEN 'closed' WHEN share < 85 THEN 'false_positive'
              WHEN share < 90 THEN 'confirmed' ELSE 'acknowledged' END,
         CASE WHEN share >= 80 THEN (SELECT min(id) FROM users) END, created_at + interval '1 hour'
    FROM (SELECT workspace_id, id, created_at, (hashtext(id::text) & 65535) % 100 AS share
            FROM findings WHERE workspace_id = $1) AS f
   WHERE share < CASE WHEN created_at > now() - interval '3 days' THEN 25 ELSE 97 END`;
const OTHERS = [
  `INSERT INTO finding_history (workspace_id, finding_id, at, actor, kind, before, after)
   SELECT workspace_id, finding_id, updated_at, 'owner@localhost', 'state', 'new', state
     FROM finding_states WHERE workspace_id = $1`,
  `INSERT INTO finding_exceptions
     (workspace_id, rule_id, agent_name, reason, created_by, expires_at)
   SELECT $1, 'ATR-2026-' || lpad(n::text, 5, '0'), 'planner-' || n % 40, 'a test of ours',
          'owner@localhost', now() + interval '30 days' FROM generate_series(1, 50) AS n`,
  `INSERT INTO alert_destinations (workspace_id, name, format, url, secret, severities, paused)
   SELECT $1, 'receiver ' || n, 'json', 'https://receiver.invalid/' || n, 'secret', '{critical}', true
     FROM generate_series(1, 10) AS n`,
  `INSERT INTO alert_outbox (workspace_id, destination_id, finding_id, run_id, attempts, dead_at,
     failure)
   SELECT $1, (SELECT min(id) FROM alert_destinations), id, run_id, 20, created_at, 'timeout'
     FROM findings WHERE workspace_id = $1`,
  `INSERT INTO alert_deliveries
     (workspace_id, destination_id, name, message_id, kind, findings, attempt, outcome)
   SELECT $1, (SELECT min(id) FROM alert_destinations), 'receiver 1', md5(n::text), 'incident', 1, 1,
          'failed' FROM generate_series(1, 100) AS n`,
  `UPDATE workspaces SET plan = 'team' WHERE id = $1`,
];
/** Of all workspaces. */
const COSTS = `
  INSERT INTO rule_costs (day, rule_id, searches, micros)
  SELECT current_date - d, 'ATR-2026-' || lpad(n::text, 5, '0'), 1000, 5000
    FROM generate_series(0, 29) AS d, generate_series(1, 700) AS n`;
const ANALYZED = ['findings', 'finding_states', 'finding_history', 'alert_outbox', 'rule_costs'];

/** Fills the workspace. @param client of a superuser or the owner of the tables */
export async function fill(
  client: pg.Client,
  workspaceId: number,
  runs: number,
  findings: number,
): Promise<void> {
  await client.query(
    `INSERT INTO rule_sets VALUES (1, 65536, '1', '\\x00', '') ON CONFLICT DO NOTHING`,
  );
  for (let from = 1; from <= runs; from += ROWS_A_STATEMENT) {
    const to = Math.min(runs, from + ROWS_A_STATEMENT - 1);
    await client.query(RUNS, [workspaceId, from, to, runs]);
  }
  await client.query('VACUUM (ANALYZE) runs');
  const withFindings = Math.ceil(findings / 2);
  const every = Math.max(1, Math.floor(runs / withFindings));
  for (let from = 1; from <= withFindings; from += ROWS_A_STATEMENT) {
    const to = Math.min(withFindings, from + ROWS_A_STATEMENT - 1);
    await client.query(FINDINGS, [workspaceId, from, to, every]);
  }
  await client.query('VACUUM (ANALYZE) findings');
  for (const statement of [STATES, ...OTHERS]) await client.query(statement, [workspaceId]);
  await client.query(COSTS);
  for (const table of ANALYZED) await client.query(`VACUUM (ANALYZE) ${table}`);
}
