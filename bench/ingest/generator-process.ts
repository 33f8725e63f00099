/**
 * The load generator of the ingest benchmark. Every request must be answered 200: a load that is
 * refused measures nothing.
 */
import { sendToParent } from '../child.ts';
import { runLoadProcess } from '../load-process.ts';
import { latencyOf } from './latency.ts';
import type { LoadPlan, LoadResult } from './load-plan.ts';
import { type PreparedRequest, prepareRequest, stamp } from './requests.ts';
import { Sender } from './sender.ts';

/** Requests are cached, so that the same load need not be built again in the next round. */
const KEPT_LOADS = 6;
const kept = new Map<string, PreparedRequest[]>();
let stamped = 0;

function requestsOf({ kind, url, key, connections, pace }: LoadPlan): PreparedRequest[] {
  const count = pace.type === 'once' ? pace.bodies : connections;
  const name = JSON.stringify([kind, url, key, count]);
  const found = kept.get(name);
  if (found !== undefined) return found;
  const target = new URL(url);
  const made = Array.from({ length: count }, (_, index) =>
    prepareRequest(kind, index + 1, target, key),
  );
  const [oldest] = kept.keys();
  if (kept.size >= KEPT_LOADS && oldest !== undefined) kept.delete(oldest);
  kept.set(name, made);
  return made;
}

interface Run {
  readonly plan: LoadPlan;
  readonly requests: readonly PreparedRequest[];
  readonly senders: readonly Sender[];
}

/**
 * Counts answers. An answer other than 200 fails the run: a refused load measures nothing.
 */
class Tally {
  readonly #rowsPerBody: number;
  readonly #latencies: number[] = [];
  readonly #startedAt = performance.now();
  #bytes = 0;

  constructor(rowsPerBody: number) {
    this.#rowsPerBody = rowsPerBody;
  }

  get startedAt(): number {
    return this.#startedAt;
  }

  add(status: number, sentAt: number, { bodyBytes }: PreparedRequest): void {
    if (status !== 200) throw new Error(`a request was answered ${status}`);
    this.#latencies.push(performance.now() - sentAt);
    this.#bytes += bodyBytes;
  }

  result(): LoadResult {
    const acknowledged = this.#latencies.length;
    return {
      acknowledged,
      rows: acknowledged * this.#rowsPerBody,
      bytes: this.#bytes,
      seconds: (performance.now() - this.#startedAt) / 1000,
      latency: latencyOf(this.#latencies),
    };
  }
}

/**
 * Every connection sends its next request when the one before is answered.
 *
 * @param next the request for a connection, null when there is none left
 */
function closedLoop(
  { plan, senders }: Run,
  next: (connection: number) => PreparedRequest | null,
): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const tally = new Tally(plan.kind.rows);
    let open = senders.length;
    const turn = (sender: Sender, connection: number): void => {
      const request = next(connection);
      if (request === null) {
        open -= 1;
        if (open === 0) resolve(tally.result());
        return;
      }
      const sentAt = performance.now();
      sender.send(request.bytes, (status) => {
        try {
          tally.add(status, sentAt, request);
          turn(sender, connection);
        } catch (error) {
          reject(error);
        }
      });
    };
    for (const [connection, sender] of senders.entries()) turn(sender, connection);
  });
}

function fresh(requests: readonly PreparedRequest[], connection: number): PreparedRequest | null {
  const request = requests[connection] ?? null;
  if (request !== null) stamp(request, ++stamped);
  return request;
}

/**
 * Requests become due at a fixed rate. One for which no connection is free waits, and its time
 * counts from when it was due: a server that falls behind is not spared the requests it holds up.
 */
function openLoop({ plan, requests, senders }: Run, perSecond: number, seconds: number) {
  return new Promise<LoadResult>((resolve, reject) => {
    const tally = new Tally(plan.kind.rows);
    const total = Math.round(perSecond * seconds);
    const dueAt = (number: number): number => tally.startedAt + (number * 1000) / perSecond;
    const free = senders.map((_, connection) => connection);
    let sent = 0;
    let answered = 0;
    const send = (connection: number): void => {
      const request = fresh(requests, connection);
      const sender = senders[connection];
      if (request === null || sender === undefined) throw new Error('a connection without request');
      const due = dueAt(sent);
      sent += 1;
      sender.send(request.bytes, (status) => {
        try {
          tally.add(status, due, request);
          answered += 1;
          free.push(connection);
          if (answered === total) resolve(tally.result());
          else sendDue();
        } catch (error) {
          reject(error);
        }
      });
    };
    const sendDue = (): void => {
      const now = performance.now();
      while (sent < total && dueAt(sent) <= now) {
        // In turn: a connection that has nothing to do for ten seconds is closed by the server.
        const connection = free.shift();
        if (connection === undefined) return;
        send(connection);
      }
    };
    const tick = (): void => {
      sendDue();
      if (sent < total) setTimeout(tick, Math.max(1, dueAt(sent) - performance.now()));
    };
    tick();
  });
}

async function measure(run: Run): Promise<LoadResult> {
  const { pace } = run.plan;
  switch (pace.type) {
    case 'once': {
      let place = 0;
      return await closedLoop(run, () => run.requests[place++] ?? null);
    }
    case 'while': {
      const endsAt = performance.now() + pace.seconds * 1000;
      return await closedLoop(run, (connection) =>
        performance.now() < endsAt ? fresh(run.requests, connection) : null,
      );
    }
    case 'paced':
      return await openLoop(run, pace.perSecond, pace.seconds);
  }
}

let prepared: Run | null = null;

async function prepare(plan: LoadPlan): Promise<void> {
  if (plan.kind.gzip && plan.pace.type !== 'once') throw new Error('compressed bodies go once');
  const onFailure = ({ message }: Error): void => sendToParent({ type: 'failed', message });
  const requests = requestsOf(plan);
  const url = new URL(plan.url);
  const senders = await Promise.all(
    Array.from({ length: plan.connections }, () => Sender.open(url, onFailure)),
  );
  prepared = { plan, requests, senders };
}

async function send(): Promise<LoadResult> {
  if (prepared === null) throw new Error('nothing was prepared');
  const run = prepared;
  prepared = null;
  try {
    return await measure(run);
  } finally {
    for (const sender of run.senders) sender.close();
  }
}

runLoadProcess(prepare, send);
