/** A step as the statements that read it answer, and as the model has it. */
import type { Int64, JsonObject, JsonValue } from '../../model/json.ts';
import type { SpanEvent, Step } from '../../model/steps.ts';

export interface StepRow {
  readonly source: Step['source'];
  readonly spanId: string | null;
  readonly parentSpanId: string | null;
  readonly name: string | null;
  readonly start: string;
  readonly end: string;
  readonly statusCode: number;
  readonly statusMessage: string | null;
  readonly scopeName: string | null;
  readonly serviceName: string | null;
  readonly attributes: JsonObject;
  readonly events:
    | readonly { name?: string; attributes?: JsonObject; timeUnixNano?: Int64 }[]
    | null;
  readonly body: JsonValue;
  readonly dropped: number;
  readonly hasRemoteParent: boolean;
  readonly arrivedOn: string;
  readonly bytes: number;
}

/** A row that was read to be evaluated. */
export interface PlacedStepRow extends StepRow {
  /** index of its run in the request */
  readonly place: number;
  /** where it is in the table of its day, and its bytes there */
  readonly storedAt: string;
  readonly stored: number;
}

export function toStep(row: StepRow): Step {
  return {
    source: row.source,
    spanId: row.spanId,
    parentSpanId: row.parentSpanId,
    name: row.name ?? '',
    startUnixNano: row.start,
    endUnixNano: row.end,
    statusCode: row.statusCode,
    statusMessage: row.statusMessage ?? '',
    scopeName: row.scopeName ?? '',
    serviceName: row.serviceName,
    attributes: row.attributes,
    events: (row.events ?? []).map(
      ({ name, attributes, timeUnixNano }): SpanEvent => ({
        name: name ?? '',
        attributes: attributes ?? {},
        ...(timeUnixNano === undefined ? {} : { timeUnixNano }),
      }),
    ),
    body: row.body,
    dropped: row.dropped,
    hasRemoteParent: row.hasRemoteParent,
    arrivedOn: row.arrivedOn,
  };
}
