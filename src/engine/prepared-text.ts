/**
 * Owns what a matcher looks at: the texts of a run, each distinct one once, cut to the cap, as
 * UTF-8 bytes in both readings (as written, normalised). Hits are settled here too: one that
 * touches the cut must hold on the uncut text, so that the cap can lose a match but never invent
 * one.
 */
import type { Surface, SurfaceText } from '../model.ts';
import type { ByteRange, Pattern } from './pattern.ts';
import { normalise, settledLength, type TextRange, toWrittenRange } from './text.ts';

/** Where a pattern hit: offsets into the text as it was written, before any cut. */
export interface TextHit extends TextRange {
  readonly form: 'written' | 'normalised';
}

/** A distinct text, ready to be scanned. */
export interface PreparedText {
  /** UTF-8 bytes looked at, not more than the cap left */
  readonly bytes: number;
  readonly cut: boolean;
  readonly readings: readonly Reading[];
  /** the same text with more of it to look at; itself when nothing was cut */
  readonly wider: () => PreparedText;
}

/** One reading of a text. */
export interface Reading {
  readonly form: TextHit['form'];
  /** what is scanned */
  readonly bytes: Buffer;
  /** a match ending here or later may owe itself to the cut; Infinity when nothing was cut */
  readonly firmBytes: number;
  readonly toWritten: (range: TextRange) => TextRange;
}

/** A text on a surface of a step. */
export interface Placement {
  /** index into the texts given to `prepareTexts` */
  readonly textIndex: number;
  readonly step: number;
  readonly surface: Surface;
  readonly text: PreparedText;
}

/** Placements by step, in time order; a step without any is left out. */
export type StepPlacements = readonly (readonly Placement[])[];

export interface PreparedRun {
  /** every text of every step */
  readonly all: StepPlacements;
  /** the same without the repetitions: a text on a surface at its earliest step */
  readonly distinct: StepPlacements;
  /** texts cut, or left out because the cap of their surface was used up */
  readonly truncated: number;
}

/**
 * Prepares the texts of one run.
 * @param texts in time order
 * @param capBytes most UTF-8 bytes looked at per surface and step. A text the surface has already
 *   shown costs nothing: a history that is sent again and again must not crowd out what is new.
 */
export function prepareTexts(texts: readonly SurfaceText[], capBytes: number): PreparedRun {
  const all: Placement[] = [];
  const distinct: Placement[] = [];
  const shown = new Map<Surface, Map<string, PreparedText>>();
  const used = new Map<string, number>();
  const uncut = new Map<string, PreparedText>();
  let truncated = 0;
  texts.forEach(({ step, surface, text }, textIndex) => {
    const account = `${step} ${surface}`;
    const spent = used.get(account) ?? 0;
    const left = capBytes - spent;
    const onSurface = shown.get(surface) ?? new Map<string, PreparedText>();
    shown.set(surface, onSurface);
    const before = onSurface.get(text);
    if (before !== undefined && (!before.cut || before.bytes >= left)) {
      all.push({ textIndex, step, surface, text: before });
      return;
    }
    const elsewhere = uncut.get(text);
    const fits = elsewhere !== undefined && elsewhere.bytes <= left;
    const prepared = fits ? elsewhere : prepareText(text, left);
    if (prepared.cut) truncated += 1;
    else uncut.set(text, prepared);
    if (prepared.cut && prepared.bytes === 0) return;
    used.set(account, spent + prepared.bytes);
    onSurface.set(text, prepared);
    const placement = { textIndex, step, surface, text: prepared };
    all.push(placement);
    distinct.push(placement);
  });
  return { all: byStep(all), distinct: byStep(distinct), truncated };
}

function byStep(placements: readonly Placement[]): StepPlacements {
  const steps = new Map<number, Placement[]>();
  for (const placement of placements) {
    const sameStep = steps.get(placement.step);
    if (sameStep === undefined) steps.set(placement.step, [placement]);
    else sameStep.push(placement);
  }
  return [...steps.values()];
}

/**
 * Prepares one text.
 * @param capBytes most UTF-8 bytes to look at; the cut falls between characters
 */
export function prepareText(text: string, capBytes: number): PreparedText {
  const whole = Buffer.from(text);
  const cutAt = whole.byteLength <= capBytes ? whole.byteLength : boundaryBefore(whole, capBytes);
  const cut = cutAt < whole.byteLength;
  const bytes = whole.subarray(0, cutAt);
  const firm = (length: number) => (cut ? length : Number.POSITIVE_INFINITY);
  const readings: Reading[] = [
    { form: 'written', bytes, firmBytes: firm(cutAt), toWritten: (range) => range },
  ];
  const visible = cut ? bytes.toString() : text;
  const normalised = normalise(visible);
  if (normalised !== visible) {
    const settled = cut ? normalised.slice(0, settledLength(visible)) : normalised;
    readings.push({
      form: 'normalised',
      bytes: Buffer.from(normalised),
      firmBytes: firm(Buffer.byteLength(settled)),
      toWritten: (range) => toWrittenRange(text, range),
    });
  }
  let wider: PreparedText | null = null;
  const prepared: PreparedText = {
    bytes: cutAt,
    cut,
    readings,
    // Kept: many patterns may touch the same cut.
    wider: () => {
      if (cut) wider ??= prepareText(text, Math.max(2 * capBytes, WIDER_BYTES_MIN));
      return wider ?? prepared;
    },
  };
  return prepared;
}

/** The first look past a cut is at least this far. */
const WIDER_BYTES_MIN = 1024;

/**
 * The leftmost hit of a pattern in a text, as written if it hits there, else normalised.
 * @returns null when the text is clean
 * @throws what RE2 throws: the question is then undecided, never clean
 */
export function search(pattern: Pattern, text: PreparedText): TextHit | null {
  for (const reading of text.readings) {
    const hit = pattern.test(reading.bytes) ? settle(pattern, text, reading) : null;
    if (hit !== null) return hit;
  }
  return null;
}

/**
 * Confirms a hit and finds its place. A match that ends before the cut stands on the uncut text
 * too: RE2 has no look-ahead, so that nothing behind a match bears on it but, to `$` and `\b`, the
 * next character. Of any other match a wider look decides, twice as wide each time: what the cut
 * made disappears, what is real comes to its own end.
 */
function settle(pattern: Pattern, cutText: PreparedText, cutReading: Reading): TextHit | null {
  let text = cutText;
  let reading: Reading | undefined = cutReading;
  while (reading !== undefined) {
    const found = pattern.find(reading.bytes);
    if (text === cutText) {
      if (found === null) throw new Error('RE2 reports a match it cannot find');
    } else if (found === null || found.start >= cutReading.bytes.byteLength) {
      return null;
    }
    if (found.end < reading.firmBytes) return toHit(found, reading);
    text = text.wider();
    reading = text.readings.find(({ form }) => form === cutReading.form);
  }
  return null;
}

function toHit(range: ByteRange, { form, bytes, toWritten }: Reading): TextHit {
  const start = bytes.toString('utf8', 0, range.start).length;
  const end = start + bytes.toString('utf8', range.start, range.end).length;
  return { form, ...toWritten({ start, end }) };
}

/** The last offset, not past `at`, where a character begins. */
function boundaryBefore(bytes: Buffer, at: number): number {
  let boundary = Math.max(0, at);
  while (boundary > 0 && ((bytes[boundary] ?? 0) & 0xc0) === 0x80) boundary -= 1;
  return boundary;
}
