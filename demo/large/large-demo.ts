/**
 * `npm run demo -- --large`: fills a workspace as a team of six agents does in a night, and a second one that
 * redacts. Sends, waits until the runs are evaluated, and prints where to look.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { wholeRunsBody } from '../../bench/agent-runs/runs.ts';
import type { Config } from '../../src/config/config.ts';
import { COMMAND_LINE } from '../../src/db/people/audit.ts';
import { createRecordedWorkspace, setRedaction } from '../../src/db/people/workspace-writes.ts';
import { listWorkspaces } from '../../src/db/people/workspaces.ts';
import { OperatorError } from '../../src/errors.ts';
import { paint } from '../../src/terminal/output.ts';
import { expectedWaitMs } from '../await-findings.ts';
import type { Conversation } from '../conversations.ts';
import { sendRun } from '../send-run.ts';
import { openSession, type Session } from '../session.ts';
import { codingLogs } from './coding-logs.ts';
import { largeConversations, redactedConversations } from './conversations.ts';

/** Runs of coding agents over this repository's own texts, `RUNS_PER_BODY` in a request. */
const CODING_BODIES = 60;
const RUNS_PER_BODY = 5;
/** Requests that are sent at once. */
const AT_ONCE = 8;
const SEND_TIMEOUT_MS = 30_000;
const POLL_EVERY_MS = 1000;
/** For a busy machine. */
const EXTRA_WAIT_MS = 300_000;

type Write = (line: string) => void;

async function post(url: string, key: string, body: string | Buffer): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : new Uint8Array(body),
    signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
  });
  if (!response.ok) throw new OperatorError(`${url} answers ${response.status}`);
  await response.arrayBuffer();
}

/** Sends conversations. @returns for each run of an attack its title and id */
async function sendConversations(
  session: Session,
  conversations: readonly Conversation[],
): Promise<{ readonly title: string; readonly runId: string }[]> {
  const { observeUrl, agentKey } = session;
  const limit = pLimit(AT_ONCE);
  const sent = await Promise.all(
    conversations.map((conversation) =>
      limit(async () => {
        const runId = await sendRun(conversation, { observeUrl, agentKey });
        return conversation.isAttack ? [{ title: conversation.title, runId }] : [];
      }),
    ),
  );
  return sent.flat();
}

async function sendBodies({ observeUrl, agentKey }: Session): Promise<void> {
  const limit = pLimit(AT_ONCE);
  const bodies = Array.from({ length: CODING_BODIES }, (_, seed) => async () => {
    await post(`${observeUrl}/v1/traces`, agentKey, wholeRunsBody('conv3', seed, RUNS_PER_BODY));
  });
  const logs = codingLogs(Date.now()).map((body) => async () => {
    await post(`${observeUrl}/v1/logs`, agentKey, body);
  });
  await Promise.all([...bodies, ...logs].map((send) => limit(send)));
}

/** Waits until no finished run of the workspace is pending. Codex's logs say no end: they time out later. */
async function awaitEvaluation(session: Session, config: Config, signal: AbortSignal) {
  const deadline = performance.now() + expectedWaitMs(config) + EXTRA_WAIT_MS;
  const query = `SELECT count(*) FILTER (WHERE evaluation = 'pending' AND state <> 'running')::int AS pending,
                        count(*)::int AS runs
                   FROM runs WHERE workspace_id = $1`;
  for (;;) {
    const { rows } = await session.database.query<{ pending: number; runs: number }>(query, [
      session.workspace.id,
    ]);
    const [{ pending, runs } = { pending: 1, runs: 0 }] = rows;
    if (pending === 0 && runs > 0) return runs;
    if (performance.now() > deadline) {
      throw new OperatorError(`${pending} of ${runs} runs were not evaluated in time.`);
    }
    await sleep(POLL_EVERY_MS, undefined, { signal });
  }
}

/** The slug of the workspace that redacts, which is created where there is none. */
async function redactedWorkspace({ database, workspace }: Session): Promise<string> {
  const slug = `${workspace.slug}-redacted`;
  const known = (await listWorkspaces(database)).some((one) => one.slug === slug);
  if (known) return slug;
  const actor = { ...COMMAND_LINE, name: 'npm run demo' };
  const { id } = await createRecordedWorkspace(database, slug, 'Redacted demo', actor);
  await setRedaction(database, id, true, actor);
  return slug;
}

async function fillRedacted(config: Config, slug: string, signal: AbortSignal): Promise<number> {
  const session = await openSession(config, slug);
  try {
    await sendConversations(session, redactedConversations());
    return await awaitEvaluation(session, config, signal);
  } finally {
    await session.close();
  }
}

export async function runLargeDemo(
  config: Config,
  workspace: string | null,
  write: Write,
  signal: AbortSignal,
): Promise<void> {
  const session = await openSession(config, workspace);
  try {
    write(`\n  Sending a night of six agents to "${session.workspace.slug}" …`);
    await sendBodies(session);
    const attacks = await sendConversations(session, largeConversations());
    const runs = await awaitEvaluation(session, config, signal);
    write(`  ${paint.green('✓')} ${runs} runs. Planted attacks:`);
    for (const { title, runId } of attacks) write(`    ${title} ${paint.dim(runId)}`);
    const slug = await redactedWorkspace(session);
    const redacted = await fillRedacted(config, slug, signal);
    write(`  ${paint.green('✓')} ${redacted} runs in "${slug}", which redacts.`);
    write(`\n  Look at ${paint.cyan(`${session.baseUrl}/app/incidents`)}\n`);
  } finally {
    await session.close();
  }
}
