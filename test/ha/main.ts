/**
 * `npm run ha`: brings up Patroni, etcd, HAProxy, Redis with sentinels and three servers on this machine,
 * kills the primary again and again under load, and compares every row with what was acknowledged.
 * With `--compose` what deploy/compose/compose.yaml starts (compose.ts).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError } from 'commander';

import { seeded } from '../../bench/bodies.ts';
import { machineFacts, machineLine } from '../../bench/machine.ts';
import { markdownTable, replaceMeasured } from '../../bench/markdown.ts';
import { makeAgentKey } from '../chaos/agent-key.ts';
import { check, faultsOf, type Verdict } from '../chaos/checker.ts';
import { type Load, startLoad } from '../chaos/load.ts';
import { waitFor } from '../support/wait-for.ts';
import { runCompose } from './compose.ts';
import { missingPackages } from './programs.ts';
import { openStack, type Stack } from './stack.ts';

const PAGE = fileURLToPath(new URL('../../docs/reliability.md', import.meta.url));
const EXPORTERS = 6;
const KILLS = 3;
const KILLS_MAX = 50;
const RECOVERS_WITHIN_MS = 180_000;
/** Acknowledged before and after each kill. */
const BODIES = 20;
const SEED = 1;
const COMPOSE_NEEDS = ['haproxy', 'redis-server'];

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

function killCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= KILLS_MAX) return count;
  throw new InvalidArgumentError(`A whole number from 1 to ${KILLS_MAX}.`);
}

const acknowledgedBy = (load: Load): number =>
  load.acknowledgedBy().reduce((sum, one) => sum + one, 0);

async function moreAcknowledged(load: Load): Promise<void> {
  const before = acknowledgedBy(load);
  await waitFor(() => acknowledgedBy(load) >= before + BODIES, {
    withinMs: RECOVERS_WITHIN_MS,
    what: () =>
      `${BODIES} bodies are acknowledged; answers ${JSON.stringify(load.answersByStatus())}`,
  });
}

/** @returns milliseconds from the kill until the next acknowledgement */
async function killOnce(stack: Stack, load: Load): Promise<number> {
  await moreAcknowledged(load);
  const restart = await stack.killPrimary();
  const killedAt = performance.now();
  const restartRedis = await stack.killRedis();
  // Answers that were on their way when the primary died.
  await stack.settled(1);
  const before = acknowledgedBy(load);
  await waitFor(() => acknowledgedBy(load) > before, {
    withinMs: RECOVERS_WITHIN_MS,
    what: 'a body is acknowledged by the new primary',
  });
  const recoveryMs = performance.now() - killedAt;
  await moreAcknowledged(load);
  restartRedis();
  await restart();
  return recoveryMs;
}

interface Result {
  readonly verdict: Verdict;
  readonly recoveriesMs: readonly number[];
  readonly longestAnswerMs: number;
  readonly givenUp: number;
  readonly answers: Readonly<Record<string, number>>;
}

async function run(kills: number): Promise<Result> {
  const stack = await openStack(say);
  let load: Load | null = null;
  try {
    load = startLoad({
      targets: [{ url: stack.observeUrl, wasAwaySince: () => false }],
      key: await makeAgentKey(stack.databaseUrl),
      exporters: EXPORTERS,
      random: seeded(SEED),
    });
    const recoveriesMs: number[] = [];
    for (let kill = 1; kill <= kills; kill += 1) {
      const recoveryMs = await killOnce(stack, load);
      recoveriesMs.push(recoveryMs);
      say(`${kill}/${kills}: primary killed; acknowledged again after ${seconds(recoveryMs)}`);
    }
    await load.pause();
    const verdict = await check(stack, load.deliveries, new Set());
    return {
      verdict,
      recoveriesMs,
      longestAnswerMs: load.longestAnswerMs(),
      givenUp: load.deliveries.filter(({ outcome }) => outcome === 'unknown').length,
      answers: load.answersByStatus(),
    };
  } finally {
    await load?.stop();
    await stack.close();
  }
}

function tableOf({ verdict, recoveriesMs, longestAnswerMs, givenUp }: Result): string {
  const count = (number: number): string => number.toLocaleString('en-US');
  return markdownTable(
    ['what', 'result'],
    [
      ['primaries killed, with the master of Redis', count(recoveriesMs.length)],
      ['rows acknowledged', count(verdict.rowsAcknowledged)],
      ['of them lost', count(verdict.rowsLost)],
      ['stored twice', count(verdict.rowsTwice)],
      ['stored differently from what was sent', count(verdict.recordsChanged)],
      ['not named by the places of their run', count(verdict.recordsMisplaced)],
      ['findings expected', count(verdict.findingsExpected)],
      ['of them missing', count(verdict.findingsMissing)],
      ['requests that exporters gave up after eight attempts', count(givenUp)],
      ['longest answer', seconds(longestAnswerMs)],
      ['from the kill to the next acknowledgement, shortest', seconds(Math.min(...recoveriesMs))],
      ['from the kill to the next acknowledgement, longest', seconds(Math.max(...recoveriesMs))],
    ],
  );
}

interface Options {
  readonly kills: number;
  readonly write: boolean;
  readonly compose: boolean;
}

async function main({ kills, write, compose }: Options): Promise<number> {
  const missing = missingPackages(compose ? COMPOSE_NEEDS : undefined);
  if (missing.length > 0) {
    say(`Install Debian's packages first: apt install ${missing.join(' ')}`);
    return 1;
  }
  if (compose) return await runCompose(say);
  const result = await run(kills);
  const table = tableOf(result);
  say(`\n${table}\n\nanswers: ${JSON.stringify(result.answers)}`);
  const wrong = faultsOf(result.verdict);
  for (const line of wrong) say(`FAILED: ${line}`);
  if (write) {
    const content = `${table}\n\n${machineLine(machineFacts())}`;
    writeFileSync(PAGE, replaceMeasured(readFileSync(PAGE, 'utf8'), 'ha', content));
  }
  return wrong.length === 0 ? 0 : 1;
}

await new Command('ha')
  .description('Kills the primary of a highly available installation under load.')
  .option('--kills <number>', 'how often, a minute each', killCount, KILLS)
  .option('--write', 'writes the table of docs/reliability.md', false)
  .option('--compose', 'restarts, under load, what deploy/compose starts; nothing is killed', false)
  .addHelpText(
    'after',
    `
Needs Debian's packages patroni, python3-etcd, etcd-server, haproxy, postgresql, redis-server; none of
their services has to run. Everything listens on 127.0.0.1, keeps its data in a temporary folder, and
is ended with the run. Exit code 1 when a row is lost, changed or stored twice.`,
  )
  .action(async (options: Options) => {
    process.exitCode = await main(options);
  })
  .parseAsync();
