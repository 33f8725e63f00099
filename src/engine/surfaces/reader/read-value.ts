/**
 * Owns the reading of one value as a convention's row says: as plain text, a structure, or messages.
 * Pure; knows neither steps nor conventions.
 */
import type { JsonObject, JsonValue } from '../../../model/json.ts';
import type { StepKind, Surface } from '../../../model/steps.ts';
import type { Budget } from './budget.ts';
import type { RowReading, Side, SurfaceByKind } from './convention.ts';
import { unwrapEnvelope } from './envelope.ts';
import { onSurface, type Piece, textsOn } from './messages/message-parts.ts';
import { readExchange, readMessages, readWritten } from './messages/messages.ts';
import { isObject, open, stringsOf } from './value-text.ts';

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

// Owns the joining of a model's streamed chunks. A chunk may be a line break or a quoted word, so
// consecutive chunks are joined before they are read.

/**
 * Joins chunks `{role, parts}` of the model; other values are returned as they are.
 * @param values in the order in which they were streamed
 */
function joinChunks(values: readonly JsonValue[]): readonly JsonValue[] {
  const chunks = values.filter(isChunk);
  if (chunks.length < 2 || chunks.length < values.length) return values;
  const parts: JsonValue[] = [];
  let texts: string[] = [];
  const flush = () => {
    if (texts.length > 0) parts.push({ text: texts.join('') });
    texts = [];
  };
  for (const part of chunks.flatMap((chunk) => chunk.parts)) {
    if (isBareText(part)) texts.push(part.text);
    else {
      flush();
      parts.push(part);
    }
  }
  flush();
  return [{ role: 'model', parts }];
}

function isChunk(value: JsonValue): value is JsonObject & { parts: JsonValue[] } {
  if (!isObject(value) || !Array.isArray(value.parts)) return false;
  const { role, parts: _, ...rest } = value;
  return (role === undefined || role === 'model') && Object.keys(rest).length === 0;
}

function isBareText(part: JsonValue): part is { text: string } {
  return isObject(part) && typeof part.text === 'string' && Object.keys(part).length === 1;
}

function joinSaid(pieces: readonly Piece[]): Piece[] {
  const isSaid = ({ surface }: Piece) => surface === 'agent_output';
  const said = pieces.filter(isSaid).map(({ text }) => text);
  const first = pieces.findIndex(isSaid);
  return pieces.flatMap((piece, index) => {
    if (!isSaid(piece)) return [piece];
    return index === first ? onSurface('agent_output', [said.join('')]) : [];
  });
}
