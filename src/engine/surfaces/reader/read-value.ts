/**
 * Owns the reading of one value as a convention's row says: as plain text, a structure, or messages.
 * Pure; knows neither steps nor conventions.
 */
import type { JsonValue } from '../../../model/json.ts';
import type { StepKind, Surface } from '../../../model/steps.ts';
import type { Budget } from './budget.ts';
import type { RowReading, Side, SurfaceByKind } from './convention.ts';
import { unwrapEnvelope } from './envelope.ts';
import { onSurface, type Piece, textsOn } from './messages/message-parts.ts';
import { readExchange, readMessages, readWritten } from './messages/messages.ts';
import { joinChunks, joinSaid } from './messages/streamed-messages.ts';
import { open, stringsOf } from './value-text.ts';

/** A reading that needs no tables of events. */
type ValueReading = Exclude<RowReading, { as: 'events' }>;

/** The surface of text without an author, by side. */
export const FALLBACK_SURFACE = {
  input: { tool: 'tool_args', retriever: 'step_input', else: 'step_input' },
  output: { tool: 'tool_result', retriever: 'tool_result', else: 'agent_output' },
} as const satisfies Record<Side, SurfaceByKind>;

export function surfaceOn(byKind: SurfaceByKind, kind: StepKind): Surface {
  return typeof byKind === 'string' ? byKind : (byKind[kind] ?? byKind.else);
}

/**
 * The texts of a value.
 * @param value plain JSON
 * @param kind of its step
 */
export function readValue(
  value: JsonValue,
  read: ValueReading,
  kind: StepKind,
  budget: Budget,
): Piece[] {
  if (read.as === 'messages') return readMessagesIn(value, read, kind, budget);
  if (read.as !== 'text') return readStructure(value, read, kind, budget);
  const surface = surfaceOn(read.surface, kind);
  return (Array.isArray(value) ? value : [value]).flatMap((one) => textsOn(surface, one, budget));
}

/** Messages, with or without an envelope, streamed or not. */
function readMessagesIn(
  value: JsonValue,
  { side, envelope, streamed }: Extract<RowReading, { as: 'messages' }>,
  kind: StepKind,
  budget: Budget,
): Piece[] {
  const fallback = surfaceOn(FALLBACK_SURFACE[side], kind);
  const { names, values } = unwrapEnvelope(value, envelope, budget);
  const whole = streamed === true ? joinChunks(values) : values;
  const pieces = whole.flatMap((one) =>
    // Strings in an envelope are not encoded.
    (one === value ? readMessages : readExchange)(one, side, fallback, budget),
  );
  return [...readNames(names, budget), ...(streamed === true ? joinSaid(pieces) : pieces)];
}

const QUOTED = /^\s*"/;

function readStructure(
  value: JsonValue,
  read: Extract<RowReading, { as: 'structure' | 'exchange' }>,
  kind: StepKind,
  budget: Budget,
): Piece[] {
  const surface = surfaceOn(read.surface, kind);
  const isExchange = read.as === 'exchange' && kind !== 'tool' && kind !== 'retriever';
  const isEncoded = isExchange && read.encoded === true;
  if (isEncoded && typeof value === 'string' && QUOTED.test(value)) {
    return readExchange(open(value, budget, 1), read.side, surface, budget);
  }
  const { names, values } = unwrapEnvelope(value, read.envelope, budget);
  return [
    ...readNames(names, budget),
    ...values.flatMap((one) => {
      if (!isExchange) return textsOn(surface, one, budget);
      // A string in an envelope, or where the product says that it is one, is a string.
      const readTop = isEncoded ? readMessages : readWritten;
      const isString = one !== value || read.encoded === false;
      return (isString ? readExchange : readTop)(one, read.side, surface, budget);
    }),
  ];
}

function readNames(names: readonly JsonValue[], budget: Budget): Piece[] {
  return onSurface(
    'tool_name',
    names.flatMap((name) => stringsOf(name, budget)),
  );
}
