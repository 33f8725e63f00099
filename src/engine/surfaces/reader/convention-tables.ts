/**
 * Owns the tables of several conventions as one, and the choice of the row for an event. Knows no
 * convention itself.
 */
import type { Step } from '../../../model/steps.ts';
import type { AttributeRow, Convention, EventRow } from './convention.ts';
import { RowTable } from './row-table.ts';
import { EVENT_NAME_KEYS } from './run-rows.ts';

export interface ConventionTables {
  readonly rows: RowTable;
  readonly events: ReadonlyMap<string, EventRow>;
  readonly namedAsScope: readonly AttributeRow[];
  readonly unnamed: readonly AttributeRow[];
}

/**
 * Merges the tables of conventions. For a key, or an event's name, the first convention that has
 * rows counts: a product may use the general conventions in its own way.
 */
export function mergeTables(conventions: readonly Convention[]): ConventionTables {
  const byEvent = new Map<string, EventRow>();
  for (const row of conventions.flatMap(({ events }) => events ?? [])) {
    if (!byEvent.has(row.event)) byEvent.set(row.event, row);
  }
  const keys = new Set<string>();
  const rows = conventions.flatMap(({ attributes = [] }) => {
    const fresh = attributes.filter((row) => !('key' in row && keys.has(row.key)));
    for (const row of fresh) if ('key' in row) keys.add(row.key);
    return fresh;
  });
  const namedAsScope = conventions.flatMap((convention) => convention.namedAsScope ?? []);
  const unnamed = conventions.flatMap((convention) => convention.unnamed ?? []);
  return { rows: new RowTable(rows), events: byEvent, namedAsScope, unnamed };
}

const [EVENT_NAME_KEY = '', ...OTHER_NAME_KEYS] = EVENT_NAME_KEYS;

/** The row of a log record's event, which is named by an attribute, a separate field, or its body. */
export function logEvent(
  { attributes, name, body }: Step,
  { events }: Pick<ConventionTables, 'events'>,
): EventRow | undefined {
  const others = OTHER_NAME_KEYS.map((key) => attributes[key]);
  for (const named of [attributes[EVENT_NAME_KEY], name, body, ...others]) {
    const row = typeof named === 'string' ? eventRow(events, named) : undefined;
    if (row !== undefined) return row;
  }
  return undefined;
}

const MIDDLE = /(?<=^\w+\.).+(?=\.\w+$)/;
const EVENT_CHARS_MAX = 256;

/** The row of an event's name, or the row for all names with the same first and last part. */
export function eventRow(
  events: ReadonlyMap<string, EventRow>,
  name: string,
): EventRow | undefined {
  const exact = events.get(name);
  if (exact !== undefined || name.length > EVENT_CHARS_MAX) return exact;
  return events.get(name.replace(MIDDLE, '*'));
}
