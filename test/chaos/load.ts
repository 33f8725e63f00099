/**
 * Exporters: they send bodies, wait up to ten seconds for each answer, and send the same bytes again
 * after an error that OTLP/HTTP calls retryable, as OpenTelemetry's exporters do.
 */
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Body, bodyOf } from './bodies.ts';
import { digestOf } from './sent-records.ts';

/** `OTEL_EXPORTER_OTLP_TIMEOUT`'s default. */
export const ANSWER_WITHIN_MS = 10_000;
const ATTEMPTS_MAX = 8;
const RETRYABLE = [429, 502, 503, 504];
const BACKOFF_MS = { first: 100, most: 2_000 } as const;
/** Between two bodies of one exporter: more would only fill the disk. */
const PAUSE_MS = 60;

/** The outcome of a body. */
export interface Delivery {
  readonly body: Omit<Body, 'bytes'>;
  /** of what has to be stored; made under load, so that a check need not make all bodies again */
  readonly digest: string;
  /** `unknown`: given up, as exporters do; it is stored whole or not at all */
  outcome: 'acknowledged' | 'unknown' | 'under way';
  attempts: number;
}

interface Attempt {
  readonly status: number | null;
  readonly text: string;
  readonly retryAfterMs: number;
}

export interface Target {
  readonly url: string;
  /** Whether it was unable to answer at any time since `at`, because it was paused or ended. */
  readonly wasAwaySince: (at: number) => boolean;
}

export interface Load {
  readonly deliveries: readonly Delivery[];
  /** answers other than 200 and those to be retried, and partial successes: each is a defect */
  readonly wrongAnswers: readonly string[];
  /** the longest time that a server which was running took for an answer, in milliseconds */
  readonly longestAnswerMs: () => number;
  /** acknowledgements by each target so far */
  readonly acknowledgedBy: () => readonly number[];
  readonly answersByStatus: () => Readonly<Record<string, number>>;
  /** Loses connections before the answer while true. */
  readonly cutAnswers: (isCut: boolean) => void;
  /** Sends no further bodies; resolves when none is under way. */
  readonly pause: () => Promise<void>;
  readonly resume: () => void;
  readonly stop: () => Promise<void>;
}

interface LoadOptions {
  readonly targets: readonly Target[];
  readonly key: string;
  readonly exporters: number;
  /** numbers from 0 to below 1 */
  readonly random: () => number;
}

function post(
  url: string,
  { body, key, abandonAfterMs }: { body: Buffer; key: string; abandonAfterMs: number | null },
): Promise<Attempt> {
  return new Promise((resolve) => {
    const failed = { status: null, text: '', retryAfterMs: 0 };
    const sent = request(
      url,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        timeout: ANSWER_WITHIN_MS,
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      },
      (response) => {
        let text = '';
        response
          .setEncoding('utf8')
          .on('data', (piece: string) => {
            text += piece;
          })
          .once('error', () => resolve(failed))
          .once('end', () =>
            resolve({
              status: response.statusCode ?? null,
              text,
              retryAfterMs: Number(response.headers['retry-after'] ?? 0) * 1_000,
            }),
          );
      },
    );
    // A broken connection is what faults are for: the exporter sends again.
    sent.once('error', () => resolve(failed));
    if (abandonAfterMs !== null) {
      sent.once('finish', () => setTimeout(() => sent.destroy(), abandonAfterMs));
    }
    sent.end(body);
  });
}

/** Starts the exporters. */
export function startLoad({ targets, key, exporters, random }: LoadOptions): Load {
  const deliveries: Delivery[] = [];
  const wrongAnswers: string[] = [];
  const acknowledgedBy = targets.map(() => 0);
  const statuses: Record<string, number> = {};
  let longestAnswerMs = 0;
  let isCut = false;
  let isPaused = false;
  let isStopped = false;
  let underWay = 0;

  const attempt = async (body: Body): Promise<Attempt> => {
    const at = Math.floor(random() * targets.length);
    const target = targets[at] as Target;
    const abandonAfterMs = isCut ? random() * 60 : null;
    const startedAt = performance.now();
    const answer = await post(`${target.url}/v1/${body.signal}`, {
      body: body.bytes,
      key,
      abandonAfterMs,
    });
    const tookMs = performance.now() - startedAt;
    statuses[answer.status ?? 'none'] = (statuses[answer.status ?? 'none'] ?? 0) + 1;
    if (!target.wasAwaySince(startedAt)) longestAnswerMs = Math.max(longestAnswerMs, tookMs);
    if (answer.status === 200) acknowledgedBy[at] = (acknowledgedBy[at] ?? 0) + 1;
    return answer;
  };

  const deliver = async (body: Body): Promise<void> => {
    const { bytes: _bytes, ...kept } = body;
    const delivery: Delivery = {
      body: kept,
      digest: digestOf(body),
      outcome: 'under way',
      attempts: 0,
    };
    deliveries.push(delivery);
    while (delivery.attempts < ATTEMPTS_MAX) {
      delivery.attempts += 1;
      const { status, text, retryAfterMs } = await attempt(body);
      if (status === 200) {
        if (text !== '{}') wrongAnswers.push(`200 with ${text}`);
        delivery.outcome = 'acknowledged';
        return;
      }
      if (status !== null && !RETRYABLE.includes(status)) {
        wrongAnswers.push(`${status}: ${text}`);
        break;
      }
      const backoffMs = Math.min(BACKOFF_MS.first * 2 ** delivery.attempts, BACKOFF_MS.most);
      await sleep(Math.max(retryAfterMs, backoffMs * (0.5 + random() / 2)));
    }
    delivery.outcome = 'unknown';
  };

  const run = async (): Promise<void> => {
    while (!isStopped) {
      await sleep(PAUSE_MS);
      if (isPaused) continue;
      underWay += 1;
      await deliver(bodyOf(deliveries.length));
      underWay -= 1;
    }
  };
  const done = Promise.all(Array.from({ length: exporters }, run));
  const pause = async (): Promise<void> => {
    isPaused = true;
    while (underWay > 0) await sleep(PAUSE_MS);
  };
  return {
    deliveries,
    wrongAnswers,
    longestAnswerMs: () => longestAnswerMs,
    acknowledgedBy: () => acknowledgedBy,
    answersByStatus: () => statuses,
    cutAnswers: (cut) => {
      isCut = cut;
    },
    pause,
    resume: () => {
      isPaused = false;
    },
    stop: async () => {
      await pause();
      isStopped = true;
      await done;
    },
  };
}
