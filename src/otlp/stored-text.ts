/**
 * Owns the way back from the stored form of attribute values (`any-value.ts`) to OTLP's JSON. Works on
 * text, because parsing would round integers and lose the difference between 1 and 1.0; strings are
 * copied as they are. In pieces: a value may be many megabytes.
 *
 *   attributes ──► [{"key":…,"value":…},…]     value ──► {"stringValue":…}
 *   list of events or links ──► the same list, the attributes of its members converted
 */
import type { JsonText } from '../model/json.ts';

/** Tokens, and characters, after which a piece ends. */
const PIECE_TOKENS = 2000;
const PIECE_UNITS = 256 * 1024;

const TAGGED = /\{\s*"\$(bytes|double)"\s*:\s*("[^"]*")\s*\}/y;
const LITERAL = /[^\s,\]}]+/y;
const SPACE = /\s*/y;

/** What the value at hand is inside of. `rows` and `row` are a list of events and one event. */
type Frame = 'attributes' | 'map' | 'list' | 'rows' | 'row';
const CLOSING: Readonly<Record<Frame, string>> = {
  attributes: ']',
  map: ']}}',
  list: ']}}',
  rows: ']',
  row: '}',
};
const isOfPairs = (frame: Frame | undefined): boolean => frame === 'attributes' || frame === 'map';

class Conversion {
  readonly #text: string;
  readonly #out: string[];
  readonly #frames: Frame[] = [];
  #at = 0;
  /** the value at hand is the attributes of an event */
  #isAttributes: boolean;

  constructor(text: JsonText, out: string[], isAttributes: boolean) {
    this.#text = text;
    this.#out = out;
    this.#isAttributes = isAttributes;
  }

  *run(isList: boolean): Generator<void, void, void> {
    let tokens = 0;
    let from = 0;
    if (isList) this.#open('[', 'rows');
    do {
      if (!this.#closes()) this.#value();
      this.#after();
      tokens += 1;
      if (tokens % PIECE_TOKENS !== 0 && this.#at - from < PIECE_UNITS) continue;
      from = this.#at;
      yield;
    } while (this.#frames.length > 0);
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }

  /** The next character that is no space. */
  #next(): string {
    this.#match(SPACE);
    return this.#text[this.#at] ?? '';
  }

  #open(text: string, frame: Frame): void {
    this.#next();
    this.#at += 1;
    this.#out.push(text);
    this.#frames.push(frame);
    if (frame !== 'list' && frame !== 'rows' && !this.#closes()) this.#key();
  }

  #closes(): boolean {
    const next = this.#next();
    return next === ']' || next === '}';
  }

  #string(): string {
    this.#next();
    const from = this.#at;
    let end = from;
    for (let isEscaped = true; isEscaped; ) {
      end = this.#text.indexOf('"', end + 1);
      if (end === -1) throw new SyntaxError('a stored value ends within a string');
      let before = end - 1;
      while (this.#text[before] === '\\') before -= 1;
      isEscaped = (end - before) % 2 === 0;
    }
    this.#at = end + 1;
    return this.#text.slice(from, this.#at);
  }

  #key(): void {
    const frame = this.#frames.at(-1);
    const key = this.#string();
    this.#next();
    this.#at += 1;
    if (frame === 'row') {
      this.#out.push(key, ':');
      this.#isAttributes = key === '"attributes"';
      return;
    }
    const own = frame === 'map' && key.startsWith('"$$') ? `"${key.slice(2)}` : key;
    this.#out.push('{"key":', own, ',"value":');
  }

  #value(): void {
    const first = this.#next();
    const frame = this.#frames.at(-1);
    if (this.#isAttributes) {
      this.#isAttributes = false;
      this.#open('[', 'attributes');
    } else if (frame === 'rows') this.#open('{', 'row');
    else if (frame === 'row') {
      this.#out.push(first === '"' ? this.#string() : (this.#match(LITERAL)?.[0] ?? ''));
    } else if (first === '"') this.#out.push('{"stringValue":', this.#string(), '}');
    else if (first === '[') this.#open('{"arrayValue":{"values":[', 'list');
    else if (first === '{') {
      const tagged = this.#match(TAGGED);
      if (tagged === null) this.#open('{"kvlistValue":{"values":[', 'map');
      else this.#out.push(`{"${tagged[1]}Value":${tagged[2]}}`);
    } else this.#out.push(literal(this.#match(LITERAL)?.[0] ?? ''));
  }

  /** What follows a value: the next one, or the ends of what it is inside of. */
  #after(): void {
    for (;;) {
      const frame = this.#frames.at(-1);
      if (frame === undefined) return;
      if (!this.#closes()) {
        if (this.#text[this.#at] !== ',') return;
        this.#at += 1;
        this.#out.push(isOfPairs(frame) ? '},' : ',');
        if (frame !== 'list' && frame !== 'rows') this.#key();
        return;
      }
      this.#at += 1;
      const isEmpty = this.#out.at(-1)?.endsWith('[') === true;
      this.#out.push(`${isOfPairs(frame) && !isEmpty ? '}' : ''}${CLOSING[frame]}`);
      this.#frames.pop();
    }
  }
}

function literal(text: string): string {
  if (text === 'null') return '{}';
  if (text === 'true' || text === 'false') return `{"boolValue":${text}}`;
  return /[.eE]/.test(text) ? `{"doubleValue":${text}}` : `{"intValue":"${text}"}`;
}

/** Appends attributes as OTLP's list. @param text stored JSON of an object */
export function attributesInPieces(text: JsonText, out: string[]): Generator<void, void, void> {
  return new Conversion(text, out, true).run(false);
}

/** Appends a value as OTLP's AnyValue. @param text stored JSON */
export function valueInPieces(text: JsonText, out: string[]): Generator<void, void, void> {
  return new Conversion(text, out, false).run(false);
}

/** Appends a list of events or links. @param text stored JSON of a list */
export function rowsInPieces(text: JsonText, out: string[]): Generator<void, void, void> {
  return new Conversion(text, out, false).run(true);
}
