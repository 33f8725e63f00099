/**
 * Owns the completion of JSON that its sender cut: strings, lists and objects that are open at the end are
 * closed, and a token that is not complete (a key without a value, a number, half an escape) is dropped.
 *
 * Must leave alone text that only begins like JSON, such as `[note] …` or a Python repr. Linear in the
 * length; the depth is bounded.
 */
import { type JsonObject, type JsonValue, parsedJson } from '../../../model/json.ts';
import { DEPTH_MAX } from './budget.ts';
import { cutMarkAt } from './run-rows.ts';

export interface CutJson {
  readonly value: JsonValue;
  /** the lists and objects that the cut left open, outermost first: more may have followed in each */
  readonly open: readonly (JsonValue[] | JsonObject)[];
}

/** Marks that senders write after a cut: `...`, `…`, `[truncated]`, `...(truncated 300 chars)`. */
const MARK =
  /(?:\.{3}|…)?\s?[[(<](?:\.{3}|…)?[\w ,.:]{0,40}(?:truncat|omitted)[\w ,.:…]{0,40}[\])>]$|(?:\.{3}|…)$/i;
const MARK_UNITS_MAX = 128;

/**
 * Completes a text that is the beginning of JSON and nothing else.
 * @param text that `JSON.parse` refuses
 * @returns undefined if it is refused for another reason than its end
 */
export function parseCut(text: string): CutJson | undefined {
  const mark = markAt(text);
  const bare = (mark === -1 ? text : text.slice(0, mark)).replace(/[\uD800-\uDBFF]$/, '');
  const end = scan(bare);
  if (end === undefined) return undefined;
  const kept = completed(bare, end);
  if (kept === undefined) return undefined;
  const closers = end.frames.map(({ isList }) => (isList ? ']' : '}')).reverse();
  const value = parsedJson(kept + closers.join(''));
  return value === undefined ? undefined : { value, open: openIn(value, bare, end.frames) };
}

/** The offset of a mark after the cut; -1 without one. */
function markAt(text: string): number {
  const known = cutMarkAt(text);
  if (known !== -1) return known;
  const tail = text.slice(-MARK_UNITS_MAX);
  const found = tail.search(MARK);
  return found === -1 ? -1 : text.length - tail.length + found;
}

interface Frame {
  readonly isList: boolean;
  /** the end of its last complete element or member */
  keptTo: number;
  /** the last member's name, in quotes; its end is -1 while it is open */
  nameAt: number;
  nameEnd: number;
  /** the name's value comes next, or is open */
  isValue: boolean;
}

interface End {
  /** outermost first */
  readonly frames: readonly Frame[];
  /** start of the open string, behind its quote; -1 without one */
  readonly stringAt: number;
  /** end of what is complete in the open string */
  readonly stringEnd: number;
}

/** @returns undefined if the text is not the beginning of JSON, is complete, or is nested too deeply */
function scan(text: string): End | undefined {
  const frames: Frame[] = [];
  let at = text.search(/\S/);
  if (at === -1) return undefined;
  for (; at < text.length; at += 1) {
    const char = text[at] ?? '';
    const top = frames.at(-1);
    if (char === '"') {
      const isName = top !== undefined && !top.isList && !top.isValue;
      if (isName) {
        top.nameAt = at;
        top.nameEnd = -1;
      }
      const { end, complete } = stringFrom(text, at + 1);
      if (end === -1) return { frames, stringAt: at + 1, stringEnd: complete };
      if (top === undefined) return undefined;
      if (isName) top.nameEnd = end + 1;
      else top.keptTo = end + 1;
      at = end;
    } else if (char === '[' || char === '{') {
      if (frames.length === DEPTH_MAX) return undefined;
      frames.push({
        isList: char === '[',
        keptTo: at + 1,
        nameAt: -1,
        nameEnd: -1,
        isValue: false,
      });
    } else if (top === undefined) return undefined;
    else if (char === ']' || char === '}') {
      if (top.isList !== (char === ']')) return undefined;
      frames.pop();
      const outer = frames.at(-1);
      if (outer === undefined) return undefined;
      outer.keptTo = at + 1;
    } else if (char === ',') {
      top.keptTo = at;
      top.isValue = false;
    } else if (char === ':') top.isValue = true;
    else {
      const next = behind(OUTSIDE, text, at);
      if (next === at) return undefined;
      at = next - 1;
    }
  }
  return { frames, stringAt: -1, stringEnd: -1 };
}

/** Runs of what is neither a bracket nor a string, and of characters in a string. */
const OUTSIDE = /[-+.\w\s]*/y;
const UNESCAPED = /[^"\\]*/y;

/** The end of a run that begins here. */
function behind(run: RegExp, text: string, from: number): number {
  run.lastIndex = from;
  run.test(text);
  return run.lastIndex;
}

/** Where a string ends (-1: it does not), and where its last complete character ends. */
function stringFrom(text: string, from: number): { end: number; complete: number } {
  let at = from;
  /** start and end of the first half of a character outside the BMP */
  let half = { from: -1, to: -1 };
  for (;;) {
    at = behind(UNESCAPED, text, at);
    if (at === text.length || text[at] === '"') break;
    const next = at + (text[at + 1] === 'u' ? 6 : 2);
    if (next > text.length) break;
    if (/^\\ud[89ab]/i.test(text.slice(at, next))) half = { from: at, to: next };
    at = next;
  }
  if (text[at] === '"') return { end: at, complete: at };
  return { end: -1, complete: at === half.to ? half.from : at };
}

/** Members that decide how the others are read: the beginning of their value may be another one. */
const DECIDING = /^"(?:role|type|lg_name)"$/;

/** The beginning of a number, true, false or null. */
const WORD =
  /^(?:-?\d*(?:\.\d*)?(?:[eE][+-]?\d*)?|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?)$/;

/** The text up to its last complete token, with an open string closed; undefined if it is no JSON. */
function completed(text: string, { frames, stringAt, stringEnd }: End): string | undefined {
  const top = frames.at(-1);
  const name = top === undefined || top.isList ? null : text.slice(top.nameAt, top.nameEnd);
  if (stringAt !== -1 && (top === undefined || top.isList || top.isValue)) {
    const isDropped = name !== null && DECIDING.test(name);
    return isDropped ? text.slice(0, top?.keptTo) : `${text.slice(0, stringEnd)}"`;
  }
  if (top === undefined) return undefined;
  const kept = text.slice(0, top.keptTo);
  if (stringAt !== -1) return kept;
  let rest = text.slice(top.keptTo).trim();
  if (rest.startsWith(',')) rest = rest.slice(1).trimStart();
  if (!top.isList && rest.startsWith('"')) {
    rest = text.slice(top.nameEnd).trim();
    if (rest === '') return kept;
    if (!rest.startsWith(':')) return undefined;
    rest = rest.slice(1).trimStart();
  } else if (!top.isList) return rest === '' ? kept : undefined;
  return WORD.test(rest) ? kept : undefined;
}

function openIn(root: JsonValue, text: string, frames: readonly Frame[]): CutJson['open'] {
  const open: (JsonValue[] | JsonObject)[] = [];
  let value: JsonValue | undefined = root;
  for (const { isList, nameAt, nameEnd } of frames) {
    if (typeof value !== 'object' || value === null) break;
    open.push(value);
    if (Array.isArray(value)) value = isList ? value.at(-1) : undefined;
    else if (nameEnd === -1) break;
    else value = value[JSON.parse(text.slice(nameAt, nameEnd)) as string];
  }
  return open;
}
