/**
 * Owns the language in which a telemetry convention is written down as data: which attribute or
 * event holds which text, and on which surface it stands. One file per convention uses it;
 * `extract.ts` reads it. No behaviour here.
 */
import type { Surface } from '../../model.ts';
import type { StepKind } from './step-kind.ts';

/** A surface, or one that depends on the kind of step the text was found on. */
export type Place =
  | Surface
  | (Readonly<Partial<Record<StepKind, Surface>>> & { readonly else: Surface });

/** How a value is read. */
export type Reading =
  /** plain text; a list is one text per element */
  | { readonly as: 'text'; readonly place: Place }
  /** a structure: tool arguments, tool results, documents */
  | { readonly as: 'structure'; readonly place: Place }
  /** chat messages in any known dialect */
  | { readonly as: 'messages'; readonly side: Side }
  /** messages on a model's or agent's step, else a structure */
  | { readonly as: 'exchange'; readonly side: Side; readonly place: Place };

/** Did the text go into the step or come out of it? */
export type Side = 'input' | 'output';

/** An attribute by its key, or every attribute whose key begins with `prefix`. */
export type AttributeRow = { readonly read: Reading } & (
  | { readonly key: string }
  | { readonly prefix: string }
);

/**
 * An event, as a span event or as a log record. Either it carries attributes of the convention, or
 * it is itself one message, whose role its name tells when the message does not.
 */
export type EventRow = { readonly event: string } & (
  | { readonly carries: 'attributes' }
  | {
      readonly carries: 'message';
      readonly side: Side;
      readonly role: string;
      /** on a tool step (of this provider, if one is named) it is no message but this */
      readonly onTool?: { readonly surface: Surface; readonly provider?: string };
    }
);

export interface Convention {
  readonly name: string;
  /** in the order in which the texts of a step are told */
  readonly attributes: readonly AttributeRow[];
  readonly events: readonly EventRow[];
}
