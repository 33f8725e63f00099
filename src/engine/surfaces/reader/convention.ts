/**
 * Owns the format in which one product's telemetry convention is written down as data: which
 * attribute or event holds which text, on which surface it is matched, how a step's kind shows, and
 * what its attributes say about the run. One file per product under `conventions/`;
 * `conventions/conventions.ts` lists them. Types only, no behaviour.
 */
import type { JsonValue } from '../../../model/json.ts';
import type { RunName } from '../../../model/runs.ts';
import type { StepKind, Surface } from '../../../model/steps.ts';

export interface Convention {
  readonly name: string;
  /** for attributes that mean something else elsewhere; without it the convention applies to all */
  readonly appliesTo?: StepSelector;
  readonly kinds?: readonly KindRow[];
  /** in the order in which a step's texts are read */
  readonly attributes?: readonly AttributeRow[];
  readonly events?: readonly EventRow[];
  /** the members of the body of a log record whose event is named like its instrumentation scope */
  readonly namedAsScope?: readonly AttributeRow[];
  /** the body of a log record that names no event but a span, by the key `body` */
  readonly unnamed?: readonly AttributeRow[];
  /** read on every step of a run, whatever `appliesTo` says */
  readonly run?: RunRows;
  /** message parts that only this product writes; read in every message, because they are relayed */
  readonly parts?: MessageParts;
}

export interface StepSelector {
  /** prefixes of the instrumentation scope's name */
  readonly scopes?: readonly string[];
  /** prefixes of the service's name */
  readonly services?: readonly string[];
  readonly attributes?: readonly string[];
}

/** A surface, or one for each kind of step. */
export type SurfaceByKind =
  | Surface
  | (Readonly<Partial<Record<StepKind, Surface>>> & { readonly else: Surface });

/** Direction of a text: into the step or out of it. */
export type Side = 'input' | 'output';

/** A structure around the text, as in `{inputs, tags, metadata}`. */
export interface ValueEnvelope {
  /** members that hold the tool's name */
  readonly name?: readonly MemberPath[];
  /**
   * Members that hold the text. A value with none of them has no envelope and is read whole; without
   * `take` the whole value is the text.
   */
  readonly take?: readonly MemberPath[];
  /**
   * Members beside them that are no text of the run. A value with any other member has no envelope:
   * a sender that chooses the members, such as a tool, must not be able to hide text in them.
   */
  readonly beside?: readonly string[];
}

/** A member, or a path of members, which also leads through the elements of lists. */
export type MemberPath = string | readonly string[];

export type RowReading =
  /** plain text; a list is one text per element */
  | { readonly as: 'text'; readonly surface: SurfaceByKind }
  /** a structure: tool arguments, tool results, documents */
  | {
      readonly as: 'structure';
      readonly surface: SurfaceByKind;
      readonly envelope?: ValueEnvelope;
    }
  /** chat messages in any known dialect */
  | {
      readonly as: 'messages';
      readonly side: Side;
      readonly envelope?: ValueEnvelope;
      /** the messages are chunks of a stream: consecutive chunks of the model are joined */
      readonly streamed?: true;
    }
  /** messages on the step of a model or an agent, else a structure */
  | {
      readonly as: 'exchange';
      readonly side: Side;
      readonly surface: SurfaceByKind;
      readonly envelope?: ValueEnvelope;
      /**
       * The product encodes every value as JSON, strings too: one level of it is not part of the
       * text. `false`: it encodes nothing, a string is text as it is, whatever it contains. Else it
       * encodes only structures, and a conversation in JSON is taken for one.
       */
      readonly encoded?: boolean;
    }
  /** a list of message events, each with its name in `event.name` */
  | { readonly as: 'events' };

/** Chat messages with one attribute per leaf, as `prefix.0.message.role`. */
export interface FlattenedMessages {
  readonly as: 'flattened';
  readonly side: Side;
  /** members that only wrap others: `{message: {…}}` */
  readonly wrappers?: readonly string[];
  /** members that have another name elsewhere */
  readonly renamed?: Readonly<Record<string, string>>;
}

/**
 * How attributes are read: the one with that key; every one whose key has that prefix (and suffix);
 * flattened messages under a prefix and a number; or no attribute, but the step's name.
 */
export type AttributeRow = {
  /**
   * The value repeats what other attributes of that side hold in a better form. It is read only if
   * they held no text, or if the sender reports dropped attributes. `equal`: it may or may not
   * repeat; texts that nothing else on the step had are read.
   */
  readonly raw?: Side | 'equal';
  /**
   * The value is neither the step's input nor its output but beside them, such as an error or a
   * query: `raw` values are read all the same.
   */
  readonly aside?: true;
  /**
   * On steps with this attribute the value may be a description of arguments (JSON Schema) instead
   * of arguments; a schema is no text of the run.
   */
  readonly schemaWith?: string;
  /** Not read where it is the very value of this attribute, which is read: a step that passes it on. */
  readonly echoOf?: string;
  /** The value is JSON that the product encoded (`encoded`) if this attribute has this value. */
  readonly jsonBy?: AttributeValue;
  /** read on steps of these kinds only; on steps of all other kinds */
  readonly onKinds?: readonly StepKind[];
  readonly notOnKinds?: readonly StepKind[];
  /** read on steps with this value of an attribute only; on all others */
  readonly where?: AttributeValue;
  readonly whereNot?: AttributeValue;
  /** The texts that the product writes in place of others, such as `[image]`; they are not read. */
  readonly stubs?: RegExp;
  /**
   * The attribute with the number of elements, from the first, that earlier runs sent. They are
   * skipped: those runs were matched on them.
   */
  readonly earlierBy?: string;
} & (
  | { readonly key: string; readonly read: RowReading }
  | {
      readonly prefix: string;
      readonly suffix?: string;
      /** suffixes, after the prefix, of keys that other rows read */
      readonly except?: readonly string[];
      readonly read: RowReading;
    }
  | { readonly prefix: string; readonly read: FlattenedMessages }
  /** the step's name, for products that name a tool nowhere else */
  | { readonly of: 'name'; readonly read: RowReading }
);

interface AttributeValue {
  readonly key: string;
  readonly value: string | boolean;
}

/**
 * An event: a span event or a log record. It carries attributes of the conventions, attributes with
 * a meaning in this event only, one message, or no text. A message without a role has the role of the
 * row. `*` between two dots of the name stands for all names without a row.
 */
export type EventRow = { readonly event: string; readonly kind?: StepKind } & (
  | { readonly carries: 'attributes' }
  | { readonly carries: 'own'; readonly attributes: readonly AttributeRow[] }
  | {
      readonly carries: 'message';
      readonly side: Side;
      readonly role: string;
      /** on a tool step (of this provider, if one is named) it is not a message but this */
      readonly onTool?: { readonly surface: Surface; readonly provider?: string };
      /** content is encoded as JSON by these senders, so it is never also read as it was written */
      readonly encodedBy?: EncodingSender;
      /** its members beside the message */
      readonly beside?: readonly AttributeRow[];
    }
  | { readonly carries: 'nothing' }
);

/**
 * A sender whose messages have lists of parts, always encoded as JSON; recognised by its provider's
 * name or one of its attributes. An agent's answer is text as it is.
 */
export interface EncodingSender {
  readonly provider: string;
  readonly keys: readonly string[];
}

/** How a step's kind shows. The first row that fits counts, over the conventions in their order. */
export type KindRow =
  /** by an attribute's value, without JSON's quotes, in lower case */
  | {
      readonly key: string;
      /** the member to compare, if the attribute is a structure */
      readonly member?: string;
      readonly kinds: Readonly<Record<string, StepKind>>;
    }
  | { readonly has: string; readonly kind: StepKind }
  /** by the span's name, or its part up to the first space */
  | { readonly names: Readonly<Record<string, StepKind>> };

export interface RunRows {
  /**
   * Attributes that name the agent, model, session or user, with their rank. Of all products' keys
   * that the run has, the one with the lowest rank counts. Ranks are 10 apart; a key without a
   * reason to come before others is ranked last.
   */
  readonly names?: Readonly<Partial<Record<ReadName, Readonly<Record<string, number>>>>>;
  /** the attribute that names what a step runs: on a model's the model, on the topmost the agent */
  readonly stepName?: string;
  /** how the name of the agent's span names the agent, in the first group */
  readonly agentSpanName?: RegExp;
  /** the attribute, beside the span's status, that says that the agent failed */
  readonly failure?: FailureRow;
  /** attributes that mark a span as the run's root when they are `true` */
  readonly rootMarks?: readonly string[];
  /**
   * Fixed texts that the client itself writes into the user's messages. They are not matched as the
   * user's, on any step, because messages are relayed. None contains another that comes after it.
   */
  readonly clientTexts?: readonly string[];
  /** strings that replace a text that the product withholds */
  readonly placeholders?: readonly string[];
  /** the form of those that hold a number, such as a length */
  readonly placeholderForm?: RegExp;
  /** keys whose value refers to a text that the sender stores elsewhere */
  readonly references?: RegExp;
  /** attributes that are there when a text was withheld */
  readonly withheldFlags?: readonly string[];
  /** attributes that are `true` when a text beside them was truncated */
  readonly cutFlags?: readonly string[];
  /** attributes that hold the size of a text */
  readonly sizes?: readonly SizeRow[];
  /** the end of a truncated text */
  readonly cutMark?: CutMark;
  /** the attribute that names a log record's event, beside OpenTelemetry's `event.name` */
  readonly eventNameKey?: string;
}

export type ReadName = Exclude<RunName, 'serviceName'>;

/** An attribute with one of these values, with a number not below `atLeast`, or with any text. */
export type FailureRow = { readonly key: string } & (
  | { readonly values: readonly JsonValue[] }
  | { readonly atLeast: number }
  | { readonly anyText: true }
);

/**
 * The size of a text that is sent or not. A run with a size above 0 and none of the attributes that
 * would hold the text, on whichever step, has the text withheld.
 */
export interface SizeRow {
  readonly key: string;
  readonly texts: readonly string[];
}

interface CutMark {
  readonly pattern: RegExp;
  /** the last character of every match: most texts end with another */
  readonly last: string;
}

/** Message parts: by the value of their `type`, or by the one member that they have. */
export interface MessageParts {
  readonly byType?: Readonly<Record<string, PartShape>>;
  readonly byMember?: Readonly<Record<string, PartShape>>;
}

/**
 * Which members of a message part hold what. Of several members the first one that is not empty
 * counts; the others are read as said.
 */
export interface PartShape {
  /** said by the message's author */
  readonly said?: readonly string[];
  /** said by the model, whatever the role */
  readonly thought?: readonly string[];
  readonly toolName?: readonly string[];
  readonly toolArgs?: readonly string[];
  readonly toolResult?: readonly string[];
  /** the surface of all other members; without it they are read as said */
  readonly rest?: Surface;
  /** holds bytes, or a URL of some; its other members are read as said */
  readonly media?: { readonly reference: readonly string[] };
}
