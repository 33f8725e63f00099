/** One step in full, beside the tree: errors, findings, texts, attributes, events. */
import type { ShownStep } from '../../../model/run-page.ts';
import type {
  ShownAttributes,
  ShownError,
  ShownEvent,
  ShownValue,
  StepDetails,
} from '../../../model/step-details.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { findingLink } from '../findings.ts';
import { count, duration, nanoMoment } from '../format.ts';
import { strip } from '../shell.ts';
import { ROW_ID, seenText } from '../text.ts';
import { jsonOf, jsonView } from './json-view.ts';
import { costText, errorBadge, kindTag, msBetween, stepTitle, tokensText } from './step-head.ts';
import { hitView, leftOut, preview, type StepsPage, stepTexts } from './step-texts.ts';

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
    ['Cost', costText(usage.costUsd)],
    ['Service', outline.serviceName],
    ['Span', outline.spanId === null ? null : html`<code>${outline.spanId}</code>`],
    ['Instrumentation', scope || null],
  ];
  return strip(shownFacts);
}

export function stepPane(step: ShownStep, data: StepsPage): Html {
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
