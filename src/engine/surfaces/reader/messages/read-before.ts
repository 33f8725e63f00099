/**
 * Owns a cache of messages that were read before. A model call repeats the conversation so far, so the messages of
 * a run occur many times, and system prompts occur in many runs.
 *
 * A message is found by its JSON, and its result includes everything that reading it does to a budget. A message is not
 * kept if something in it was cut, because whether that is noted depends on the value around it, nor if it could exceed
 * what is left of its budget, because it is read otherwise then.
 */
import { LRUCache } from 'lru-cache';
import type { JsonValue } from '../../../../model/json.ts';
import { type Budget, take } from '../budget.ts';
import type { Piece } from './message-parts.ts';
import { noteRoles } from './words.ts';

/** Characters of messages and of their texts that a thread keeps. */
export const READ_BEFORE_CHARS_MAX = 8 * 1024 * 1024;
/** A longer message, such as one with a picture, is not kept. */
const MESSAGE_CHARS_MAX = 256 * 1024;

interface Read {
  readonly pieces: readonly Piece[];
  readonly chars: number;
  readonly nodes: number;
  readonly unknownRoles: readonly string[];
}

/** One per thread. */
const READ_BEFORE = new LRUCache<string, Read>({
  maxSize: READ_BEFORE_CHARS_MAX,
  sizeCalculation: ({ pieces }, key) =>
    pieces.reduce((sum, { text }) => sum + text.length, key.length),
});

/**
 * Reads a message, unless the same one was read before.
 * @param message not cut by its sender, and none inside it is
 * @param how everything else that `read` depends on
 */
export function readOnce(
  message: JsonValue,
  how: string,
  budget: Budget,
  read: (budget: Budget) => Piece[],
): readonly Piece[] {
  const key = `${how}${JSON.stringify(message)}`;
  const before = READ_BEFORE.get(key);
  if (before !== undefined && before.chars <= budget.chars && before.nodes <= budget.nodes) {
    take(budget, 'chars', before.chars);
    take(budget, 'nodes', before.nodes);
    noteRoles(budget.unknownRoles, before.unknownRoles);
    return before.pieces;
  }
  const own: Budget = {
    ...budget,
    exceeded: false,
    cut: false,
    hasCutJson: false,
    unknownRoles: new Set(),
  };
  const pieces = read(own);
  const [chars, nodes] = [budget.chars - own.chars, budget.nodes - own.nodes];
  // With so much left after all of it, no string of the message was too long for the budget.
  const isSame = !own.exceeded && !own.hasCutJson && key.length <= own.chars;
  if (isSame && key.length <= MESSAGE_CHARS_MAX) {
    READ_BEFORE.set(key, { pieces, chars, nodes, unknownRoles: [...own.unknownRoles] });
  }
  budget.chars = own.chars;
  budget.nodes = own.nodes;
  budget.exceeded ||= own.exceeded;
  budget.cut ||= own.cut;
  budget.hasCutJson ||= own.hasCutJson;
  noteRoles(budget.unknownRoles, own.unknownRoles);
  return pieces;
}
