/**
 * `npm run chaos`: two servers, a primary and its synchronous standby, and Redis, under a steady load,
 * with one fault after the other; then compares every row and finding with what was acknowledged.
 *
 * The seed decides every fault, the server it concerns, when it comes and how long it lasts. What the
 * operating system does meanwhile differs from run to run.
 */
import { writeFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';

import { seeded } from '../../bench/bodies.ts';
import { machineFacts } from '../../bench/machine.ts';
import { positive } from '../../bench/options.ts';
import { startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { makeAgentKey } from './agent-key.ts';
import { addVerdicts, check, faultsOf, NOTHING } from './checker.ts';
import { openCluster } from './cluster.ts';
import { apply, type Parts } from './faults.ts';
import { HOT_DAY_SETTINGS } from './hot-day.ts';
import { ANSWER_WITHIN_MS, startLoad } from './load.ts';
import { RESULTS, type Result, writePage } from './page.ts';
import { FAULTS, type Fault, planRounds, type Round } from './schedule.ts';
import { makeServer } from './servers.ts';

const ROUNDS = 25;
const SERVERS = 2;
const EXPORTERS = 6;
const ROUNDS_PER_CHECK = 10;
const RECOVERS_WITHIN_MS = 90_000;
/** Each server has to acknowledge so many bodies after a fault. */
const BODIES_AFTER = 2;
/** Characters of each server's log that are shown after a check that found something. */
const LOG_SHOWN = 8_000;
const SETTINGS = {
  MATCH_THREADS: '1',
  RUN_SETTLE_MS: '500',
  PASS_INTERVAL_MS: '500',
  ...HOT_DAY_SETTINGS,
};

interface Options {
  readonly rounds: number;
  readonly seed: number;
  readonly only?: Fault[];
  readonly write: boolean;
}

function kindsOf(text: string): Fault[] {
  const kinds = text.split(',');
  const unknown = kinds.filter((kind) => !Object.hasOwn(FAULTS, kind));
  if (unknown.length > 0) {
    throw new InvalidArgumentError(
      `No such fault: ${unknown.join(', ')}. There are: ${Object.keys(FAULTS).join(', ')}.`,
    );
  }
  return kinds as Fault[];
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Runs one round. @returns milliseconds from the end of the fault until all servers acknowledge again */
async function runRound(round: Round, parts: Parts): Promise<number> {
  const { load } = parts;
  const isLoaded = load.deliveries.length + round.afterBodies;
  await waitFor(() => load.deliveries.length >= isLoaded, {
    withinMs: RECOVERS_WITHIN_MS,
    what: `${round.afterBodies} bodies are sent before the fault`,
  });
  await apply(round, parts);
  const healedAt = performance.now();
  const before = [...load.acknowledgedBy()];
  await waitFor(
    () => load.acknowledgedBy().every((count, at) => count >= (before[at] ?? 0) + BODIES_AFTER),
    {
      withinMs: RECOVERS_WITHIN_MS,
      what: () => `every server acknowledges again; ${before} before, ${load.acknowledgedBy()} now`,
    },
  );
  return performance.now() - healedAt;
}

async function chaos({ rounds, seed, only, write }: Options): Promise<number> {
  const startedAt = performance.now();
  say(`seed ${seed}: npm run chaos -- --seed ${seed} --rounds ${rounds}`);
  const cluster = await openCluster();
  const redis = await startRedis();
  const settings = { ...SETTINGS, REDIS_URL: redis.url };
  const servers = await Promise.all(
    Array.from({ length: SERVERS }, () => makeServer(cluster, settings)),
  );
  const closing = [...servers.map((server) => server.close), redis.kill, cluster.close];
  try {
    for (const server of servers) await server.start();
    const load = startLoad({
      targets: servers,
      key: await makeAgentKey(cluster.url(cluster.port())),
      exporters: EXPORTERS,
      random: seeded(seed + 1),
    });
    closing.unshift(load.stop);
    const isPossible = (kind: Fault): boolean => cluster.hasWalDisk || kind !== 'disk-full';
    const kinds = (only ?? (Object.keys(FAULTS) as Fault[])).filter(isPossible);
    if (!cluster.hasWalDisk) say('LEFT OUT: disk-full, because this process may not mount a tmpfs');
    const parts = { cluster, servers, redis, load, random: seeded(seed + 2) };
    const result = await runAll(planRounds(seed, { rounds, servers: SERVERS, kinds }), parts);
    return report({ ...result, seed, seconds: (performance.now() - startedAt) / 1_000 }, write);
  } finally {
    for (const close of closing) await close();
  }
}

async function runAll(
  plan: readonly Round[],
  parts: Parts,
): Promise<Omit<Result, 'seed' | 'seconds'>> {
  const { load, cluster } = parts;
  const faults: Record<string, number> = {};
  const failures: string[] = [];
  const givenUp = new Set<number>();
  let verdict = NOTHING;
  let longestRecoveryMs = 0;
  let checked = 0;
  let rounds = 0;
  let isEnding = false;
  process.once('SIGINT', () => {
    say('ends after this fault, with a check and a report');
    isEnding = true;
  });
  for (const [index, round] of plan.entries()) {
    const about = `${index + 1}/${plan.length} ${round.fault} (server ${round.server}, ${seconds(round.lastsMs)})`;
    const recoveryMs = await runRound(round, parts);
    faults[round.fault] = (faults[round.fault] ?? 0) + 1;
    longestRecoveryMs = Math.max(longestRecoveryMs, recoveryMs);
    say(
      `${about}: acknowledged again after ${seconds(recoveryMs)}; ${load.deliveries.length} bodies, ` +
        `longest answer ${seconds(load.longestAnswerMs())}`,
    );
    if ((index + 1) % ROUNDS_PER_CHECK !== 0 && index + 1 < plan.length && !isEnding) continue;
    await load.pause();
    const since = load.deliveries.slice(checked);
    checked = load.deliveries.length;
    const checkedAt = performance.now();
    const found = await check(cluster, since, givenUp);
    const tookMs = performance.now() - checkedAt;
    for (const { body, outcome } of since) if (outcome === 'unknown') givenUp.add(body.number);
    verdict = addVerdicts(verdict, found);
    const wrong = faultsOf(found);
    failures.push(...wrong.map((line) => `after round ${index + 1}: ${line}`));
    say(
      `  checked ${found.rowsAcknowledged} rows in ${seconds(tookMs)}: ` +
        (wrong.join(', ') || 'nothing lost, twice or changed'),
    );
    if (wrong.length > 0) for (const { log } of parts.servers) say(log().slice(-LOG_SHOWN));
    rounds = index + 1;
    if (isEnding) break;
    load.resume();
  }
  failures.push(...new Set(load.wrongAnswers));
  if (load.longestAnswerMs() >= ANSWER_WITHIN_MS) {
    failures.push(`an answer took ${seconds(load.longestAnswerMs())}`);
  }
  return {
    rounds,
    faults,
    verdict,
    failures,
    bodiesGivenUp: givenUp.size,
    answers: load.answersByStatus(),
    longestAnswerMs: load.longestAnswerMs(),
    longestRecoveryMs,
    machine: machineFacts(),
  };
}

/** @returns the exit code */
function report(result: Result, write: boolean): number {
  const { verdict } = result;
  say('');
  say(
    `${result.rounds} faults in ${seconds(result.seconds * 1_000)}, answers: ${JSON.stringify(result.answers)}`,
  );
  say(
    `rows acknowledged ${verdict.rowsAcknowledged}, lost ${verdict.rowsLost}, twice ${verdict.rowsTwice}, ` +
      `changed ${verdict.recordsChanged}, misplaced ${verdict.recordsMisplaced}; ` +
      `findings expected ${verdict.findingsExpected}, missing ${verdict.findingsMissing}, twice ${verdict.findingsTwice}`,
  );
  say(
    `longest answer ${seconds(result.longestAnswerMs)}, longest recovery ${seconds(result.longestRecoveryMs)}, ` +
      `${result.bodiesGivenUp} bodies given up by their exporters`,
  );
  for (const failure of result.failures) say(`FAILED: ${failure}`);
  if (write) {
    writeFileSync(RESULTS, `${JSON.stringify(result, null, 2)}\n`);
    writePage(result);
  }
  return result.failures.length === 0 ? 0 : 1;
}

const program = new Command('chaos')
  .description('Faults under load, and a check that nothing acknowledged is lost or stored twice.')
  .option('--rounds <number>', 'how many faults', positive, ROUNDS)
  .option('--seed <number>', 'decides the faults; another for every run when left out', positive)
  .option('--only <faults>', 'kinds of faults, separated by commas', kindsOf)
  .option('--write', 'writes test/chaos/results.json and the table of docs/reliability.md', false)
  .addHelpText(
    'after',
    [
      '',
      'Faults:',
      ...Object.entries(FAULTS).map(([name, what]) => `  ${name.padEnd(18)} ${what}`),
      '',
      'Needs redis-server; disk-full needs root. All of it runs on 127.0.0.1 and in a temporary folder.',
      'Exit code 1 when anything was lost, changed, stored twice or answered too late.',
      '',
      'Examples:',
      '  npm run chaos                                  # 25 faults, a few minutes',
      '  npm run chaos -- --rounds 1000 --write         # before a release',
      '  npm run chaos -- --seed 4711 --rounds 40       # the same faults again',
      '  npm run chaos -- --only promote,kill-server',
    ].join('\n'),
  )
  .action(async (options: Omit<Options, 'seed'> & { seed?: number }) => {
    process.exitCode = await chaos({
      ...options,
      seed: options.seed ?? 1 + Math.floor(Math.random() * 999_999),
    });
  });
await program.parseAsync();
