/**
 * Owns the key of a text in a Map or a Set. V8 hashes a string of more than 16,383 characters by its
 * length alone: a Set of 3,000 such texts of one length took 9 s (Node 20). Two texts must have the
 * same key only if they are equal.
 */
import { createHash } from 'node:crypto';

/** `String::kMaxHashCalcLength` in V8; a key adds to it, so a little less. */
const HASHED_CHARS_MAX = 16_000;

/**
 * A short text is its own key, because V8 keeps a string's hash with the string. Only one that begins
 * like another text's key has a mark before it. Digests UTF-16, not UTF-8, in which lone surrogates would
 * be equal.
 */
export function textKey(text: string): string {
  if (text.length <= HASHED_CHARS_MAX) {
    return text.startsWith('=') || text.startsWith('#') ? `=${text}` : text;
  }
  return `#${createHash('sha256').update(text, 'utf16le').digest('base64')}`;
}

interface Entry<Value> {
  readonly text: string;
  readonly value: Value;
}

/**
 * Values by text, as cheap for long texts as for short ones: a long text is digested only when another one of
 * its length comes. Values are added only, each text once.
 */
export class TextMap<Value> {
  readonly #byKey = new Map<string, Value>();
  /** length → the first long text of that length */
  readonly #firstOfLength = new Map<number, Entry<Value>>();

  get(text: string): Value | undefined {
    if (text.length > HASHED_CHARS_MAX) {
      const first = this.#firstOfLength.get(text.length);
      if (first === undefined) return undefined;
      if (first.text === text) return first.value;
    }
    return this.#byKey.get(textKey(text));
  }

  /** @param text one that has no value yet */
  add(text: string, value: Value): void {
    const { length } = text;
    if (length > HASHED_CHARS_MAX && !this.#firstOfLength.has(length)) {
      this.#firstOfLength.set(length, { text, value });
    } else {
      this.#byKey.set(textKey(text), value);
    }
  }
}
