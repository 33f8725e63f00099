/**
 * Owns the tables of the conventions that are about a step as one, and the finding of an event's
 * row in them. Knows no convention itself.
 */
import type { Step } from '../../../model.ts';
import type { AttributeRow, Convention, EventRow } from './convention.ts';
import { RowTable } from './row-table.ts';

/** The tables of the conventions that are about a step. */
export interface Tables {
  readonly rows: RowTable;
  readonly events: ReadonlyMap<string, EventRow>;
  readonly namedAsScope: readonly AttributeRow[];
  readonly unnamed: readonly AttributeRow[];
}

/**
 * The tables of several conventions as one. What the first of them says of a key, or of an event's
 * name, counts: a producer may use the general ones in its own way.
 */
export function tablesOf(conventions: readonly Convention[]): Tables {
  const events = new Map<string, EventRow>();
  for (const row of conventions.flatMap((convention) => convention.events)) {
    if (!events.has(row.event)) events.set(row.event, row);
  }
  const known = new Set<string>();
  const rows = conventions.flatMap(({ attributes }) => {
    const fresh = attributes.filter((row) => !('key' in row && known.has(row.key)));
    for (const row of fresh) if ('key' in row) known.add(row.key);
    return fresh;
  });
  const namedAsScope = conventions.flatMap((convention) => convention.namedAsScope ?? []);
  const unnamed = conventions.flatMap((convention) => convention.unnamed ?? []);
  return { rows: new RowTable(rows), events, namedAsScope, unnamed };
}

/** The row of a log record's event, which stands in an attribute, its own field, or is its body. */
export function logEvent(
  { attributes, name, body }: Step,
  { events }: Pick<Tables, 'events'>,
): EventRow | undefined {
  // LiteLLM spells the attribute its own way.
  for (const told of [attributes['event.name'], name, body, attributes.event_name]) {
    const row = typeof told === 'string' ? eventRow(events, told) : undefined;
    if (row !== undefined) return row;
  }
  return undefined;
}

const MIDDLE = /(?<=^\w+\.).+(?=\.\w+$)/;
const EVENT_CHARS_MAX = 256;

/** The row of an event's name, or the one of all names that begin and end alike. */
export function eventRow(
  events: ReadonlyMap<string, EventRow>,
  name: string,
): EventRow | undefined {
  const exact = events.get(name);
  if (exact !== undefined || name.length > EVENT_CHARS_MAX) return exact;
  return events.get(name.replace(MIDDLE, '*'));
}
