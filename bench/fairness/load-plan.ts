/** The plan and the result of one tenant's load: messages between the benchmark and a tenant. */
import type { Latency } from '../ingest/latency.ts';
import type { BodyKind } from '../ingest/requests.ts';

export interface FairnessPlan {
  readonly url: string;
  readonly key: string;
  readonly kind: BodyKind;
  readonly connections: number;
  readonly seconds: number;
  /**
   * requests per second, due whether or not earlier ones are answered; null: as fast as answers
   * come
   */
  readonly perSecond: number | null;
}

export interface FairnessLoad {
  readonly stored: number;
  readonly refused: number;
  /** ended without a status: the connection was reset, or nothing came in time */
  readonly lost: number;
  /** milliseconds to a 200, and to a refusal; a paced request's time counts from when it was due */
  readonly storedLatency: Latency;
  readonly refusedLatency: Latency;
  readonly seconds: number;
}
