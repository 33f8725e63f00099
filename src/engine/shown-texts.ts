/**
 * Owns which texts of a step are shown, and which part of each: new ones before those that the model's call
 * before had too, one of several forms of the same text, within the room of the page.
 */
import type { Finding } from '../model/findings.ts';
import { INVISIBLE } from '../model/invisible.ts';
import {
  OPEN_UNITS_MAX,
  type ShownStep,
  type ShownText,
  type TextMark,
  type TextView,
} from '../model/run-page.ts';
import type { StepExtraction } from './surfaces/reader/extract.ts';
import { locateFindings, searchText } from './text-marks.ts';

/** The shown length of a text without a finding, and of one with a finding or that is read. */
const SHOWN_UNITS = 2000;
const OPEN_UNITS = 4000;
/** The same for a text without a finding of the only step that is shown. */
const ONLY_UNITS = 8000;
/** Most invisible characters in a shown part: each is an element of the page. */
const UNSEEN_MAX = 4096;
/** Units of a page that one of them uses. */
const UNSEEN_UNITS = 16;
const STEP_TEXTS_MAX = 50;
/** A match begins below at least this much of the text before it. */
const BEFORE_MATCH_UNITS = 800;

export interface Room {
  texts: number;
  units: number;
}

interface Showing {
  readonly number: number;
  readonly open: TextView | null;
  /** the texts of no other step are shown */
  readonly isOnly: boolean;
  readonly isEarlier: (text: string) => boolean;
}

interface Candidate {
  readonly index: number;
  readonly marks: readonly TextMark[];
  readonly isOpen: boolean;
  readonly isEarlier: boolean;
}

export function shownTexts(
  { texts, forms }: Pick<StepExtraction, 'texts' | 'forms'>,
  findings: readonly Finding[],
  { number, open, isOnly, isEarlier }: Showing,
  room: Room,
): Pick<ShownStep, 'texts' | 'open' | 'earlier' | 'textsLeftOut'> {
  const sought = open?.findingId ?? null;
  const marks = locateFindings(texts, findings, sought);
  const openAt = openedText(marks, open, number);
  const all = texts.map(({ text }, index): Candidate => {
    const own = marks[index] ?? [];
    const isOpen = index === openAt;
    return { index, marks: own, isOpen, isEarlier: !isOpen && own.length === 0 && isEarlier(text) };
  });
  const wanted = withoutForms(all, texts, forms).sort(
    (one, other) => Number(one.isEarlier) - Number(other.isEarlier),
  );
  const shown: ShownText[] = [];
  let others = STEP_TEXTS_MAX;
  for (const one of wanted) {
    const { isOpen } = one;
    if (!isOpen && one.marks.length === 0 && others-- <= 0) continue;
    if (!isOpen && (room.texts <= 0 || room.units <= 0)) continue;
    const text = texts[one.index];
    if (text !== undefined) shown.push(shownText(text, one, { open, isOnly }, room));
  }
  return {
    texts: shown,
    open: openAt === -1 ? null : openAt,
    earlier: wanted.filter((one) => one.isEarlier).length,
    textsLeftOut: wanted.length - shown.length,
  };
}

function openedText(
  marks: readonly (readonly TextMark[])[],
  open: TextView | null,
  number: number,
): number {
  const sought = open?.findingId ?? null;
  if (sought !== null) {
    return marks.findIndex((own) => own.some(({ findingId }) => findingId === sought));
  }
  return open !== null && open.step === number ? open.text : -1;
}

/**
 * Leaves out other forms of a text, such as the strings of tool arguments after their JSON. Where only the
 * other form has a mark or is read, it is shown instead.
 */
function withoutForms(
  all: readonly Candidate[],
  texts: StepExtraction['texts'],
  forms: ReadonlySet<number>,
): Candidate[] {
  const isWanted = ({ marks, isOpen }: Candidate): boolean => isOpen || marks.length > 0;
  return all.filter((one, at) => {
    if (isWanted(one)) return true;
    if (forms.has(at)) return false;
    const next = all[at + 1];
    const isSame = forms.has(at + 1) && texts[at]?.surface === texts[at + 1]?.surface;
    return !(isSame && next !== undefined && isWanted(next));
  });
}

function shownText(
  { surface, text }: StepExtraction['texts'][number],
  { index, marks: own, isOpen, isEarlier }: Candidate,
  { open, isOnly }: Pick<Showing, 'open' | 'isOnly'>,
  room: Room,
): ShownText {
  const sought = open?.findingId ?? null;
  const first = own.find(({ findingId }) => findingId === sought) ?? own[0];
  const plainUnits = isOnly ? ONLY_UNITS : SHOWN_UNITS;
  const units = Math.min(room.units, own.length > 0 ? OPEN_UNITS : plainUnits);
  const { window, unseen } = boundUnseen(
    text,
    isOpen ? openWindow(text, open, first) : windowAround(text, first, units),
  );
  room.texts -= 1;
  if (!isOpen) room.units -= window.end - window.start + unseen * UNSEEN_UNITS;
  const found = isOpen && open?.query ? searchText(text, open.query, window) : [];
  return {
    surface,
    index,
    length: text.length,
    start: window.start,
    text: text.slice(window.start, window.end),
    marks: [...own, ...found].flatMap(({ start, end, ...mark }) =>
      end <= window.start || start >= window.end
        ? []
        : [{ ...mark, start: start - window.start, end: Math.min(end, window.end) - window.start }],
    ),
    isEarlier,
  };
}

interface Window {
  readonly start: number;
  readonly end: number;
}

function windowAround(text: string, match: Window | undefined, units: number): Window {
  const wanted = match === undefined ? 0 : match.start - BEFORE_MATCH_UNITS;
  const start = Math.max(0, Math.min(wanted, text.length - units));
  return wholeCharacters(text, start, Math.min(text.length, start + units));
}

/** The requested part of the text that is read; around the match if none is requested. */
function openWindow(text: string, open: TextView | null, match: Window | undefined): Window {
  if (open === null || open.from === null) return windowAround(text, match, OPEN_UNITS);
  const start = Math.min(open.from, Math.max(0, text.length - 1));
  const end = Math.max(start, open.to ?? start + OPEN_UNITS);
  return wholeCharacters(text, start, Math.min(text.length, end, start + OPEN_UNITS_MAX));
}

/** Ends a part early that has too many invisible characters. */
function boundUnseen(text: string, { start, end }: Window): { window: Window; unseen: number } {
  let unseen = 0;
  for (const { index } of text.slice(start, end).matchAll(INVISIBLE)) {
    if (unseen === UNSEEN_MAX) return { window: { start, end: start + index }, unseen };
    unseen += 1;
  }
  return { window: { start, end }, unseen };
}

/** Moves both ends off the middle of surrogate pairs. */
function wholeCharacters(text: string, start: number, end: number): Window {
  const isInside = (at: number): boolean =>
    at > 0 && at < text.length && (text.codePointAt(at - 1) ?? 0) > 0xffff;
  return { start: isInside(start) ? start - 1 : start, end: isInside(end) ? end - 1 : end };
}
