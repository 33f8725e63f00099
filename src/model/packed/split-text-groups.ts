/**
 * Collects the groups of three bytes of a packed block (`text-filter.ts`). What documents repeat is scanned once.
 */

import { putRepeatsBack, repeatsOf } from './document-stream.ts';
import { TextGroups } from './text-filter.ts';
import type { SplitText } from './text-splitter.ts';

/** Bytes around a piece that are scanned with it: a group may begin in one piece and end in the next. */
const EDGE_BYTES = 64;
/** Bytes that are scanned without a pause. */
const PIECE_BYTES = 128 * 1024;

/** Ids and times, which are no text. */
const NO_TEXT = /"(?:traceId|spanId|parentSpanId|[A-Za-z]*UnixNano)"\s*:\s*"[^"\\]*"/g;

/** Memory that no block uses. */
let spare: TextGroups | null = null;

/** Returns the groups of all names, attributes and bodies, but not of ids. */
export function* groupsOf(split: SplitText): Generator<void, readonly number[], void> {
  const groups = spare ?? new TextGroups();
  spare = null;
  const { bytes, narrow, attributes } = split;
  const names = Buffer.from(narrow.text.toString('latin1').replace(NO_TEXT, '""'), 'latin1');
  const documents = putRepeatsBack(split, bytes - narrow.text.length - attributes.text.length);
  yield* addPieces(groups, names, 0, names.length);
  yield* addPieces(groups, attributes.text, 0, attributes.text.length);
  let from = 0;
  for (const { start, end } of repeatsOf(split)) {
    yield* addPieces(groups, documents, from, start);
    from = end;
  }
  yield* addPieces(groups, documents, from, documents.length);
  spare = groups;
  return groups.take();
}

function* addPieces(
  groups: TextGroups,
  text: Buffer,
  from: number,
  end: number,
): Generator<void, void, void> {
  for (let at = from; at <= end; at += PIECE_BYTES) {
    if (at > from) yield;
    const to = Math.min(end, at + PIECE_BYTES);
    groups.add(text, Math.max(0, at - EDGE_BYTES), Math.min(text.length, to + EDGE_BYTES));
  }
}
