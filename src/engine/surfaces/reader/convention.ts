/**
 * Owns the language in which a telemetry convention is written down as data: which attribute or
 * event holds which text, on which surface it stands, and how a step's kind shows. One file per
 * convention uses it, `conventions.ts` lists them, `read-rows.ts` reads them. No behaviour here.
 */
import type { StepKind, Surface } from '../../../model.ts';

export type { StepKind } from '../../../model.ts';

/** A surface, or one that depends on the kind of step the text was found on. */
export type Place =
  | Surface
  | (Readonly<Partial<Record<StepKind, Surface>>> & { readonly else: Surface });

/** Did the text go into the step or come out of it? */
export type Side = 'input' | 'output';

/** A structure around what matters, as `{inputs, tags, metadata}` is. */
export interface Envelope {
  /** members that hold the tool's name */
  readonly name?: readonly (string | readonly string[])[];
  /**
   * Members that hold the text; a value with none of them is no envelope and read whole. A list of
   * names is a way down, through the elements of lists as well. Without any the whole is the text.
   */
  readonly take?: readonly (string | readonly string[])[];
  /**
   * Members beside them that are no text of the run. A value with any other member is no envelope:
   * who can name members, as a tool's answer can, must not hide text by it.
   */
  readonly beside?: readonly string[];
}

/** How a value is read. */
export type Reading =
  /** plain text; a list is one text per element */
  | { readonly as: 'text'; readonly place: Place }
  /** a structure: tool arguments, tool results, documents */
  | { readonly as: 'structure'; readonly place: Place; readonly envelope?: Envelope }
  /** chat messages in any known dialect */
  | {
      readonly as: 'messages';
      readonly side: Side;
      readonly envelope?: Envelope;
      /** they come as they were streamed: what the model says bit by bit is one text */
      readonly streamed?: true;
    }
  /** messages on a model's or agent's step, else a structure */
  | {
      readonly as: 'exchange';
      readonly side: Side;
      readonly place: Place;
      readonly envelope?: Envelope;
      /**
       * The producer writes every value as JSON, text too: one level of it nobody said. Else a string
       * stands for itself, whatever is in it.
       */
      readonly encoded?: true;
    }
  /** a list of message events, each with its name in `event.name` */
  | { readonly as: 'events' };

/** Chat messages told leaf by leaf, as `prefix.0.message.role`. */
export interface FlattenedMessages {
  readonly as: 'flattened';
  readonly side: Side;
  /** members that only wrap what is inside: `{message: {…}}` */
  readonly wrappers?: readonly string[];
  /** members that go by another name elsewhere */
  readonly renamed?: Readonly<Record<string, string>>;
}

/**
 * Which attributes a row is about: the one of that key; every one whose key begins with `prefix`
 * (and ends with `suffix`); those that tell messages leaf by leaf under `prefix` and a number; or
 * none, but the step's name.
 */
export type AttributeRow = {
  /**
   * The value repeats, raw, what other attributes of that side tell properly. It is read only when
   * none of them told anything, or when the sender says that some were dropped. With `equal` it may
   * repeat, or may not: of it is told what nothing else on the step told.
   */
  readonly raw?: Side | 'equal';
  /**
   * The value is not what the step took or gave but stands beside it, a failure or a query: raw
   * values are read all the same.
   */
  readonly aside?: true;
  /**
   * On steps that have this attribute, a description of arguments (JSON Schema) may stand here
   * instead of arguments; that is no text of the run.
   */
  readonly schemaWith?: string;
  /**
   * Where this attribute says so, the value is JSON that the producer wrote, as `encoded` has it
   * everywhere: what it tells apart is not also told whole.
   */
  readonly jsonBy?: { readonly key: string; readonly value: string };
  /** On steps of these kinds only, or on those of all others. */
  readonly onKinds?: readonly StepKind[];
  readonly notOnKinds?: readonly StepKind[];
  /** The producer cuts its JSON at a length: what is left of it is read as the structure it was. */
  readonly mayBeCut?: true;
  /**
   * The attribute that tells how many elements, from the first, the list has from earlier runs. They
   * are left out: the runs that they belong to told them.
   */
  readonly earlierBy?: string;
} & (
  | { readonly key: string; readonly read: Reading }
  | {
      readonly prefix: string;
      readonly suffix?: string;
      /** what follows the prefix in keys that other rows are about */
      readonly except?: readonly string[];
      readonly read: Reading;
    }
  | { readonly prefix: string; readonly read: FlattenedMessages }
  /** the step's name, for producers that name a tool nowhere else */
  | { readonly of: 'name'; readonly read: Reading }
);

/**
 * An event, as a span event or as a log record. It carries attributes of the conventions; or
 * attributes of its own that mean something in this event only; or it is itself one message, whose
 * role its name tells when the message does not; or nothing that is to be matched. In its name `*`
 * between two dots stands for what other names have there that no row is about.
 */
export type EventRow = { readonly event: string; readonly kind?: StepKind } & (
  | { readonly carries: 'attributes' }
  | { readonly carries: 'own'; readonly attributes: readonly AttributeRow[] }
  | {
      readonly carries: 'message';
      readonly side: Side;
      readonly role: string;
      /** on a tool step (of this provider, if one is named) it is no message but this */
      readonly onTool?: { readonly surface: Surface; readonly provider?: string };
      /** what it carries beside the message */
      readonly beside?: readonly AttributeRow[];
    }
  | { readonly carries: 'nothing' }
);

/** How a step's kind shows; first fit wins, over the conventions in their order. */
export type KindRow =
  /** by an attribute's value: without JSON's quotes, in lower case */
  | {
      readonly key: string;
      /** the member whose value it is, where the attribute is a structure */
      readonly member?: string;
      readonly kinds: Readonly<Record<string, StepKind>>;
    }
  /** by an attribute that is there */
  | { readonly has: string; readonly kind: StepKind }
  /** by the span's name, or its beginning up to the first space */
  | { readonly names: Readonly<Record<string, StepKind>> };

/** Which steps a convention is about: those that show any of these. */
export interface Marks {
  /** beginnings of the instrumentation scope's name */
  readonly scopes?: readonly string[];
  /** beginnings of the service's name */
  readonly services?: readonly string[];
  /** attributes that are there */
  readonly attributes?: readonly string[];
}

export interface Convention {
  readonly name: string;
  /** for keys that mean something else elsewhere; without, it is about every step */
  readonly on?: Marks;
  readonly kinds?: readonly KindRow[];
  /** in the order in which the texts of a step are told */
  readonly attributes: readonly AttributeRow[];
  readonly events: readonly EventRow[];
  /** the members of the body of a log record whose event is named like its instrumentation scope */
  readonly namedAsScope?: readonly AttributeRow[];
  /** the body of a log record that names no event but a span, by the key `body` */
  readonly unnamed?: readonly AttributeRow[];
}
