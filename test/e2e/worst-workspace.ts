/**
 * A workspace with the maximum of everything that a page or an answer lists, and with runs that are
 * slow to outline. The runs are sent to ingest; the rest is inserted into the tables, because
 * creating it by requests takes long.
 */
import type { Database } from '../../src/db/database.ts';
import { DIGESTED } from '../support/rows.ts';
import { randomId, rawSpan, traceBody } from './gateway.ts';

/** Half of them revoked; 1,000 may be valid. */
const KEYS = 2000;
const INVITATIONS = 200;
const MEMBERS = 500;
const LEDGER_ENTRIES = 600;
/** More than one page reads. */
const RUNS = 12_000;
const FINDINGS = 600;

const KIB = 1024;
const attribute = (key: string, text: string) => ({ key, value: { stringValue: text } });
const messages = (text: string) => [
  attribute('gen_ai.operation.name', 'chat'),
  attribute('gen_ai.input.messages', text),
];
const lists = (open: string, bytes: number): string =>
  `[${Array(Math.floor(bytes / (open.length + 1)))
    .fill(open)
    .join()}]`;

/** Texts of the steps that are slowest to read, of a given size. */
function worstTexts(bytes: number): string[] {
  return [
    lists('{}', bytes),
    lists('1', bytes),
    lists('{"role":"user","parts":[{"type":"text","content":"a"}]}', bytes),
    '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
    JSON.stringify(JSON.stringify(JSON.stringify(lists('{"a":1}', bytes / 4)))),
  ];
}

function manyMessages(count: number, characters: number): string {
  const content = (at: number) => String(at).padEnd(characters, 'x');
  const all = Array.from({ length: count }, (_, at) => ({ role: 'user', content: content(at) }));
  return JSON.stringify(all);
}

/** Export requests with runs that are slow to outline, and the ids of these runs. */
export function worstRuns(giantBytes: number): { readonly runId: string; readonly body: object }[] {
  const runOf = (spans: readonly Record<string, unknown>[]) => {
    const traceId = randomId(16);
    const all = spans.map((members, at) =>
      rawSpan({ traceId, startTimeUnixNano: String(at + 1), ...members }),
    );
    return { runId: traceId, body: traceBody(all) };
  };
  const keys = Array.from({ length: 4000 }, (_, at) =>
    attribute(`gen_ai.prompt.${at}.content`, 'x'),
  );
  const texts = worstTexts(46 * KIB);
  const events = Array.from({ length: 550 }, (_, at) => ({
    name: 'gen_ai.user.message',
    attributes: [attribute('content', `text ${at}`)],
  }));
  return [
    runOf([
      { attributes: messages(lists('{}', giantBytes)) },
      ...texts.map((text) => ({ attributes: messages(text) })),
    ]),
    // Read whole when it is opened: below a megabyte, with as many structures as that allows.
    runOf([{ attributes: messages(manyMessages(1_300, 700)) }]),
    runOf([{ name: 'x'.repeat(giantBytes) }]),
    runOf([{ attributes: keys }, ...Array(8).fill({ attributes: messages('a'), events })]),
    runOf(
      Array.from({ length: 2000 }, (_, at) => ({
        name: `step ${at}`,
        attributes: messages(`text ${at} <b>`),
      })),
    ),
  ];
}

/**
 * Fills the lists of a workspace. @param ruleIds rules that findings are of @param runIds runs they
 * are in
 */
export async function fillLists(
  database: Database,
  workspaceId: number,
  ruleIds: readonly string[],
  runIds: readonly string[],
): Promise<void> {
  const many = (sql: string, count: number, values: readonly unknown[] = []) =>
    database.query(`${sql.replace('MANY', `generate_series(1, ${count}) AS n`)}`, [
      workspaceId,
      ...values,
    ]);
  await many(
    `INSERT INTO api_keys (workspace_id, kind, name, prefix, secret_sha256, revoked_at)
     SELECT $1::int, 'agent', repeat('<', 100), 'sluice_live_aaaa', sha256(n::text::bytea),
            CASE WHEN n % 2 = 0 THEN now() END FROM MANY`,
    KEYS,
  );
  await many(
    `INSERT INTO invitations (workspace_id, email, role, token_sha256, expires_at)
     SELECT $1::int, n || repeat('é', 230) || '@a.test', 'member', sha256(n::text::bytea),
            now() + interval '1 day' FROM MANY`,
    INVITATIONS,
  );
  await many(
    `WITH people AS (
       INSERT INTO users (email, display_name)
       SELECT n || repeat('é', 230) || '@b.test', repeat('<', 100) FROM MANY RETURNING id)
     INSERT INTO memberships (workspace_id, user_id, role) SELECT $1::int, id, 'member' FROM people`,
    MEMBERS,
  );
  await many(
    `INSERT INTO audit_ledger
       (workspace_id, seq, at, actor, origin, action, subject, before, after, prev_hash, hash)
     SELECT $1::int, 1000 + n, now(), 'somebody', '127.0.0.1', 'settings.change', 'workspace',
            json_build_object('name', repeat('<', 8000)), json_build_object('name', repeat('é', 8000)),
            sha256(n::text::bytea), sha256(n::text::bytea) FROM MANY`,
    LEDGER_ENTRIES,
  );
  await many(
    `INSERT INTO runs (workspace_id, run_id, state, evaluation, name, service_name, spans, log_records,
                       agent_name, model, session_id, user_id)
     SELECT $1::int, gen_random_uuid(), 'completed', 'evaluated', repeat('<', 4000), repeat('é', 4000), 1, 0,
            repeat('<', 256), repeat('<', 256), repeat('<', 256), repeat('<', 256) FROM MANY`,
    RUNS,
  );
  for (const runId of runIds) {
    await many(
      `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity, category,
         corpus_version, description, condition_index, condition_description, field, surface, step_span_id,
         step_name, excerpt, recommended_actions,
         ${DIGESTED.columns})
       SELECT $1::int, $2::uuid, coalesce(($3::text[])[n], 'rule ' || n), '1', 'stable', 'high', 'prompt-injection',
              '4', repeat('<', 1000), 0, repeat('<', 500), 'content', 'step_input', NULL, repeat('<', 256),
              repeat('⟨', 300), '["block"]', ${DIGESTED.values} FROM MANY ON CONFLICT DO NOTHING`,
      FINDINGS,
      [runId, ruleIds],
    );
  }
}
