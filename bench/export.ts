/**
 * What does an export from a running server cost ingest? Spans at a fixed rate and at the full one, alone and beside
 * `sluice export`, in turn. Only prints.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { log, median } from './harness.ts';
import type { LoadPlan, LoadResult } from './ingest/load-plan.ts';
import { LoadProcess } from './load-process.ts';
import { markdownTable } from './markdown.ts';
import { type ServerUnderTest, startServer } from './server-under-test.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const GENERATOR = new URL('./ingest/generator-process.ts', import.meta.url);
const SPANS_PER_BODY = 100;
const CONNECTIONS = 64;
const SPANS_PER_SECOND = 20_000;
const KB_PER_MB = 1024;

export interface ExportBenchOptions {
  readonly rounds: number;
  readonly seconds: number;
  /** that are stored before */
  readonly bodies: number;
}

/** Exports everything, again and again, until it is ended. */
class Exporting {
  readonly #databaseUrl: string;
  #child: ChildProcess | null = null;
  #isEnded = false;
  exports = 0;
  residentMb = 0;

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
  }

  async run(): Promise<void> {
    while (!this.#isEnded) {
      const child = spawn(process.execPath, ['bin/sluice.js', 'export'], {
        cwd: ROOT,
        env: { ...process.env, DATABASE_URL: this.#databaseUrl },
        stdio: ['ignore', 'ignore', 'ignore'],
      });
      this.#child = child;
      const watch = setInterval(() => this.#look(child.pid ?? 0), 200);
      const [code] = await once(child, 'exit');
      clearInterval(watch);
      if (code === 0) this.exports += 1;
      else if (!this.#isEnded) throw new Error(`the export ended with ${code}`);
    }
  }

  #look(pid: number): void {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const peak = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / KB_PER_MB;
    this.residentMb = Math.max(this.residentMb, peak);
  }

  end(): void {
    this.#isEnded = true;
    this.#child?.kill('SIGKILL');
  }
}

interface Measured {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
}

type Generator = LoadProcess<LoadPlan, LoadResult>;

async function measure(generator: Generator, plan: LoadPlan): Promise<Measured> {
  await generator.prepare(plan);
  const { rows, seconds, latency } = await generator.send();
  return { rate: rows / seconds, p50: latency.p50 ?? 0, p99: latency.p99 ?? 0 };
}

export async function exportBench({ rounds, seconds, bodies }: ExportBenchOptions): Promise<void> {
  const server = await startServer();
  const generator: Generator = new LoadProcess(GENERATOR);
  try {
    await generator.prepare(planOf(server, { type: 'once', bodies }));
    await generator.send();
    const rows: string[][] = [];
    const perSecond = SPANS_PER_SECOND / SPANS_PER_BODY;
    const paces = {
      fixed: { type: 'paced', seconds, perSecond },
      full: { type: 'while', seconds },
    };
    for (const [name, pace] of Object.entries(paces)) {
      const plan = planOf(server, pace as LoadPlan['pace']);
      const [alone, beside]: [Measured[], Measured[]] = [[], []];
      let residentMb = 0;
      let exports = 0;
      for (let round = 0; round < rounds; round += 1) {
        alone.push(await measure(generator, plan));
        const exporting = new Exporting(server.databaseUrl);
        const running = exporting.run();
        beside.push(await measure(generator, plan));
        exporting.end();
        await running;
        residentMb = Math.max(residentMb, exporting.residentMb);
        exports += exporting.exports;
        log(`${name}: ${JSON.stringify({ alone: alone.at(-1), beside: beside.at(-1), exports })}`);
      }
      for (const [what, all] of [
        ['alone', alone],
        ['beside', beside],
      ] as const) {
        const of = (member: keyof Measured): number => median(all.map((one) => one[member]));
        const [rate, p50, p99] = [of('rate'), of('p50'), of('p99')];
        const memory = what === 'beside' ? residentMb.toFixed(0) : '';
        rows.push([name, what, rate.toFixed(0), p50.toFixed(1), p99.toFixed(1), memory]);
      }
    }
    const titles = ['rate', 'export', 'spans/s', 'p50, ms', 'p99, ms', 'memory of the export, MB'];
    log(`\n${markdownTable(titles, rows)}`);
  } finally {
    await generator.close();
    await server.close();
  }
}

const planOf = (server: ServerUnderTest, pace: LoadPlan['pace']): LoadPlan => ({
  kind: { signal: 'traces', rows: SPANS_PER_BODY, gzip: false },
  url: `${server.observeUrl}/v1/traces`,
  key: server.agentKey,
  connections: CONNECTIONS,
  pace,
});
