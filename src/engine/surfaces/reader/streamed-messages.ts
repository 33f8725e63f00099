/**
 * Owns the putting together of what a model said bit by bit. A bit may be a line's end or a
 * quoted word: bits are joined before they are read, where they stand next to each other.
 */
import type { JsonObject, JsonValue } from '../../../model.ts';
import { type Piece, place } from './message-parts.ts';
import { isObject } from './value-text.ts';

/**
 * Contents, `{role, parts}`, as one; what is none of the kind comes back as it is.
 * @param values in the order in which they came
 */
export function joinChunks(values: readonly JsonValue[]): readonly JsonValue[] {
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

/** What the model said, in one text where its first bit stood. */
export function joinSaid(pieces: readonly Piece[]): Piece[] {
  const isSaid = ({ surface }: Piece) => surface === 'agent_output';
  const said = pieces.filter(isSaid).map(({ text }) => text);
  const first = pieces.findIndex(isSaid);
  return pieces.flatMap((piece, index) => {
    if (!isSaid(piece)) return [piece];
    return index === first ? place('agent_output', [said.join('')]) : [];
  });
}
