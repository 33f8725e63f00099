/**
 * `npm run demo`: sends three agent runs to the server on this machine and shows its findings.
 *
 * Exit code 0 when both attacks were found, 1 when not or after a failure, 130 on Ctrl-C. The keys
 * that it creates are revoked in each of these cases.
 */
import { parseArgs } from 'node:util';
import { type Config, readConfig } from '../src/config/config.ts';
import { OperatorError } from '../src/errors.ts';
import { onStopSignal, SIGNAL_EXIT_CODES, type StopSignal } from '../src/main/stop-order.ts';
import { paint, reportFailure } from '../src/terminal/output.ts';
import { awaitFindings, expectedWaitMs } from './await-findings.ts';
import { CONVERSATIONS } from './conversations.ts';
import { runLargeDemo } from './large/large-demo.ts';
import { startProgress } from './progress.ts';
import { findingsReport, type RunReport, runLine } from './report.ts';
import { sendRun } from './send-run.ts';
import { openSession, type Session } from './session.ts';

const MS_PER_SECOND = 1000;

const HELP = `
  npm run demo -- [--workspace SLUG] [--large]

  Sends three small agent runs to the server on this machine, over OTLP with the OpenTelemetry SDK:
  an honest one, one attacked by its user, one attacked by a page it reads. Then it waits for the
  pass and prints the findings.

  It reads the same settings as the server (PORT, OBSERVE_PORT, DATA_DIR, DATABASE_URL, …), so start
  it in the same folder with the same environment. It creates two keys and revokes them at the end;
  the runs and findings stay in the workspace.

  --workspace SLUG  where the runs go; needed when there is more than one workspace
  --large           a night of six agents instead: some 460 runs in five languages with planted
                    attacks, logs of Claude Code and Codex, and a second workspace that redacts
  --help            this text
`;

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}

function seconds(ms: number): string {
  return `${Number((ms / MS_PER_SECOND).toFixed(1))} s`;
}

/** Sends every conversation, one line each. */
async function sendAll(session: Session): Promise<string[]> {
  const { observeUrl, agentKey, workspace } = session;
  write(`\n  Sending to ${paint.cyan(observeUrl)}, workspace "${workspace.slug}"\n`);
  const runIds: string[] = [];
  for (const conversation of CONVERSATIONS) {
    try {
      runIds.push(await sendRun(conversation, { observeUrl, agentKey }));
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new OperatorError(
        `${observeUrl} did not take the run "${conversation.title}": ${why}. Is it a Sluice with ` +
          'the same DATA_DIR or DATABASE_URL as here?',
        { cause },
      );
    }
    write(`  ${paint.green('→')} ${conversation.title} ${paint.dim(runIds.at(-1) ?? '')}`);
  }
  return runIds;
}

/**
 * Waits for every run and logs it when it is evaluated. @returns reports in the order of sending
 */
async function collect(
  session: Session,
  config: Config,
  runIds: readonly string[],
  signal: AbortSignal,
): Promise<RunReport[]> {
  const found = new Map<string, RunReport>();
  write(
    `\n  A run is evaluated once nothing more has arrived for ${seconds(config.runSettleMs)} ` +
      `(RUN_SETTLE_MS),\n  by a pass that looks every ${seconds(config.passIntervalMs)} ` +
      `(PASS_INTERVAL_MS): about ${seconds(expectedWaitMs(config))}.\n`,
  );
  const progress = startProgress(
    () => `waiting for the pass, ${found.size} of ${runIds.length} runs evaluated`,
  );
  try {
    await awaitFindings(
      session,
      config,
      runIds,
      (runId, findings) => {
        const conversation = CONVERSATIONS[runIds.indexOf(runId)];
        if (conversation === undefined) return;
        found.set(runId, { conversation, runId, findings });
        progress.log(`  ${runLine({ conversation, findings })}`);
      },
      signal,
    );
  } finally {
    progress.end();
  }
  return runIds.flatMap((runId) => found.get(runId) ?? []);
}

function conclude(reports: readonly RunReport[], session: Session): void {
  if (reports.some(({ findings }) => findings.length > 0)) {
    write(`\n${findingsReport(reports, session.baseUrl)}\n`);
  }
  const missed = reports.filter(
    ({ conversation, findings }) => conversation.isAttack && findings.length === 0,
  );
  if (missed.length === 0) return;
  const titles = missed.map(({ conversation }) => `"${conversation.title}"`).join(' and ');
  throw new OperatorError(
    `No rule found ${titles}. Were rules switched off in this workspace? See sluice rules list`,
  );
}

async function run(workspace: string | null, signal: AbortSignal): Promise<void> {
  const config = readConfig(process.env);
  const session = await openSession(config, workspace);
  try {
    const runIds = await sendAll(session);
    conclude(await collect(session, config, runIds, signal), session);
  } finally {
    await session.close();
  }
}

function parseOptions(): { workspace: string | null; large: boolean; help: boolean } {
  try {
    const { values } = parseArgs({
      options: {
        workspace: { type: 'string' },
        large: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    return {
      workspace: values.workspace ?? null,
      large: values.large ?? false,
      help: values.help ?? false,
    };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new OperatorError(`${why}\n${HELP}`, { cause });
  }
}

const interruption = new AbortController();
onStopSignal((signal) => interruption.abort(signal));
try {
  const { workspace, large, help } = parseOptions();
  const { signal } = interruption;
  if (help) write(HELP);
  else if (large) await runLargeDemo(readConfig(process.env), workspace, write, signal);
  else await run(workspace, signal);
} catch (error) {
  if (interruption.signal.aborted) {
    process.exitCode = SIGNAL_EXIT_CODES[interruption.signal.reason as StopSignal];
  } else {
    reportFailure(error);
    process.exitCode = 1;
  }
}
