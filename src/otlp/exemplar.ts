/** Checks exemplars. An invalid id means "not linked". */
import { checkAttributes } from './any-value.ts';
import type { Fault } from './fault.ts';
import { isObject, isUnset, parseTime, type Raw, toDouble, toInt64 } from './fields.ts';

export function checkExemplar(exemplar: Raw, fault: Fault): void {
  if (!isObject(exemplar)) {
    fault.refuse('not_an_object', '');
    return;
  }
  parseTime(exemplar.timeUnixNano, 'timeUnixNano', fault);
  const { asInt, asDouble } = exemplar;
  if (!isUnset(asInt)) {
    if (toInt64(asInt) === null) fault.refuse('bad_value', 'asInt');
  } else if (!isUnset(asDouble) && toDouble(asDouble) === null) {
    fault.refuse('bad_value', 'asDouble');
  }
  checkAttributes(exemplar.filteredAttributes, 'filteredAttributes', fault);
}
