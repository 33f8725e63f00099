/**
 * `npm run ha -- --compose`: what compose starts, under load, while its two Sluice are stopped and
 * started again one after the other. No request may be refused.
 */
import { seeded } from '../../bench/bodies.ts';
import { makeAgentKey } from '../chaos/agent-key.ts';
import { check, faultsOf } from '../chaos/checker.ts';
import { type Load, startLoad } from '../chaos/load.ts';
import type { TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { type ComposeStack, openComposeStack } from './compose-stack.ts';

const EXPORTERS = 6;
/** Acknowledged between two steps. */
const BODIES = 100;
const WITHIN_MS = 120_000;
const SEED = 1;

/** A counter of a process. */
async function counter({ metricsUrl }: TestServer, name: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}

/** Rows stored and runs evaluated so far. */
async function workOf(server: TestServer): Promise<readonly [rows: number, runs: number]> {
  return [
    await counter(server, 'sluice_store_rows_total'),
    await counter(server, 'sluice_pass_runs_total{outcome="evaluated"}'),
  ];
}

/** Waits for more acknowledgements, and until each process that runs has stored and evaluated. */
async function underLoad(
  load: Load,
  stack: ComposeStack,
  say: (line: string) => void,
): Promise<void> {
  const acknowledged = () => load.acknowledgedBy().reduce((sum, one) => sum + one, 0);
  const wanted = acknowledged() + BODIES;
  await waitFor(() => acknowledged() >= wanted, {
    withinMs: WITHIN_MS,
    what: () => `${BODIES} bodies are acknowledged: ${JSON.stringify(load.answersByStatus())}`,
  });
  for (const [at, server] of stack.servers.entries()) {
    if (server.hasExited()) continue;
    let work = await workOf(server);
    await waitFor(
      async () => {
        work = await workOf(server);
        return work.every((count) => count > 0);
      },
      { withinMs: WITHIN_MS, what: `sluice-${at + 1} stores and evaluates` },
    );
    say(`sluice-${at + 1} has stored ${work[0]} rows and evaluated ${work[1]} runs`);
  }
}

/** @returns the exit code */
export async function runCompose(say: (line: string) => void): Promise<number> {
  const stack = await openComposeStack(say);
  let load: Load | null = null;
  try {
    const key = await makeAgentKey(stack.databaseUrl);
    const targets = [{ url: stack.observeUrl, wasAwaySince: () => false }];
    load = startLoad({ targets, key, exporters: EXPORTERS, random: seeded(SEED) });
    await underLoad(load, stack, say);
    for (const at of stack.servers.keys()) {
      const start = await stack.stop(at);
      say(`sluice-${at + 1} is stopped`);
      await underLoad(load, stack, say);
      await start();
      say(`sluice-${at + 1} is started again`);
      await underLoad(load, stack, say);
    }
    await load.pause();
    const answers = load.answersByStatus();
    const verdict = await check(stack, load.deliveries, new Set());
    say(JSON.stringify({ ...verdict, answers }));
    const refused = Object.keys(answers).filter((status) => status !== '200');
    const wrong = [...faultsOf(verdict), ...refused.map((one) => `answers ${one}`)];
    for (const line of wrong) say(`FAILED: ${line}`);
    return wrong.length === 0 ? 0 : 1;
  } finally {
    await load?.stop();
    await stack.close();
  }
}
