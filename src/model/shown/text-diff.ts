/** Differences between two texts, by words or by lines. Pure and bounded: long different parts are one replacement. */
import { parsedJson } from '../json.ts';

export interface DiffPart {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Pairs of pieces that are compared; more are a replacement as a whole. */
const PAIRS_MAX = 1_000_000;

const PIECES = { words: /\s+|[^\s]+/g, lines: /[^\n]+\n?|\n/g } as const;

/** The parts of both texts in order; the parts that are not added are the text before. */
export function diffOf(before: string, after: string, by: keyof typeof PIECES): DiffPart[] {
  const one = before.match(PIECES[by]) ?? [];
  const other = after.match(PIECES[by]) ?? [];
  let start = 0;
  while (start < Math.min(one.length, other.length) && one[start] === other[start]) start += 1;
  let end = 0;
  const rest = Math.min(one.length, other.length) - start;
  while (end < rest && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  const parts: DiffPart[] = [
    { kind: 'same', text: one.slice(0, start).join('') },
    ...middleOf(one.slice(start, one.length - end), other.slice(start, other.length - end)),
    { kind: 'same', text: one.slice(one.length - end).join('') },
  ];
  return joined(parts);
}

function middleOf(one: readonly string[], other: readonly string[]): DiffPart[] {
  if (one.length * other.length > PAIRS_MAX) {
    return [
      { kind: 'removed', text: one.join('') },
      { kind: 'added', text: other.join('') },
    ];
  }
  const width = other.length + 1;
  /** length of the longest common subsequence of what follows */
  const common = new Uint32Array((one.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      common[i * width + j] =
        one[i] === other[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const parts: DiffPart[] = [];
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    const [a, b] = [one[i], other[j]];
    if (a !== undefined && a === b) {
      parts.push({ kind: 'same', text: a });
      i += 1;
      j += 1;
    } else if (a !== undefined && (b === undefined || at(i + 1, j) >= at(i, j + 1))) {
      parts.push({ kind: 'removed', text: a });
      i += 1;
    } else {
      parts.push({ kind: 'added', text: b ?? '' });
      j += 1;
    }
  }
  return parts;
}

/** Neighbours of one kind as one part, without empty parts. */
function joined(parts: readonly DiffPart[]): DiffPart[] {
  const all: DiffPart[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (part.text === '') continue;
    if (last?.kind === part.kind) all[all.length - 1] = { ...last, text: last.text + part.text };
    else all.push(part);
  }
  return all;
}

/** A schema with a line for each member; the beginning of one as it is. */
export function schemaLines(schema: string): string {
  const parsed = parsedJson(schema);
  return parsed === undefined ? schema : JSON.stringify(parsed, null, 2);
}
