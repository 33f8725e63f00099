/** The texts of a step with their matches marked, the way to more of them, and the findings in them. */
import type { Finding } from '../../../model/findings.ts';
import { type JsonValue, parsedJson } from '../../../model/json.ts';
import {
  OPEN_UNITS_MAX,
  type ShownStep,
  type ShownSteps,
  type ShownText,
  type TextView,
} from '../../../model/run-page.ts';
import { surfaceLabel } from '../../../model/steps.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { findingLink } from '../findings.ts';
import { count } from '../format.ts';
import { severityBadge } from '../shell.ts';
import { AT_ID, excerptView, FOUND_ID, markedText, seenText } from '../text.ts';

const MORE_UNITS = 16 * 1024;
const OPEN_TEXTS_MAX = 8;

export interface StepsPage {
  readonly runId: string;
  readonly shown: ShownSteps;
  readonly open: TextView | null;
  /** the finding that the page was opened at */
  readonly finding: Finding | null;
  readonly findings: readonly Finding[];
  readonly titleOf: (ruleId: string) => string;
  /** the texts of all steps of the page are shown, instead of one step beside the tree */
  readonly isList: boolean;
  /** the workspace redacts: texts are not shown */
  readonly isRedacted: boolean;
}

/** The link to a part of a text; reading continues at `at`. */
function partLink(
  { runId, open }: StepsPage,
  step: ShownStep,
  text: ShownText,
  { from, to, at }: { readonly from: number; readonly to: number; readonly at: number },
): string {
  const own = new URLSearchParams(
    step.open === text.index && open !== null && open.findingId !== null
      ? { finding: open.findingId }
      : { step: String(step.number), text: String(text.index) },
  );
  for (const [name, value] of Object.entries({ from, to, at })) own.set(name, String(value));
  if (open?.query) own.set('q', open.query);
  return `/app/runs/${runId}?${own}#${AT_ID}`;
}

/** One text; its match, or the text that is read, is open. */
export function textView(step: ShownStep, text: ShownText, data: StepsPage): Html {
  const { surface, length, start, marks } = text;
  const isOpen = step.open === text.index;
  const end = start + text.text.length;
  const before = {
    from: Math.max(0, start - MORE_UNITS),
    to: Math.min(end, start - MORE_UNITS + OPEN_UNITS_MAX),
    at: start,
  };
  const to = Math.min(length, end + MORE_UNITS);
  const after = { from: Math.max(start, to - OPEN_UNITS_MAX), to, at: end };
  const sought = isOpen ? (data.open?.at ?? null) : null;
  const at = sought === null ? null : sought - start;
  const name = surfaceLabel(surface);
  const isBegun = !data.isList && !text.isEarlier && step.texts.indexOf(text) < OPEN_TEXTS_MAX;
  const marking = { soughtId: data.finding?.id ?? null, at };
  const alike = step.texts.filter((one) => one.surface === surface);
  // Regions of one page have distinct names.
  const region = alike.length > 1 ? `${name} ${alike.indexOf(text) + 1}` : name;
  const label = data.isList ? `${region}, step ${step.number}` : region;
  const whole = html`<pre class="excerpt" tabindex="0" role="region" aria-label="${label}">${markedText(text.text, marks, marking)}</pre>`;
  const json = data.isList || text.text.length < length ? undefined : jsonOf(text.text);
  const isUnfolded = isOpen || marks.length > 0 || isBegun;
  return html`<details class="text"${isUnfolded && html` open`}><summary>${name}
<span class="soft">${count(length)} characters</span>${!isUnfolded && preview(text.text)}</summary>
${start > 0 && html`<p class="more"><a href="${partLink(data, step, text, before)}">Show more before</a> <span class="soft">${count(start)} characters</span></p>`}
${json === undefined ? whole : twoWays(whole, json, marks.length > 0 || isOpen)}
${end < length && html`<p class="more"><a href="${partLink(data, step, text, after)}">Show more after</a> <span class="soft">${count(length - end)} characters</span></p>`}</details>`;
}

/** The texts of a step: those that the model's call before it had too are folded. */
export function stepTexts(step: ShownStep, data: StepsPage): HtmlValue {
  const view = (text: ShownText): Html => textView(step, text, data);
  const { earlier, texts } = step;
  if (earlier === 0) return texts.map(view);
  const old = texts.filter(({ isEarlier }) => isEarlier);
  return html`${texts.filter(({ isEarlier }) => !isEarlier).map(view)}
<details class="earlier"><summary>${count(earlier)} earlier ${earlier === 1 ? 'message' : 'messages'} <span class="soft">sent again with this call</span></summary>${old.map(view)}</details>`;
}

const PREVIEW_UNITS = 160;

/** The beginning of something folded, on its line. */
export function preview(text: string): Html {
  const begin = text.slice(0, PREVIEW_UNITS).toWellFormed().replaceAll(/\s+/g, ' ');
  return html` <span class="preview">${seenText(begin)}</span>`;
}

/** A text of JSON as a tree and as it was sent, one of them folded. */
function twoWays(whole: Html, json: JsonValue, isMarked: boolean): Html {
  return isMarked
    ? html`${whole}<details><summary class="soft">Formatted</summary>${jsonView(json)}</details>`
    : html`${jsonView(json)}<details><summary class="soft">As sent</summary>${whole}</details>`;
}

export function leftOut(
  { outline, number, textsLeftOut: more }: ShownStep,
  data: StepsPage,
): HtmlValue {
  if (data.isRedacted) return null;
  const isSought = data.shown.sought === number;
  return [
    more > 0 && html`<p class="soft">${count(more)} more texts are not shown.</p>`,
    outline.isCut &&
      html`<p class="soft">This step is too large to show in full: only the beginning of each text is shown.
${!isSought && html`<a href="/app/runs/${data.runId}?step=${number}#step-${number}">Show more of this step</a>`}</p>`,
  ];
}

/** A finding at its step: where its match is, or the excerpt where the text is not shown. */
export function hitView(finding: Finding, step: ShownStep, data: StepsPage): Html {
  const { isRedacted, titleOf } = data;
  const isSought = data.finding?.id === finding.id;
  const mark = step.texts
    .flatMap(({ marks }) => marks)
    .find(({ findingId }) => findingId === finding.id);
  const isElsewhere = mark === undefined && !isRedacted;
  return html`<div class="hit"${isSought && isRedacted && html` id="${FOUND_ID}"`}><p>${severityBadge(finding.severity)}
<a href="/app/findings/${finding.id}">${titleOf(finding.ruleId)}</a> <span class="soft">in ${surfaceLabel(finding.surface)}</span>
${isElsewhere && !isSought && html`<a href="${findingLink(finding)}">Show in text</a>`}${mark !== undefined && isSought && html`<a href="#${FOUND_ID}">Show match</a>`}</p>
${mark !== undefined && mark.readAs !== null && html`<p class="soft">The rule matched the normalised text: <q class="read-as">${mark.readAs}</q></p>`}
${isElsewhere && isSought && finding.excerpt !== null && notInText(finding)}</div>`;
}

function notInText(finding: Finding): Html {
  return html`<p class="soft">The matched part of the text is not shown here. Excerpt of the finding:</p>
${excerptView(finding, true)}`;
}

/** JSON as a tree that folds without a script: one `details` per object or list, within a limit. */

/** Most members and elements of one tree; the text beside it has the rest. */
const NODES_MAX = 300;
/** Structures below this depth are written on one line. */
const DEPTH_MAX = 12;
/** A structure with more members is folded, and so is one below this depth. */
const OPEN_MEMBERS_MAX = 12;
const OPEN_DEPTH = 3;
const STRING_UNITS_MAX = 2000;
const NAME_UNITS_MAX = 256;

/** A longer text is not parsed. */
const TEXT_UNITS_MAX = 16 * 1024;

/** The object or list that a text is; undefined for any other text. */
export function jsonOf(text: string): JsonValue | undefined {
  if (text.length > TEXT_UNITS_MAX || !/^\s*[[{]/.test(text)) return undefined;
  return parsedJson(text);
}

interface Room {
  nodes: number;
}

function scalar(value: null | boolean | number | string): Html {
  if (typeof value !== 'string') {
    return html`<span class="j-${value === null ? 'null' : typeof value}">${String(value)}</span>`;
  }
  const rest = value.length - STRING_UNITS_MAX;
  return html`<span class="j-string">${seenText(value.slice(0, STRING_UNITS_MAX))}</span>${rest > 0 && html` <span class="soft">… ${count(rest)} more characters</span>`}`;
}

const sizeOf = (size: number, unit: string): string =>
  `${count(size)} ${unit}${size === 1 ? '' : 's'}`;

function node(name: HtmlValue, value: JsonValue, depth: number, room: Room): Html {
  room.nodes -= 1;
  if (typeof value !== 'object' || value === null) {
    return html`<div class="j-leaf">${name}${scalar(value)}</div>`;
  }
  const isList = Array.isArray(value);
  const members: readonly (readonly [string, JsonValue])[] = isList
    ? value.map((one, at) => [String(at), one] as const)
    : Object.entries(value);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (members.length === 0) return html`<div class="j-leaf">${name}${open}${close}</div>`;
  if (depth >= DEPTH_MAX) return html`<div class="j-leaf">${name}${JSON.stringify(value)}</div>`;
  const inside: Html[] = [];
  for (const [key, one] of members) {
    if (room.nodes <= 0) break;
    const label = html`<span class="j-key">${key.slice(0, NAME_UNITS_MAX)}</span>: `;
    inside.push(node(label, one, depth + 1, room));
  }
  const rest = members.length - inside.length;
  const isOpen = depth < OPEN_DEPTH && members.length <= OPEN_MEMBERS_MAX;
  return html`<details${isOpen && html` open`}><summary>${name}<span class="soft">${open} ${sizeOf(members.length, isList ? 'item' : 'key')} ${close}</span></summary>
<div class="j-in">${inside}${rest > 0 && html`<p class="soft">${count(rest)} more are not shown here.</p>`}</div></details>`;
}

/** A tree of a value; its outermost level is open. */
export function jsonView(value: JsonValue): Html {
  return html`<div class="json">${node(null, value, 0, { nodes: NODES_MAX })}</div>`;
}
