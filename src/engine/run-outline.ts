/**
 * Owns the outline of a page of a run's steps for the dashboard and the API: each step's kind, status
 * and size of text per surface, the parts of its texts that are shown, and the findings in them.
 * Extracts texts as the pass does, so no rule can hit a step without sizes. Works in pieces:
 * extracting the texts of one step may take several turns of the event loop.
 */
import type { Finding } from '../model/findings.ts';
import { INVISIBLE } from '../model/invisible.ts';
import {
  OPEN_UNITS_MAX,
  type ShownStep,
  type ShownText,
  type TextView,
} from '../model/run-page.ts';
import type { Usage } from '../model/step-details.ts';
import type { Step, StepOutline, Surface } from '../model/steps.ts';
import { findingsByStep, type NumberedStep } from './finding-steps.ts';
import { titleFrom } from './run-title.ts';
import { detailsOf } from './step-details.ts';
import { nameDigest, stepNameOf } from './step-name.ts';
import { totalUsage, usageOf } from './step-usage.ts';
import { extractInPieces, type StepExtraction } from './surfaces/reader/extract.ts';
import { modelOf } from './surfaces/reader/run-facts.ts';
import { locateFindings, searchText } from './text-marks.ts';

/** A page of steps, as they were read. */
export interface OutlinedSteps {
  readonly steps: readonly (NumberedStep & { readonly depth: number; readonly isCut: boolean })[];
  /** spans on other pages to which log records of the page belong */
  readonly owners: readonly Step[];
}

/** The parts of the texts to show and to mark. */
export interface OutlineView {
  /** of the run; those of other steps are left out */
  readonly findings: readonly Finding[];
  /** the text that is read: more of it is shown, all of its matches of `query` are marked */
  readonly open: TextView | null;
  /** number of the only step whose texts and details are shown; null shows the texts of all */
  readonly only: number | null;
  /** digests of names that contain matched text and are not shown */
  readonly hiddenNames: ReadonlySet<string>;
}

/** The shown length of a text without a finding, and of one with a finding or that is read. */
const SHOWN_UNITS = 2000;
const OPEN_UNITS = 4000;
/** The same for a text without a finding of the only step that is shown. */
const ONLY_UNITS = 8000;
/** Most that one page shows of all texts but the one that is read. */
const PAGE_UNITS_MAX = 192 * 1024;
/** Most invisible characters in a shown part: each is an element of the page. */
const UNSEEN_MAX = 4096;
/** Units of a page that one of them uses. */
const UNSEEN_UNITS = 16;
/** Most texts shown of one step, besides those with findings, and of a page. */
const STEP_TEXTS_MAX = 50;
const PAGE_TEXTS_MAX = 500;
/** A match begins below at least this much of the text before it. */
const BEFORE_MATCH_UNITS = 800;

/** A page of steps with the shown parts of their texts. */
export interface Outlined {
  readonly steps: ShownStep[];
  /** of a run that begins with these steps */
  readonly title: string | null;
  /** of these steps together */
  readonly usage: Usage;
}

/** Outlines a page of steps, one per turn or a part of one. */
export function* outlineInPieces(
  { steps, owners }: OutlinedSteps,
  view: OutlineView,
): Generator<void, Outlined, void> {
  const own = findingsByStep(steps, view.findings);
  const { hiddenNames } = view;
  const isHidden = (name: string): boolean =>
    hiddenNames.size > 0 && hiddenNames.has(nameDigest(name));
  const room = { texts: PAGE_TEXTS_MAX, units: PAGE_UNITS_MAX };
  const outlined: ShownStep[] = [];
  let title: string | null = null;
  for (const extracted of extractInPieces([...steps.map(({ step }) => step), ...owners])) {
    if (extracted === null) {
      yield;
      continue;
    }
    const numbered = steps[outlined.length];
    if (numbered === undefined) break;
    title ??= titleFrom(extracted.texts);
    outlined.push(
      shownStep(numbered, extracted, own.get(numbered) ?? [], { view, room, isHidden }),
    );
    yield;
  }
  return { steps: outlined, title, usage: totalUsage(steps.map(({ step }) => step)) };
}

interface Showing {
  readonly view: OutlineView;
  readonly room: Room;
  readonly isHidden: (name: string) => boolean;
}

function shownStep(
  { step, number, depth, isCut }: OutlinedSteps['steps'][number],
  extracted: StepExtraction,
  findings: readonly Finding[],
  { view: { open, only }, room, isHidden }: Showing,
): ShownStep {
  const isShown = only === null || only === number;
  return {
    number,
    depth,
    outline: outlineOf(step, extracted, isCut, isHidden),
    usage: usageOf(step),
    model: modelOf(step, extracted.kind),
    details: only === number ? detailsOf(step) : null,
    findings: findings.map(({ id }) => id),
    ...(isShown
      ? shownTexts(extracted.texts, findings, number, { open, isOnly: only !== null }, room)
      : { texts: [], open: null }),
  };
}

/** The remaining budget of a page. */
interface Room {
  texts: number;
  units: number;
}

function shownTexts(
  texts: StepExtraction['texts'],
  findings: readonly Finding[],
  number: number,
  { open, isOnly }: { readonly open: TextView | null; readonly isOnly: boolean },
  room: Room,
): Pick<ShownStep, 'texts' | 'open'> {
  const sought = open?.findingId ?? null;
  const marks = locateFindings(texts, findings, sought);
  const openAt =
    open === null
      ? -1
      : sought === null
        ? open.step === number
          ? open.text
          : -1
        : texts.findIndex((_, index) =>
            marks[index]?.some(({ findingId }) => findingId === sought),
          );
  const shown: ShownText[] = [];
  let others = STEP_TEXTS_MAX;
  for (const [index, { surface, text }] of texts.entries()) {
    const own = marks[index] ?? [];
    const isOpen = index === openAt;
    if (!isOpen && own.length === 0 && others-- <= 0) continue;
    if (!isOpen && (room.texts <= 0 || room.units <= 0)) continue;
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
    shown.push({
      surface,
      index,
      length: text.length,
      start: window.start,
      text: text.slice(window.start, window.end),
      marks: [...own, ...found].flatMap(({ start, end, ...mark }) =>
        end <= window.start || start >= window.end
          ? []
          : [
              {
                ...mark,
                start: start - window.start,
                end: Math.min(end, window.end) - window.start,
              },
            ],
      ),
    });
  }
  return { texts: shown, open: openAt === -1 ? null : openAt };
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

function outlineOf(
  step: Step,
  { kind, texts }: StepExtraction,
  isCut: boolean,
  isHidden: (name: string) => boolean,
): StepOutline {
  const sizes = new Map<Surface, { texts: number; bytes: number }>();
  for (const { surface, text } of texts) {
    const before = sizes.get(surface) ?? { texts: 0, bytes: 0 };
    const bytes = before.bytes + Buffer.byteLength(text);
    sizes.set(surface, { texts: before.texts + 1, bytes });
  }
  const name = stepNameOf(step);
  return {
    source: step.source,
    name: isHidden(name) ? null : name,
    kind,
    spanId: step.spanId,
    parentSpanId: step.parentSpanId,
    serviceName: step.serviceName,
    startUnixNano: step.startUnixNano,
    endUnixNano: step.endUnixNano,
    statusCode: step.statusCode,
    surfaces: [...sizes].map(([surface, size]) => ({ surface, ...size })),
    isCut,
  };
}
