/**
 * How much of a run was checked, in words: the column of the list, the line of a run's page, and the
 * text for a run without findings. Nothing here may sound as if more was checked than was.
 */
import { type CheckLimit, checkOf, lateSteps } from '../../model/run-check.ts';
import type { RunSummary } from '../../model/runs.ts';
import { surfaceLabel, type TextGap } from '../../model/steps.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { count, many, words } from './format.ts';

const KIB = 1024;

const GAPS: Readonly<Record<TextGap, string>> = {
  cut_by_sender: 'The sender cut texts at its own maximum length',
  dropped_by_sender: 'The sender dropped attributes or events beyond its limits',
  stored_elsewhere: 'The sender stores texts elsewhere and sent references',
  withheld_by_sender: 'The sender withheld texts',
};

/** `2 blocks could not be read, with 31 steps`; none where everything was read */
export function unreadableText({ unreadable }: Pick<RunSummary, 'unreadable'>): string[] {
  if (unreadable === undefined || unreadable.blocks === 0) return [];
  const { blocks, steps } = unreadable;
  return [`${many(blocks, 'block')} could not be read, with ${many(steps, 'step')}`];
}

/** `64 KiB`, `1,000 bytes` */
function capOf(bytes: number): string {
  return bytes % KIB === 0 ? `${count(bytes / KIB)} KiB` : `${count(bytes)} bytes`;
}

export function limitsOf(run: RunSummary): string[] {
  const { truncatedTexts, textCapBytes, unreadSteps, unparsedValues, textGaps } = run;
  const { unreadTexts, unreadKeys, unknownRoles } = run;
  const sentences: Readonly<Record<CheckLimit, () => readonly string[]>> = {
    late_steps: () => [
      `Not checked${run.lateWaits === true ? ' yet' : ''}: ${many(lateSteps(run), 'step')} that arrived after the evaluation`,
    ],
    unread_steps: () => [
      `Not checked, or not in full: ${many(unreadSteps ?? 0, 'step')} beyond the limits of one evaluation`,
    ],
    unreadable_blocks: () => unreadableText(run),
    truncated_texts: () => [
      `Not checked, or not in full: ${many(truncatedTexts ?? 0, 'text')} beyond the ${capOf(textCapBytes ?? 0)} of each surface of a step`,
    ],
    unparsed_values: () => [
      `Checked as plain text, because too large or too deeply nested to parse: ${many(unparsedValues ?? 0, 'value')}`,
    ],
    text_gaps: () => (textGaps ?? []).map((gap) => GAPS[gap]),
    unread_texts: () => [
      `Not checked: ${many(unreadTexts ?? 0, 'attribute')} with text under keys that are not known: ${(unreadKeys ?? []).join(', ')}`,
    ],
    unknown_roles: () => [
      `Checked as user input or agent answer, and as tool result, because their roles are not known: messages of ${(unknownRoles ?? []).join(', ')}`,
    ],
  };
  return checkOf(run).limits.flatMap((limit) => sentences[limit]());
}

/** `truncated texts, cut by sender` */
function shortLimits(run: RunSummary): string {
  const gaps: readonly string[] = run.textGaps ?? [];
  const names = checkOf(run).limits.flatMap((limit): readonly string[] =>
    limit === 'text_gaps' ? gaps : [limit],
  );
  return names.map(words).join(', ');
}

export function checkedCell(run: RunSummary): Html {
  const texts = many(run.texts ?? 0, 'text');
  switch (checkOf(run).checked) {
    case 'pending':
      return html`<span class="soft">not yet</span>`;
    case 'failed':
      return html`<span class="critical">evaluation failed</span>`;
    case 'nothing':
      return html`<span class="medium">nothing</span>`;
    case 'tool_names_only':
      return html`<span class="medium">only tool names</span>`;
    case 'partly':
      return html`${texts} checked <span class="medium below">not everything: ${shortLimits(run)}</span>`;
    case 'fully':
      return html`${texts} checked`;
  }
}

const SWITCH_ON = html`<a href="/docs/instrumentations">how to send text</a>`;

/** How to send text; empty where there is text, or steps were not read, which may have some. */
function hintOf({ captureHint, unreadSteps, unreadTexts }: RunSummary): HtmlValue {
  if ((unreadSteps ?? 0) > 0 || (unreadTexts ?? 0) > 0) return null;
  return captureHint === null
    ? html` See ${SWITCH_ON}.`
    : html` To send text: <code>${captureHint}</code> (${SWITCH_ON}).`;
}

function surfacesOf({ surfaces }: RunSummary): string {
  return (surfaces ?? []).map(surfaceLabel).join(', ');
}

/** `3 late steps, evaluated at 2026-11-20T12:00:00.000Z` */
function lateLine({ lateEvaluatedAt, lateEvaluatedSteps }: RunSummary): HtmlValue {
  if (lateEvaluatedAt == null) return null;
  const iso = lateEvaluatedAt.toISOString();
  return html` ${many(lateEvaluatedSteps ?? 0, 'late step')}, evaluated at <time datetime="${iso}">${iso}</time>.`;
}

export function checkedLine(run: RunSummary): HtmlValue {
  return html`${wholeLine(run)}${lateLine(run)}`;
}

function wholeLine(run: RunSummary): HtmlValue {
  const texts = many(run.texts ?? 0, 'text');
  const limits = limitsOf(run);
  const but =
    limits.length > 0 &&
    html`<ul class="plain">${limits.map((one) => html`<li>${one}.</li>`)}</ul>`;
  switch (checkOf(run).checked) {
    case 'pending':
      return 'nothing yet';
    case 'failed':
      if (lateSteps(run) > 0) return html`${texts}. The evaluation of late steps failed:${but}`;
      return run.severities.length === 0
        ? 'not evaluated: every attempt failed'
        : 'only step by step: every attempt to evaluate the whole run failed';
    case 'nothing':
      return html`nothing: no text was found.${hintOf(run)}${but}`;
    case 'tool_names_only':
      return html`only tool names (${texts}).${hintOf(run)}${but}`;
    case 'partly':
      return html`${texts}: ${surfacesOf(run)}. Not everything:${but}${run.captureHint !== null && hintOf(run)}`;
    case 'fully':
      return `${texts}: ${surfacesOf(run)}`;
  }
}

export function withoutFindings(run: RunSummary): Html {
  const late = lateLine(run);
  return html`${inWhole(run)}${late !== null && html`<p class="soft">${late}</p>`}`;
}

function inWhole(run: RunSummary): Html {
  const texts = many(run.texts ?? 0, 'text');
  switch (checkOf(run).checked) {
    case 'pending':
      return html`<p class="soft">Not evaluated yet.</p>`;
    case 'failed':
      return lateSteps(run) === 0
        ? html`<p class="notice error">This run could not be evaluated: every attempt failed. It may contain attacks that were not found.</p>`
        : html`<p class="notice error">Steps that arrived after the evaluation could not be evaluated: every attempt failed. They may contain attacks that were not found.</p>`;
    case 'nothing':
      return html`<p class="notice">Nothing was checked, so no rule could match.${limitSentences(run)}${hintOf(run)}</p>`;
    case 'tool_names_only':
      return html`<p class="notice">Only tool names were checked, and no rule matched them. The run has no other text.${limitSentences(run)}${hintOf(run)}</p>`;
    case 'partly':
      return html`<p class="notice">No rule matched the ${texts} that ${run.texts === 1 ? 'was' : 'were'} checked, but not everything was checked.${limitSentences(run)}${run.captureHint !== null && hintOf(run)}</p>`;
    case 'fully':
      return html`<p class="soft">No rule matched. ${texts} checked: ${surfacesOf(run)}.</p>`;
  }
}

function limitSentences(run: RunSummary): string {
  return limitsOf(run)
    .map((one) => ` ${one}.`)
    .join('');
}
