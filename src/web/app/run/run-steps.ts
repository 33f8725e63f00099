/** The steps of a run: its tree beside one of them, or the texts of a page of them. */
import type { ShownStep, ShownSteps } from '../../../model/run-page.ts';
import type {
  ShownAttributes,
  ShownError,
  ShownEvent,
  ShownValue,
  StepDetails,
} from '../../../model/shown/step-details.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { findingLink } from '../findings.ts';
import { count, duration, nanoMoment } from '../format.ts';
import { strip } from '../shell.ts';
import { excerptView, FOUND_ID, ROW_ID, seenText } from '../text.ts';
import { bar, treeView } from './run-tree.ts';
import {
  cacheText,
  costText,
  errorBadge,
  kindTag,
  msBetween,
  stepTitle,
  tokensText,
  when,
} from './step-head.ts';
import {
  hitView,
  jsonOf,
  jsonView,
  leftOut,
  preview,
  type StepsPage,
  stepTexts,
  textView,
} from './step-texts.ts';

/** Pages on either side of the current one that have a link. */
const NEAR_PAGES = 3;

function stepView(step: ShownStep, data: StepsPage): Html {
  const { outline, number, depth } = step;
  const own = data.findings.filter(({ id }) => step.findings.includes(id));
  return html`<li class="step in-${depth}${own.length > 0 && ' found'}" id="step-${number}" tabindex="-1">
<div class="step-head"><span class="step-number soft">${number}</span>${kindTag(outline)}
<h3><a href="/app/runs/${data.runId}?step=${number}#step-${number}">${stepTitle(outline)}</a></h3>
${errorBadge(outline)}
${when(outline, data.shown)}</div>
${bar(step, data.shown)}
${own.map((finding) => hitView(finding, step, data))}
${step.texts.map((text) => textView(step, text, data))}${leftOut(step, data)}</li>
`;
}

const goTo = (runId: string, all: number): Html =>
  html`<form method="get" action="/app/runs/${runId}"><label>Step <input type="number" name="step" min="1" max="${all}" required></label> <button class="quiet">Go</button></form>`;

/** Links to the pages of texts, with a field for the number of a step, which the tree has above it. */
function pages({ runId, shown, isList }: StepsPage, label: string): HtmlValue {
  const { steps, count: all, pageSteps } = shown;
  const last = Math.ceil(all / pageSteps);
  if (last <= 1) return null;
  if (!isList) return null;
  const current = Math.ceil((steps[0]?.number ?? 1) / pageSteps);
  const link = (page: number, text: HtmlValue, rel: string | null = null) =>
    html`<a class="button quiet" href="/app/runs/${runId}?page=${page}&amp;view=texts#steps"${rel !== null && html` rel="${rel}"`}${page === current && html` aria-current="page"`}>${text}</a>`;
  const near = Array.from({ length: last }, (_, index) => index + 1).filter(
    (page) => page === 1 || page === last || Math.abs(page - current) <= NEAR_PAGES,
  );
  return html`<nav class="pager" aria-label="${label}">
${current > 1 && link(current - 1, 'Previous', 'prev')}
${near.map((page, index) => [page - (near[index - 1] ?? 0) > 1 && html`<span class="soft">…</span>`, link(page, page)])}
${current < last && link(current + 1, 'Next', 'next')}
${goTo(runId, all)}</nav>`;
}

/** The finding that the page was opened at, where its step is not on the page. */
function lostFinding(data: StepsPage): HtmlValue {
  const { finding, shown, isRedacted } = data;
  if (finding === null || shown.steps.some(({ findings }) => findings.includes(finding.id))) {
    return null;
  }
  return html`<div class="notice"${(isRedacted || finding.excerpt === null) && html` id="${FOUND_ID}"`}><p>The step of this finding is no longer stored.</p>
${finding.excerpt !== null && excerptView(finding, true)}</div>`;
}

/** The step that is shown beside the tree: the one that was sought, else the first. */
function currentStep(shown: ShownSteps): ShownStep | undefined {
  return shown.steps.find(({ number }) => number === shown.sought) ?? shown.steps[0];
}

function twoPanes(data: StepsPage): HtmlValue {
  const { runId, shown, findings } = data;
  const current = currentStep(shown);
  return html`<div class="panes">
${treeView({ runId, shown, tree: shown.tree ?? [], findings, current: current?.number ?? null })}
${current !== undefined && stepPane(current, data)}</div>`;
}

function views({ runId, shown, isList }: StepsPage): Html {
  const number = isList ? shown.steps[0]?.number : currentStep(shown)?.number;
  const page = Math.ceil((number ?? 1) / shown.pageSteps);
  const at = page === 1 ? '' : `page=${page}`;
  const link = (label: string, query: string, isCurrent: boolean) =>
    html`<a href="/app/runs/${runId}${query !== '' && `?${query}`}#steps"${isCurrent && html` aria-current="true"`}>${label}</a>`;
  const texts = at === '' ? 'view=texts' : `${at}&view=texts`;
  return html`<nav class="views" aria-label="View">${link('Timeline', at, !isList)} ${link('All texts', texts, isList)}</nav>`;
}

/** @param unreadable how many of them are in blocks that could not be read */
export function stepsView(data: StepsPage, total: number, unreadable: number): Html {
  const { shown, isList } = data;
  const { steps, count: all } = shown;
  const others = total - unreadable - all;
  const isPart = isList && all > steps.length;
  const first = steps[0]?.number ?? 0;
  const last = steps.at(-1)?.number ?? 0;
  const shownSteps = isList
    ? html`<ol class="steps">${steps.map((step) => stepView(step, data))}</ol>`
    : twoPanes(data);
  return html`<section data-steps><div class="steps-head"><h2 id="steps">Steps <span class="soft">${isPart ? `${count(first)} to ${count(last)} of ${count(all)}` : count(all)}</span></h2>
${!isList && all > shown.pageSteps && goTo(data.runId, all)}${steps.length > 0 && views(data)}</div>
${lostFinding(data)}
${pages(data, 'Pages of steps')}
${
  steps.length === 0
    ? html`<p class="soft">The steps of this run ${unreadable > 0 ? 'could not be read' : 'are no longer stored'}.</p>`
    : shownSteps
}
${isList && pages(data, 'Pages of steps, below')}
${steps.length > 0 && others > 0 && html`<p class="notice">${count(others)} more steps are not shown.</p>`}</section>`;
}

const link = (runId: string, number: number): string =>
  `/app/runs/${runId}?step=${number}#step-${number}`;

/** The steps and findings before and after, also without a script. */
function ways(step: ShownStep, data: StepsPage): Html {
  const { runId, shown, findings, finding } = data;
  const { number } = step;
  const inOrder = [...findings].sort((a, b) => a.place.step - b.place.step);
  const at = inOrder.findIndex(({ id }) => id === finding?.id);
  const after = (one: (typeof inOrder)[number]): boolean => one.place.step >= number;
  const next = at === -1 ? inOrder.find(after) : inOrder[at + 1];
  const previous =
    at === -1 ? inOrder.findLast((one) => !after(one)) : at > 0 ? inOrder[at - 1] : undefined;
  return html`<nav class="ways" aria-label="Steps and findings">
${number > 1 && html`<a href="${link(runId, number - 1)}" rel="prev">Previous step</a>`}
${number < shown.count && html`<a href="${link(runId, number + 1)}" rel="next">Next step</a>`}
${previous !== undefined && html`<a href="${findingLink(previous)}" data-key="p">Previous finding</a>`}
${next !== undefined && html`<a href="${findingLink(next)}" data-key="n">${at === -1 && previous === undefined ? 'First finding' : 'Next finding'}</a>`}
<a href="#${ROW_ID}">Show in timeline</a>
<a href="${finding === null ? link(runId, number) : findingLink(finding)}" data-copy-link>Link to this ${finding === null ? 'step' : 'finding'}</a></nav>`;
}

function value({ text, length }: ShownValue): Html {
  const json = text.length === length ? jsonOf(text) : undefined;
  if (json !== undefined) return jsonView(json);
  return html`${seenText(text)}${length > text.length && html` <span class="soft">… ${count(length - text.length)} more characters</span>`}`;
}

const LONG_UNITS = 300;

function attributeTable({ shown, leftOut: rest }: ShownAttributes): Html {
  return html`<dl class="attributes">${shown.map(
    ({ key, value: one }) =>
      html`<dt>${key}</dt><dd>${one.length > LONG_UNITS ? html`<details><summary class="soft">${count(one.length)} characters${preview(one.text)}</summary>${value(one)}</details>` : value(one)}</dd>`,
  )}</dl>${rest > 0 && html`<p class="soft">${count(rest)} more attributes are not shown.</p>`}`;
}

function errorView({ type, message, stack }: ShownError): Html {
  return html`<div class="failure"><p><strong>${type ?? 'Error'}</strong>${message !== null && html`: ${seenText(message)}`}</p>
${stack !== null && html`<details><summary>Stack trace</summary><pre tabindex="0" role="region" aria-label="Stack trace">${seenText(stack)}</pre></details>`}</div>`;
}

function eventView({ name, timeUnixNano, attributes }: ShownEvent, startUnixNano: string): Html {
  const at = timeUnixNano === null ? '' : duration(msBetween(startUnixNano, timeUnixNano));
  const title = html`<code>${name || '(no name)'}</code> <span class="soft">${at !== '' && `at ${at}`}</span>`;
  if (attributes.shown.length === 0) return html`<p>${title}</p>`;
  return html`<details><summary>${title}</summary>${attributeTable(attributes)}</details>`;
}

function detailsView(details: StepDetails, { shown }: StepsPage): Html {
  const { attributes, events, eventsLeftOut, body } = details;
  const all = attributes.shown.length + attributes.leftOut;
  return html`${body !== null && html`<details open><summary>Body</summary><div class="value">${value(body)}</div></details>`}
${
  events.length > 0 &&
  html`<details class="events"><summary>Events <span class="soft">${count(events.length + eventsLeftOut)}</span></summary>
<div class="value">${events.map((event) => eventView(event, shown.startUnixNano))}
${eventsLeftOut > 0 && html`<p class="soft">${count(eventsLeftOut)} more events are not shown.</p>`}</div></details>`
}
${all > 0 && html`<details><summary>Attributes <span class="soft">${count(all)}</span></summary><div class="value">${attributeTable(attributes)}</div></details>`}`;
}

function stepFacts(step: ShownStep, { shown }: StepsPage): Html {
  const { outline, usage, model } = step;
  const begins = msBetween(shown.startUnixNano, outline.startUnixNano);
  const took = msBetween(outline.startUnixNano, outline.endUnixNano);
  const scope = step.details?.scopeName;
  const shownFacts: readonly (readonly [string, HtmlValue])[] = [
    [
      'Start',
      html`${nanoMoment(outline.startUnixNano)} <span class="soft">+${duration(begins)}</span>`,
    ],
    ['Duration', outline.source === 'log' ? null : duration(took)],
    ['Model', model],
    ['Tokens', tokensText(usage)],
    ['Cache, reasoning', cacheText(usage)],
    ['Cost', costText(usage.costUsd)],
    ['Service', outline.serviceName],
    ['Span', outline.spanId === null ? null : html`<code>${outline.spanId}</code>`],
    ['Instrumentation', scope || null],
  ];
  return strip(shownFacts);
}

function stepPane(step: ShownStep, data: StepsPage): Html {
  const { outline, number } = step;
  const own = data.findings.filter(({ id }) => step.findings.includes(id));
  return html`<section class="step pane${own.length > 0 && ' found'}" id="step-${number}" data-pane tabindex="-1" aria-label="Step ${number}">
${ways(step, data)}
<div class="step-head">${kindTag(outline)}<h3>${stepTitle(outline)}</h3>${errorBadge(outline)}<span class="soft">step ${count(number)}</span></div>
${stepFacts(step, data)}
${step.details?.errors.map(errorView)}
${own.map((finding) => hitView(finding, step, data))}
${stepTexts(step, data)}${leftOut(step, data)}
${step.details !== null && detailsView(step.details, data)}</section>`;
}
