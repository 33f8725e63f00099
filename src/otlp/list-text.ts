/**
 * Writes OTLP's repeated messages (events, links, exemplars, quantiles) as JSON arrays. Takes one
 * function per message type, never a closure per record.
 */

import type { JsonText } from '../model/json.ts';
import type { Fault } from './fault.ts';
import { parseList, type Raw } from './fields.ts';

/**
 * Writes a list element by element, up to the first fault.
 *
 * @param raw the list as sent; absent and null are empty
 * @param field the list's name, for the fault's path
 * @param parseElement writes one element, with fault paths relative to it
 * @returns JSON text of an array, or null for an empty list; must not be used if `fault` is set
 */
export function parseListText(
  raw: Raw,
  field: string,
  parseElement: (element: Raw, fault: Fault) => JsonText,
  fault: Fault,
): JsonText | null {
  const list = parseList(raw, field, fault);
  if (list.length === 0 || fault.refused) return null;
  let text = '[';
  for (let index = 0; index < list.length; index += 1) {
    if (index > 0) text += ',';
    text += parseElement(list[index], fault);
    if (fault.refused) {
      fault.within(`${field}[${index}]`);
      return null;
    }
  }
  return `${text}]`;
}
