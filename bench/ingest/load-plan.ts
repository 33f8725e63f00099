/** The plan of a load and its result: messages between the benchmark and its load generator. */
import type { Latency } from './latency.ts';
import type { BodyKind } from './requests.ts';

export interface LoadPlan {
  readonly kind: BodyKind;
  readonly url: string;
  readonly key: string;
  readonly connections: number;
  /**
   * `once`: so many different bodies, each once, as fast as they are answered. `while`: for so
   * long, as fast as they are answered. `paced`: for so long, at a fixed rate, whether or not the
   * ones before have been answered.
   */
  readonly pace:
    | { readonly type: 'once'; readonly bodies: number }
    | { readonly type: 'while'; readonly seconds: number }
    | { readonly type: 'paced'; readonly seconds: number; readonly perSecond: number };
}

export interface LoadResult {
  /** requests answered 200; any other answer ends the run */
  readonly acknowledged: number;
  /** rows that they held */
  readonly rows: number;
  /** bytes of their bodies, as sent */
  readonly bytes: number;
  readonly seconds: number;
  /** milliseconds to the answer: from sending, or, paced, from when it was to be sent */
  readonly latency: Latency;
}
