/**
 * How long can one request block the event loop? Sends each of the worst known bodies to a real
 * server, one after the other, and reads the worst run; a probe inside the server measures the CPU
 * time of every turn.
 */
import { request } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

import { log } from './harness.ts';
import { canWatchTurns, watchTurns } from './loop-delay/turns.ts';
import { type WorstBody, worstBodies } from './loop-delay/worst-bodies.ts';
import { type MachineFacts, machineFacts } from './machine.ts';
import { startServer } from './server-under-test.ts';

const MIB = 1024 * 1024;
const PATHS = { traces: '/v1/traces', logs: '/v1/logs', metrics: '/v1/metrics' } as const;

interface Measured {
  readonly name: string;
  readonly bytes: number;
  readonly status: number;
  /** of each round */
  readonly longestMs: readonly number[];
  readonly answeredMs: readonly number[];
}

export interface LoopDelayResult {
  readonly name: 'loop-delay';
  readonly question: string;
  readonly machine: MachineFacts;
  readonly rounds: number;
  readonly measured: readonly Measured[];
}

/** Posts over a new connection: building a body takes longer than the idle timeout. */
async function post(url: string, headers: Record<string, string>, body: Buffer): Promise<number> {
  return await new Promise((resolve, reject) => {
    const outgoing = request(url, { method: 'POST', agent: false, headers }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0));
    });
    outgoing.once('error', reject).end(body);
  });
}

/** @param bodyMib size of the largest bodies, at most 63 */
export async function loopDelayBench(rounds: number, bodyMib: number): Promise<LoopDelayResult> {
  if (!canWatchTurns) throw new Error('this benchmark reads /proc/thread-self/schedstat');
  const machine = machineFacts();
  const watch = watchTurns();
  const limits = { MAX_BODY_BYTES: String(64 * MIB), MAX_DECODED_BODY_BYTES: String(64 * MIB) };
  const server = await startServer({ ...limits, ...watch.settings });
  const send = async ({ signal, body }: WorstBody, encoding?: string): Promise<number> => {
    const headers = {
      authorization: `Bearer ${server.agentKey}`,
      'content-type': 'application/json',
      ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    };
    const url = `${server.observeUrl}${PATHS[signal]}`;
    return await post(url, headers, encoding === undefined ? body : await promisify(gzip)(body));
  };
  const found = new Map<string, Measured>();
  const measure = async (one: WorstBody, name: string, encoding?: string): Promise<void> => {
    watch.longestMs();
    const startedAt = performance.now();
    const status = await send(one, encoding);
    const before = found.get(name);
    const measured = {
      name,
      bytes: one.body.length,
      status,
      longestMs: [...(before?.longestMs ?? []), watch.longestMs()],
      answeredMs: [...(before?.answeredMs ?? []), Math.round(performance.now() - startedAt)],
    };
    found.set(name, measured);
    log(`${name}: ${measured.status}, ${measured.longestMs.at(-1)} ms`);
  };
  try {
    // The first round includes code that V8 has not compiled yet.
    for (let round = 0; round < rounds; round += 1) {
      for (const body of worstBodies(bodyMib * MIB)) {
        await measure(body, body.name);
        if (round === 0 && body.name.startsWith('ordinary')) {
          await measure(body, `${body.name}, gzip`, 'gzip');
        }
      }
    }
  } finally {
    await server.close();
    watch.close();
  }
  const question =
    'CPU time of the longest turn of the event loop, by the worst bodies that are known';
  return { name: 'loop-delay', question, machine, rounds, measured: [...found.values()] };
}
