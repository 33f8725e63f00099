/**
 * Owns the joining of a model's streamed chunks. A chunk may be a line break or a quoted word, so
 * consecutive chunks are joined before they are read.
 */
import type { JsonObject, JsonValue } from '../../../../model/json.ts';
import { isObject } from '../value-text.ts';
import { onSurface, type Piece } from './message-parts.ts';

/**
 * Joins chunks `{role, parts}` of the model; other values are returned as they are.
 * @param values in the order in which they were streamed
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

/** Joins the model's texts into one, at the place of the first. */
export function joinSaid(pieces: readonly Piece[]): Piece[] {
  const isSaid = ({ surface }: Piece) => surface === 'agent_output';
  const said = pieces.filter(isSaid).map(({ text }) => text);
  const first = pieces.findIndex(isSaid);
  return pieces.flatMap((piece, index) => {
    if (!isSaid(piece)) return [piece];
    return index === first ? onSurface('agent_output', [said.join('')]) : [];
  });
}
