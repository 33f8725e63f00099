/**
 * The reasons for which records are rejected, and the fault of the record being decoded. The codes
 * are public and stable: they are in responses, counters and the documentation. A fault holds a
 * path but never a value: nothing that a client sent may get into a reason or a path.
 */

/** Every rejection reason, with the description that clients see. */
export const REASONS = {
  not_an_object: 'must be a JSON object',
  not_a_list: 'must be a JSON array',
  attributes_not_a_list: 'attributes must be a list of {"key", "value"} objects',
  bad_attribute: 'an attribute must be an object with a string key',
  bad_any_value: 'the value does not fit the member that holds it (stringValue, intValue, …)',
  too_deep: 'values may nest at most 64 levels deep',
  bad_text: 'must be a string',
  bad_bool: 'must be true or false',
  bad_time: 'must be nanoseconds since 1970 that fit 63 bits, and not 0 for a data point',
  bad_flags: 'must be an unsigned 32-bit integer',
  bad_dropped_count: 'must be an unsigned 32-bit integer',
  bad_trace_id: 'must be 32 hexadecimal digits, not all zero',
  bad_span_id: 'must be 16 hexadecimal digits, not all zero',
  bad_parent_span_id: 'must be empty, zeros or 16 hexadecimal digits',
  bad_kind: 'must be an integer that fits 16 bits, not a name',
  bad_status: 'must be an integer that fits 16 bits, not a name',
  bad_link: 'the traceId and the spanId of a link must be strings',
  bad_severity: 'must be an integer that fits 16 bits, not a name',
  bad_metric_kind:
    'a metric needs exactly one of gauge, sum, histogram, exponentialHistogram, summary',
  bad_temporality: 'must be 1 (delta), 2 (cumulative) or another integer that fits 16 bits, not 0',
  no_value: 'a data point needs a value unless bit 0 of its flags is set',
  bad_value: 'must be one number: a 64-bit asInt or a double asDouble',
  bad_number: 'must be a double, "NaN", "Infinity" or "-Infinity"',
  bad_count: 'must be an unsigned integer that fits 63 bits',
  bad_buckets: 'buckets, bounds and count must agree, and bounds must rise',
  bad_quantile: 'must be a number from 0 to 1',
  nothing_known: 'no key is known here',
  not_redacted:
    'texts that cannot be redacted were left out, and records that need them are rejected: a text may have 4 MiB ' +
    'and 10,000 matches, and JSON in it may nest 8 strings deep',
} as const;

export type Reason = keyof typeof REASONS;

/**
 * The first fault of a record. After a fault, parsers return defaults and continue; the decoder
 * checks the fault once, at the end of the record, and resets it before the next one.
 */
export class Fault {
  reason: Reason | null = null;
  /** relative to the record */
  path = '';

  get refused(): boolean {
    return this.reason !== null;
  }

  /** Sets the fault, unless the record already has one. */
  refuse(reason: Reason, path: string): void {
    if (this.reason !== null) return;
    this.reason = reason;
    this.path = path;
  }

  /** Prepends `parent` to the path; for list parsers, right after a fault in an element. */
  within(parent: string): void {
    this.path = joinPath(parent, this.path);
  }

  reset(): void {
    this.reason = null;
    this.path = '';
  }
}

export function joinPath(parent: string, child: string): string {
  if (parent === '' || child === '') return parent + child;
  return `${parent}.${child}`;
}
