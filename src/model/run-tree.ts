/** The tree of a whole run: its steps without their documents, and the rows of it that are shown. */
import type { Hex8, Int64 } from './json.ts';
import type { UnreadableBlocks } from './runs.ts';
import type { Step } from './steps.ts';

export interface TreeStep {
  /** in the run's time order, from 1 */
  readonly number: number;
  readonly source: Step['source'];
  readonly spanId: Hex8 | null;
  readonly parentSpanId: Hex8 | null;
  readonly startUnixNano: Int64;
  readonly endUnixNano: Int64;
  readonly arrivedOn: string;
  /** number of steps of the run before it with its source, start, span id and day of arrival */
  readonly twin: number;
  readonly isError: boolean;
  /** equal for equal names */
  readonly nameKey: number;
  readonly stored: number;
  /** the block in which its record arrived, and the record's number in it */
  readonly blockId: string;
  readonly ordinal: number;
  /** the block that has its record now, shared by steps, and the record's number in it */
  readonly storedIn: { readonly blockId: string; readonly arrivedOn: string };
  readonly storedAs: number;
  /** how often it was sent again, with the same content */
  readonly repeats: number;
}

/** The steps of a run, as far as their blocks could be read. */
export interface StoredTree {
  readonly steps: readonly TreeStep[];
  readonly unreadable: UnreadableBlocks;
}

export interface HiddenSteps {
  readonly steps: number;
  readonly findings: number;
  readonly errors: number;
}

/** A row of a tree: a step, or several steps that follow each other below one parent. */
export type TreeRow =
  | {
      readonly kind: 'step';
      readonly number: number;
      readonly depth: number;
      /** the hidden steps below it */
      readonly below: HiddenSteps | null;
    }
  | {
      readonly kind: 'gap';
      /** number of its first step; of one with a finding, where it has any */
      readonly number: number;
      readonly depth: number;
      /** itself and everything below */
      readonly hidden: HiddenSteps;
      /** steps that follow each other, without those below them */
      readonly siblings: number;
      /** all of them have one name */
      readonly isRepeated: boolean;
      readonly startUnixNano: Int64;
      readonly endUnixNano: Int64;
    };
