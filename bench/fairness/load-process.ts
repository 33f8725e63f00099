/**
 * One tenant of the fairness benchmark, as a separate process. Unlike the load generator of `bench
 * -- ingest` it retries at once on the same connection when it is refused, and reconnects when it
 * is cut off, because a flood does not wait.
 */
import { pause } from '../harness.ts';
import { latencyOf } from '../ingest/latency.ts';
import { type PreparedRequest, prepareRequest, stamp } from '../ingest/requests.ts';
import { Sender } from '../ingest/sender.ts';
import { runLoadProcess } from '../load-process.ts';
import type { FairnessLoad, FairnessPlan } from './load-plan.ts';

/** After this time an exporter gives up. */
const ANSWER_WITHIN_MS = 10_000;

class Tally {
  readonly #startedAt = performance.now();
  readonly #stored: number[] = [];
  readonly #refused: number[] = [];
  #lost = 0;

  get startedAt(): number {
    return this.#startedAt;
  }

  add(status: number | null, dueAt: number): void {
    const elapsed = performance.now() - dueAt;
    if (status === null) this.#lost += 1;
    else if (status === 200) this.#stored.push(elapsed);
    else if (status === 503 || status === 429) this.#refused.push(elapsed);
    else throw new Error(`a request was answered ${status}`);
  }

  result(): FairnessLoad {
    return {
      stored: this.#stored.length,
      refused: this.#refused.length,
      lost: this.#lost,
      storedLatency: latencyOf(this.#stored),
      refusedLatency: latencyOf(this.#refused),
      seconds: (performance.now() - this.#startedAt) / 1000,
    };
  }
}

class Connection {
  readonly #url: URL;
  #sender: Sender | null = null;
  #onEnd: (status: number | null) => void = () => {};

  constructor(url: URL) {
    this.#url = url;
  }

  async open(): Promise<Sender> {
    this.#sender ??= await Sender.open(this.#url, () => this.#lose());
    return this.#sender;
  }

  #lose(): void {
    this.#sender?.close();
    this.#sender = null;
    this.#onEnd(null);
  }

  /** @returns the status; null if there was none */
  async send(bytes: Buffer): Promise<number | null> {
    const sender = await this.open();
    return await new Promise((resolve) => {
      const timer = setTimeout(() => this.#lose(), ANSWER_WITHIN_MS);
      this.#onEnd = (status) => {
        clearTimeout(timer);
        this.#onEnd = () => {};
        resolve(status);
      };
      sender.send(bytes, (status) => this.#onEnd(status));
    });
  }

  close(): void {
    this.#sender?.close();
  }
}

let stamped = 0;
let plan: FairnessPlan | null = null;
let requests: PreparedRequest[] = [];
let connections: Connection[] = [];

async function prepare(next: FairnessPlan): Promise<void> {
  const url = new URL(next.url);
  plan = next;
  requests = Array.from({ length: next.connections }, (_, seed) =>
    prepareRequest(next.kind, seed + 1, url, next.key),
  );
  connections = requests.map(() => new Connection(url));
  await Promise.all(connections.map((connection) => connection.open()));
}

async function send(): Promise<FairnessLoad> {
  if (plan === null) throw new Error('nothing was prepared');
  const { perSecond, seconds } = plan;
  const tally = new Tally();
  const endsAt = tally.startedAt + seconds * 1000;
  let due = 0;
  const turn = async (connection: Connection, request: PreparedRequest): Promise<void> => {
    for (;;) {
      const number = due++;
      const dueAt =
        perSecond === null ? performance.now() : tally.startedAt + (number * 1000) / perSecond;
      if (dueAt >= endsAt) return;
      await pause(dueAt - performance.now());
      stamp(request, ++stamped);
      tally.add(await connection.send(request.bytes), dueAt);
    }
  };
  await Promise.all(
    connections.map(async (connection, place) => {
      const request = requests[place];
      if (request !== undefined) await turn(connection, request);
    }),
  );
  for (const connection of connections) connection.close();
  return tally.result();
}

runLoadProcess(prepare, send);
