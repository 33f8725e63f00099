/**
 * Owns the outline of a page of a run's steps for the dashboard and the API: each step's kind, status
 * and size of text per surface, the parts of its texts that are shown, and the findings in them.
 * Extracts texts as the pass does, so no rule can hit a step without sizes. Works in pieces:
 * extracting the texts of one step may take several turns of the event loop.
 */
import type { Finding } from '../model/findings.ts';
import { groupBy } from '../model/groups.ts';
import { type JsonValue, parsedJson } from '../model/json.ts';
import { type ShownStep, SNIPPET_UNITS, type TextView } from '../model/run-page.ts';
import type { Step, StepKind, StepOutline, Surface } from '../model/steps.ts';
import type { Usage } from '../model/usage.ts';
import { textKey } from './matcher/text-key.ts';
import { titleFrom } from './run-title.ts';
import { placeFindings } from './run-tree.ts';
import { type Room, shownTexts } from './shown-texts.ts';
import { detailsOf } from './step-details.ts';
import { nameDigest, stepNameOf } from './step-name.ts';
import { totalUsage, usageOf } from './step-usage.ts';
import { extractInPieces, type StepExtraction } from './surfaces/reader/extract.ts';
import { modelOf } from './surfaces/reader/run-facts.ts';
import { isObject } from './surfaces/reader/value-text.ts';

export interface OutlinedSteps {
  readonly steps: readonly (NumberedStep & { readonly depth: number; readonly isCut: boolean })[];
  /** spans on other pages to which log records of the page belong */
  readonly owners: readonly Step[];
}

export interface OutlineView {
  /** of the run; those of other steps are left out */
  readonly findings: readonly Finding[];
  /** the text that is read: more of it is shown, all of its matches of `query` are marked */
  readonly open: TextView | null;
  /** number of the only step whose texts and details are shown; null shows the texts of all */
  readonly only: number | null;
  /** number of the call of the model before the step that is shown; its texts are earlier ones */
  readonly before?: number | null;
  /** digests of names that contain matched text and are not shown */
  readonly hiddenNames: ReadonlySet<string>;
}

/** Most that one page shows of all texts but the one that is read, and most texts of a page. */
const PAGE_UNITS_MAX = 192 * 1024;
const PAGE_TEXTS_MAX = 500;

export interface Outlined {
  readonly steps: ShownStep[];
  /** of a run that begins with these steps */
  readonly title: string | null;
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
  let earlier: ReadonlySet<string> = new Set();
  for (const extracted of extractInPieces([...steps.map(({ step }) => step), ...owners])) {
    if (extracted === null) {
      yield;
      continue;
    }
    const numbered = steps[outlined.length];
    if (numbered === undefined) break;
    title ??= titleFrom(extracted.texts);
    if (numbered.number === view.before) {
      earlier = new Set(extracted.texts.map(({ text }) => textKey(text)));
    }
    outlined.push(
      shownStep(numbered, extracted, own.get(numbered) ?? [], { view, room, isHidden, earlier }),
    );
    yield;
  }
  return { steps: outlined, title, usage: totalUsage(steps.map(({ step }) => step)) };
}

interface Showing {
  readonly view: OutlineView;
  readonly room: Room;
  readonly isHidden: (name: string) => boolean;
  /** keys of the texts of the model's call before */
  readonly earlier: ReadonlySet<string>;
}

function shownStep(
  { step, number, depth, isCut }: OutlinedSteps['steps'][number],
  extracted: StepExtraction,
  findings: readonly Finding[],
  { view: { open, only }, room, isHidden, earlier }: Showing,
): ShownStep {
  const isShown = only === null || only === number;
  const { kind, texts, forms } = extracted;
  const isEarlier = (text: string): boolean =>
    kind === 'llm' && only === number && earlier.size > 0 && earlier.has(textKey(text));
  const showing = { number, open, isOnly: only !== null, isEarlier };
  return {
    number,
    depth,
    outline: outlineOf(step, extracted, isCut, isHidden),
    usage: usageOf(step),
    model: modelOf(step, kind),
    details: only === number ? detailsOf(step) : null,
    findings: findings.map(({ id }) => id),
    snippet: snippetOf(
      kind,
      texts.filter((_, index) => !forms.has(index)),
    ),
    ...(isShown
      ? shownTexts(extracted, findings, showing, room)
      : { texts: [], open: null, earlier: 0, textsLeftOut: 0 }),
  };
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

interface NumberedStep {
  readonly step: Step;
  /** in the run's time order, from 1 */
  readonly number: number;
  /** number of steps of the run before it with its source, start, span id and day of arrival */
  readonly twin: number;
}

/** Returns the findings of each step of a page. */
export function findingsByStep<Numbered extends NumberedStep>(
  steps: readonly Numbered[],
  findings: readonly Finding[],
): Map<Numbered | undefined, readonly Finding[]> {
  const placed = steps.map((own) => ({ own, step: { ...own.step, twin: own.twin } }));
  const places = placeFindings(placed, findings);
  const found = findings.filter(({ id }) => places.has(id));
  return groupBy(found, ({ id }) => places.get(id)?.own);
}

interface Text {
  readonly surface: Surface;
  readonly text: string;
}

/** Longer arguments are not parsed; their beginning is searched. */
const PARSED_UNITS_MAX = 8 * 1024;
/** Read before white space is folded. */
const READ_UNITS = 4 * SNIPPET_UNITS;

/** Arguments that tell most of a call, the most telling ones first. */
const TELLING = [
  ...['command', 'cmd', 'script', 'code', 'url', 'uri', 'href', 'query', 'sql', 'q'],
  ...['file_path', 'filename', 'path', 'pattern', 'to', 'prompt', 'message', 'text', 'input'],
];
const TELLING_IN_PART = new RegExp(`"(?:${TELLING.join('|')})"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)`);

const OF_TOOL: readonly Surface[] = ['tool_args', 'query_text', 'step_input', 'tool_result'];
const OF_OTHERS: readonly Surface[] = ['step_input', 'query_text', 'tool_args', 'agent_output'];
const OF_MODEL: readonly Surface[] = ['agent_output', 'tool_args'];

/**
 * Returns the snippet of a step; null without a text.
 *
 * @param texts in reading order, without other forms of the same text
 */
export function snippetOf(kind: StepKind, texts: readonly Text[]): string | null {
  const own = tellingText(kind, texts);
  if (own === undefined) return null;
  const shown = own.surface === 'tool_args' ? argumentIn(own.text) : own.text;
  const line = shown.trimStart().slice(0, READ_UNITS).replaceAll(/\s+/g, ' ').trimEnd();
  if (line.length <= SNIPPET_UNITS) return line.toWellFormed();
  return `${line.slice(0, SNIPPET_UNITS - 1).replace(/[\ud800-\udbff]$/, '')}…`.toWellFormed();
}

function tellingText(kind: StepKind, texts: readonly Text[]): Text | undefined {
  if (kind === 'llm' || kind === 'embedding') {
    const said = texts.findLast(({ surface }) => OF_MODEL.includes(surface));
    return said ?? texts.findLast(({ surface }) => surface === 'step_input') ?? texts.at(-1);
  }
  const order = kind === 'tool' || kind === 'retriever' ? OF_TOOL : OF_OTHERS;
  for (const wanted of order) {
    const found = texts.find(({ surface }) => surface === wanted);
    if (found !== undefined) return found;
  }
  return texts.find(({ surface }) => surface !== 'tool_name') ?? texts[0];
}

/** The most telling argument of a call; its text as it is without one. */
function argumentIn(text: string): string {
  if (!/^\s*\{/.test(text)) return text;
  const value = text.length <= PARSED_UNITS_MAX ? parsedJson(text) : undefined;
  if (!isObject(value)) {
    const found = TELLING_IN_PART.exec(text.slice(0, PARSED_UNITS_MAX))?.[1];
    return found === undefined ? text : unescaped(found);
  }
  const named = TELLING.map((name) => (Object.hasOwn(value, name) ? value[name] : null));
  const shown = [...named, ...Object.values(value)].find(isFilled);
  return shown ?? text;
}

const isFilled = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' && value.trim() !== '';

function unescaped(inJson: string): string {
  const value = parsedJson(`"${inJson}"`);
  return typeof value === 'string' ? value : inJson;
}
