/**
 * The stored form of exemplars: `{"timeUnixNano","asInt"|"asDouble","traceId","spanId",
 * "filteredAttributes"}`, without unset members. An invalid id means "not linked".
 */

import type { JsonText } from '../model/json.ts';
import { parseAttributes } from './any-value.ts';
import type { Fault } from './fault.ts';
import {
  isObject,
  isUnset,
  parseTime,
  type Raw,
  toDouble,
  toInt64,
  toSpanId,
  toTraceId,
} from './fields.ts';
import { doubleText } from './json-text.ts';

/** Writes one exemplar; the text must not be used if `fault` is set. */
export function parseExemplar(exemplar: Raw, fault: Fault): JsonText {
  if (!isObject(exemplar)) {
    fault.refuse('not_an_object', '');
    return '';
  }
  const time = parseTime(exemplar.timeUnixNano, 'timeUnixNano', fault);
  const { asInt, asDouble } = exemplar;
  const traceId = toTraceId(exemplar.traceId);
  const spanId = toSpanId(exemplar.spanId);
  let text = `{"timeUnixNano":"${time}"`;
  if (!isUnset(asInt)) {
    const value = toInt64(asInt);
    if (value === null) fault.refuse('bad_value', 'asInt');
    text += `,"asInt":${value}`;
  } else if (!isUnset(asDouble)) {
    const value = toDouble(asDouble);
    if (value === null) fault.refuse('bad_value', 'asDouble');
    text += `,"asDouble":${doubleText(value ?? 0)}`;
  }
  if (traceId !== null) text += `,"traceId":"${traceId}"`;
  if (spanId !== null) text += `,"spanId":"${spanId}"`;
  const attributes = parseAttributes(exemplar.filteredAttributes, 'filteredAttributes', fault);
  if (attributes !== '{}') text += `,"filteredAttributes":${attributes}`;
  return `${text}}`;
}
