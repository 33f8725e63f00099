/** A page of a run's steps as the dashboard shows it: texts, cut to what is shown, and their marks. */
import type { Finding, TextRange } from './findings.ts';
import type { Hex16 } from './json.ts';
import type { TreeRow } from './run-tree.ts';
import type { UnreadableBlocks } from './runs.ts';
import type { StepDetails } from './shown/step-details.ts';
import type { StepOutline, Surface } from './steps.ts';
import type { Usage } from './usage.ts';

/** Steps of one evaluation: later ones are in no finding, and on no page. */
export const RUN_STEPS_MAX = 20_000;
export const FOUND_TEXTS_MAX = 50;
export const PHRASE_CHARS_MAX = 200;
export const TEXT_UNITS_MAX = 2 ** 30;

/** Most of a text that is shown at a time, in UTF-16 units. */
export const OPEN_UNITS_MAX = 64 * 1024;

/** Most of the line that tells what a step did. */
export const SNIPPET_UNITS = 160;

/** The text that is read, by a finding in it or by its place; and which part of it. */
export interface TextView {
  readonly findingId: Hex16 | null;
  /** number of the step, from 1 */
  readonly step: number;
  /** index of the text among the texts of the step */
  readonly text: number;
  /** requested part in UTF-16 units; null shows the part around the match, or the beginning */
  readonly from: number | null;
  readonly to: number | null;
  /** where reading continues: a link leads there */
  readonly at: number | null;
  /** marked wherever it occurs in the part */
  readonly query: string | null;
}

export interface StepsView {
  /** of steps, from 1 */
  readonly page: number;
  /** number of a step whose page is read instead */
  readonly step: number | null;
  /** a finding; the page of its step is read instead */
  readonly finding: Finding | null;
  readonly findings: readonly Finding[];
  readonly open: TextView | null;
  /** the texts of all steps of the page are read, instead of one step in full */
  readonly isList: boolean;
}

export interface TextMark extends TextRange {
  /** null for a match of a search */
  readonly findingId: Hex16 | null;
  /** the beginning of the normalised match; null where it equals the text */
  readonly readAs: string | null;
}

export interface ShownText {
  readonly surface: Surface;
  readonly index: number;
  /** of the whole text, in UTF-16 units */
  readonly length: number;
  /** offset of the shown part */
  readonly start: number;
  readonly text: string;
  /** offsets into the shown part */
  readonly marks: readonly TextMark[];
  /** of a model's call: the call before it had the text too */
  readonly isEarlier: boolean;
}

export interface ShownStep {
  /** in the run's time order, from 1 */
  readonly number: number;
  /** spans of the run above it */
  readonly depth: number;
  readonly outline: StepOutline;
  readonly usage: Usage;
  readonly model: string | null;
  /** of the one step that is shown in full */
  readonly details: StepDetails | null;
  readonly findings: readonly Hex16[];
  readonly texts: readonly ShownText[];
  /** index of the text that is read */
  readonly open: number | null;
  /** one line that tells what the step did; null without texts */
  readonly snippet: string | null;
  /** texts that the model's call before it had, too */
  readonly earlier: number;
  /** texts that are not shown, because the step or the page has too many */
  readonly textsLeftOut: number;
}

/** Steps of a run: those of its tree that are shown, or a page of them. */
export interface ShownSteps {
  readonly steps: readonly ShownStep[];
  /** the tree of the whole run; null where the texts of a page of steps are read instead */
  readonly tree: readonly TreeRow[] | null;
  /** numbers of the steps of findings, by the finding's id, where the tree has them */
  readonly places: ReadonlyMap<string, number>;
  readonly count: number;
  readonly pageSteps: number;
  /** number of the step that the page was opened at */
  readonly sought: number | null;
  /** the beginning of the first text that a user sent; null where none is known */
  readonly title: string | null;
  /** of the run; null before its evaluation where not all of its steps are on the page */
  readonly usage: Usage | null;
  /** from the start of the run's first step to the end of its last, in ns since 1970 */
  readonly startUnixNano: string;
  readonly endUnixNano: string;
}

/** Most of a text of a session's page, in UTF-16 units. */
export const TURN_UNITS = 1_200;

export interface TurnText {
  readonly text: string;
  readonly isCut: boolean;
}

/** A run as a turn of a conversation, from its first and last steps. */
export interface RunTurn {
  /** null where no step read has any */
  readonly said: TurnText | null;
  readonly answered: TurnText | null;
  /** false where steps between the first and the last ones were not read */
  readonly isWhole: boolean;
  /** calls among the steps read */
  readonly tools: readonly { readonly name: string; readonly calls: number }[];
}

export interface RunSearch {
  readonly phrase: string;
  /** number of the first step that was searched */
  readonly from: number;
  readonly hits: readonly FoundText[];
  /** number of the step from which to search further; null at the end of the run */
  readonly next: number | null;
  /** steps with only the beginnings of their texts searched */
  readonly cut: number;
  /** blocks of the run, whose steps were not searched */
  readonly unreadable: UnreadableBlocks;
}

export interface FoundText {
  /** number of the step, from 1 */
  readonly step: number;
  readonly stepName: string;
  readonly surface: Surface;
  /** index of the text among the texts of the step */
  readonly text: number;
  /** offset of the match in the text, in UTF-16 units */
  readonly at: number;
  readonly before: string;
  readonly match: string;
  readonly after: string;
  /** later steps that have the same text */
  readonly repeatedIn: number;
}
