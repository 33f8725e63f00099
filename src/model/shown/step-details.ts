/** Details of one step on a run's page, next to its texts: attributes, events, errors. Plain data. */
import type { Int64 } from '../json.ts';

export interface ShownValue {
  /** the beginning of a string, of bytes in base64, or of JSON text */
  readonly text: string;
  /** of the whole, in UTF-16 units */
  readonly length: number;
}

export interface ShownAttribute {
  readonly key: string;
  readonly value: ShownValue;
}

export interface ShownAttributes {
  readonly shown: readonly ShownAttribute[];
  readonly leftOut: number;
}

export interface ShownEvent {
  readonly name: string;
  /** null where it was not sent */
  readonly timeUnixNano: Int64 | null;
  readonly attributes: ShownAttributes;
}

/** An exception, or a status with an error. */
export interface ShownError {
  /** `TimeoutError`; null where it was not sent */
  readonly type: string | null;
  readonly message: string | null;
  readonly stack: string | null;
}

export interface StepDetails {
  readonly errors: readonly ShownError[];
  readonly attributes: ShownAttributes;
  readonly events: readonly ShownEvent[];
  readonly eventsLeftOut: number;
  readonly body: ShownValue | null;
  readonly scopeName: string;
}
