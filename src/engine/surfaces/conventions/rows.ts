/** Short forms for the tables of conventions: how rows are read, and the kinds of names. */
import type { StepKind } from '../../../model/steps.ts';
import type {
  AttributeRow,
  EventRow,
  RowReading,
  Side,
  SurfaceByKind,
  ValueEnvelope,
} from '../reader/convention.ts';

export const text = (surface: SurfaceByKind): RowReading => ({ as: 'text', surface });

export const structure = (surface: SurfaceByKind, envelope?: ValueEnvelope): RowReading => ({
  as: 'structure',
  surface,
  ...(envelope !== undefined && { envelope }),
});

export const messages = (side: Side, envelope?: ValueEnvelope): RowReading => ({
  as: 'messages',
  side,
  ...(envelope !== undefined && { envelope }),
});

export const exchange = (
  side: Side,
  surface: SurfaceByKind,
  envelope?: ValueEnvelope,
): RowReading => ({ as: 'exchange', side, surface, ...(envelope !== undefined && { envelope }) });

/** An event that has its own attributes. */
export function event(
  name: string,
  kind: StepKind,
  attributes: readonly AttributeRow[] = [],
): EventRow {
  return { event: name, kind, carries: 'own', attributes };
}

/** The kind of each name, from the names of each kind. */
export function kindsOf(
  names: Readonly<Partial<Record<StepKind, readonly string[]>>>,
): Readonly<Record<string, StepKind>> {
  const kinds = Object.entries(names) as [StepKind, readonly string[]][];
  return Object.fromEntries(kinds.flatMap(([kind, own]) => own.map((name) => [name, kind])));
}
