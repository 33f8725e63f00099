/**
 * Owns a map whose keys are texts, as cheap for long ones as for short ones. V8 hashes a string of more
 * than 16,383 characters by its length alone, so `textKey` digests it; here a long text is digested only
 * when another one of its length comes.
 */
import { HASHED_CHARS_MAX, textKey } from './text-key.ts';

interface Entry<Value> {
  readonly text: string;
  readonly value: Value;
}

/** Values by text. Values are added only, each text once. */
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
