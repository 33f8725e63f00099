/** Builds steps for tests: a span or log record with defaults for all other members. */
import type { Step } from '../../src/model/steps.ts';

/** An OK span without text. */
export function span(parts: Partial<Step> = {}): Step {
  return {
    source: 'span',
    spanId: '00f067aa0ba902b7',
    parentSpanId: null,
    name: 'a span',
    startUnixNano: '1',
    endUnixNano: '2',
    statusCode: 0,
    statusMessage: '',
    scopeName: '',
    serviceName: null,
    attributes: {},
    events: [],
    body: null,
    dropped: 0,
    hasRemoteParent: false,
    ...parts,
  };
}

/** A log record without text. */
export function log(parts: Partial<Step> = {}): Step {
  return span({ source: 'log', name: '', ...parts });
}

/** A span of an operation (`gen_ai.operation.name`) with more attributes. */
export function operation(name: string, attributes: Step['attributes'] = {}): Step {
  return span({ attributes: { 'gen_ai.operation.name': name, ...attributes } });
}
