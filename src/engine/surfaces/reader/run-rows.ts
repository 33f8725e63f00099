/**
 * Owns the run rows of all conventions as one: they hold on every step, whichever conventions apply
 * to it. Knows no convention itself.
 */
import type { JsonObject, JsonValue } from '../../../model/json.ts';
import { CONVENTIONS } from '../conventions/conventions.ts';
import type { FailureRow, ReadName, RunRows } from './convention.ts';

const RUN: readonly RunRows[] = CONVENTIONS.flatMap(({ run }) => run ?? []);

/** The attributes that name something of the run, by rank: the first that is present counts. */
export function nameKeys(name: ReadName): readonly string[] {
  const ranked = RUN.flatMap(({ names }) => Object.entries(names?.[name] ?? {}));
  return ranked.sort(([, one], [, other]) => one - other).map(([key]) => key);
}

export const PLACEHOLDERS: ReadonlySet<string> = new Set(
  RUN.flatMap(({ placeholders }) => placeholders ?? []),
);
const PLACEHOLDER_FORMS = RUN.flatMap(({ placeholderForm }) => placeholderForm ?? []);
const PLACEHOLDER_CHARS_MAX = Math.max(...[...PLACEHOLDERS].map(({ length }) => length));

/** Checks whether this is a placeholder that a product writes for a text. Long texts are not hashed for it. */
export function isPlaceholder(text: string): boolean {
  if (text.length > PLACEHOLDER_CHARS_MAX) return false;
  return PLACEHOLDERS.has(text) || PLACEHOLDER_FORMS.some((form) => form.test(text));
}

const CLIENT_TEXTS = RUN.flatMap(({ clientTexts }) => clientTexts ?? []);

/** Returns a user's text without the fixed texts of clients; a line end stays in place of each. */
export function withoutClientTexts(text: string): string {
  let own = text;
  for (const fixed of CLIENT_TEXTS) if (own.includes(fixed)) own = own.replaceAll(fixed, '\n');
  return own;
}

export const ROOT_MARKS = RUN.flatMap(({ rootMarks }) => rootMarks ?? []);
export const STEP_NAMES = RUN.flatMap(({ stepName }) => stepName ?? []);
export const AGENT_SPAN_NAMES = RUN.flatMap(({ agentSpanName }) => agentSpanName ?? []);
export const EVENT_NAME_KEYS = [
  'event.name',
  ...RUN.flatMap(({ eventNameKey }) => eventNameKey ?? []),
];
export const CUT_FLAGS: ReadonlySet<string> = new Set(
  RUN.flatMap(({ cutFlags }) => cutFlags ?? []),
);
export const WITHHELD_FLAGS: ReadonlySet<string> = new Set(
  RUN.flatMap(({ withheldFlags }) => withheldFlags ?? []),
);
/** of each attribute that holds a text's size, the attributes that hold the text */
export const SIZES: ReadonlyMap<string, ReadonlySet<string>> = textsBySize();
export const SIZED_TEXTS: ReadonlySet<string> = new Set(
  [...SIZES.values()].flatMap((of) => [...of]),
);
/** one expression, because every attribute of a run is compared with it */
export const REFERENCES = new RegExp(
  RUN.flatMap(({ references }) => references?.source ?? []).join('|'),
);

/** Products may have a key in common. */
function textsBySize(): Map<string, Set<string>> {
  const bySize = new Map<string, Set<string>>();
  for (const { key, texts } of RUN.flatMap(({ sizes }) => sizes ?? [])) {
    bySize.set(key, new Set([...(bySize.get(key) ?? []), ...texts]));
  }
  return bySize;
}

const CUT_MARKS = RUN.flatMap(({ cutMark }) => cutMark ?? []);
const CUT_MARK_UNITS_MAX = 64;

/** The offset of a product's mark at the end of a truncated text; -1 when it has none. */
export function cutMarkAt(text: string): number {
  for (const { pattern, last } of CUT_MARKS) {
    if (!text.endsWith(last)) continue;
    const tail = text.slice(-CUT_MARK_UNITS_MAX);
    const found = tail.search(pattern);
    if (found !== -1) return text.length - tail.length + found;
  }
  return -1;
}

const FAILURES = RUN.flatMap(({ failure }) => failure ?? []);

/** Checks whether an attribute of the span says that it failed. */
export function showsFailure(attributes: JsonObject): boolean {
  return FAILURES.some((row) => isFailure(row, attributes[row.key]));
}

function isFailure(row: FailureRow, value: JsonValue | undefined): boolean {
  if ('values' in row) return value !== undefined && row.values.includes(value);
  if ('atLeast' in row) return Number(value) >= row.atLeast;
  return typeof value === 'string' && value !== '';
}
