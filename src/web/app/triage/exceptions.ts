/** Exceptions: the list of a workspace, and the form that makes one from a finding. */
import {
  EXCEPTION_DAYS_DEFAULT,
  EXCEPTION_DAYS_MAX,
  EXCEPTION_PARTS,
  type ExceptionChoice,
  type ExceptionCoverage,
  type ExceptionOffer,
  type ExceptionPart,
  type FindingException,
  type Hidden,
  REASON_CHARS_MAX,
} from '../../../model/exceptions.ts';
import type { Finding } from '../../../model/findings.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { findingPath } from '../findings/finding-filters.ts';
import { count, type Moment, term, time } from '../format.ts';
import {
  appPage,
  confirmed,
  crumb,
  empty,
  type Look,
  listTable,
  NUMBER,
  type Viewer,
  writeForm,
  writeTo,
} from '../shell.ts';
import { excerptView } from '../text.ts';

const PATH = '/app/exceptions';
export interface ExceptionsPage {
  /** only its exceptions are shown; undefined for all rules */
  readonly ruleId?: string | undefined;
  readonly exceptions: readonly FindingException[];
  readonly titleOf: (ruleId: string) => string;
  readonly nowMs: number;
}

export interface ExceptionFormPage {
  readonly finding: Pick<Finding, 'id' | 'ruleId' | 'excerpt' | 'place'>;
  readonly title: string;
  readonly list: string | undefined;
  readonly offer: ExceptionOffer;
}

function day(at: Moment): Html {
  const iso = at.toISOString();
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 10)}</time>`;
}

const NAMED_PARTS = ['tool', 'agent', 'service'] as const;

/** The parts of an exception, for example `matched text, agent shopper`. */
export function coverageOf(coverage: ExceptionCoverage): Html {
  const parts = NAMED_PARTS.flatMap((part) => {
    const name = coverage[part];
    return name === null ? [] : [name === '' ? html`no ${part}` : html`${part} <b>${name}</b>`];
  });
  const all = coverage.text ? [html`matched text`, ...parts] : parts;
  return html`${all.map((part, index) => html`${index > 0 && ', '}${part}`)}`;
}

const countOf = ({ count: findings, isCut }: Hidden): string =>
  `${isCut ? 'at least ' : ''}${count(findings)}`;

function status(exception: FindingException, viewer: Viewer): HtmlValue {
  const { id, isActive, endedAt, endedBy, expiresAt } = exception;
  if (endedAt !== null)
    return html`ended ${day(endedAt)} <span class="soft below">${endedBy}</span>`;
  if (!isActive) return html`expired ${day(expiresAt)}`;
  const end =
    viewer.isAdmin &&
    confirmed(
      html`End<span class="hidden"> the exception of ${exception.ruleId}</span>`,
      'The findings that it hides appear in the list again, and new ones raise alerts.',
      writeForm(
        writeTo(`${PATH}/${id}/end`, viewer),
        html`<button class="danger">End now</button>`,
      ),
    );
  return html`<div>until ${day(expiresAt)} ${end}</div>`;
}

/** The findings of its rule, agent and service that exceptions hide; those of one that ended show again. */
function hiddenLink({ ruleId, agent, service, isActive, hidden }: FindingException): HtmlValue {
  if (hidden.count === 0) return countOf(hidden);
  const own = new URLSearchParams({ rule_id: ruleId, state: isActive ? 'excepted' : 'all' });
  // In quotes a filter finds only the whole name.
  if (agent) own.set('agent', `"${agent}"`);
  if (service) own.set('service', `"${service}"`);
  return html`<a href="/app/findings?${own.toString()}">${countOf(hidden)}</a>`;
}

function table({ exceptions, titleOf, nowMs }: ExceptionsPage, viewer: Viewer): Html {
  const title = ({ ruleId }: FindingException) =>
    html`<a href="/app/findings?rule_id=${ruleId}">${titleOf(ruleId)}</a> <span class="soft below">${ruleId}</span>`;
  const created = ({ createdAt, createdBy }: FindingException) =>
    html`<div>${time(createdAt, nowMs)} <span class="soft below">${createdBy}</span></div>`;
  return listTable('Exceptions', exceptions, [
    ['Rule', title],
    ['For', (one) => html`<div>${coverageOf(one)}</div>`],
    ['Reason', ({ reason }) => reason],
    ['Created', created],
    ['Hides', hiddenLink, NUMBER],
    ['Last', ({ hidden }) => time(hidden.last, nowMs)],
    ['Status', (one) => status(one, viewer)],
  ]);
}

export function exceptionsPage(look: Look, viewer: Viewer, data: ExceptionsPage): Html {
  const { exceptions, ruleId, titleOf } = data;
  return appPage(look, viewer, {
    title: 'Exceptions',
    current: '/app/findings',
    main: html`${crumb('/app/findings', 'Findings')}
<h1>Exceptions</h1>
<p class="lead">Active ${term('exception', 'exceptions')} hide expected findings from the list and from alerts. Runs are still evaluated.</p>
${
  ruleId !== undefined &&
  html`<p>Of <a href="/app/rules/${ruleId}">${titleOf(ruleId)}</a> <span class="soft">${ruleId}</span>. <a href="${PATH}">Show exceptions of all rules</a></p>`
}${
  exceptions.length === 0
    ? empty(
        'No exceptions',
        html`<p>Open a <a href="/app/findings">finding</a> that is expected and choose <b>Add exception</b>.</p>`,
      )
    : table(data, viewer)
}`,
  });
}

const PART_LABELS: Readonly<Record<ExceptionPart, string>> = {
  text: 'Matched text',
  tool: 'Tool',
  agent: 'Agent',
  service: 'Service',
};

function partField(part: ExceptionPart, { coverage }: ExceptionOffer): HtmlValue {
  const value = part === 'text' ? coverage.text || null : coverage[part];
  if (value === null) return null;
  const name = value === '' ? html`<i>none</i>` : value !== true && html`<b>${value}</b>`;
  return html`<label class="choice"><input type="checkbox" name="${part}" value="yes" checked>
<span>${PART_LABELS[part]} ${name}</span></label>
`;
}

/** Says how many findings a combination hides; the style sheet shows the line of the parts that are chosen. */
function hides({ parts, hidden, ofOtherAgents }: ExceptionChoice): Html {
  const others =
    ofOtherAgents > 0 &&
    html` <strong class="warning">Also hides ${count(ofOtherAgents)} ${ofOtherAgents === 1 ? 'finding' : 'findings'} of other agents.</strong>`;
  return html`<span class="hides${parts.map((part) => ` of-${part}`)}"><span class="soft">Same ${parts.map((part, index) => html`${index > 0 && ', '}${PART_LABELS[part].toLowerCase()}`)}:</span>
hides ${countOf(hidden)} ${hidden.count === 1 ? 'finding' : 'findings'} now.${others}</span>
`;
}

/** The finding, where it was opened from. */
const findingOf = ({ finding: { id }, list }: ExceptionFormPage): string =>
  list === undefined ? `/app/findings/${id}` : findingPath(id, list);

function form(data: ExceptionFormPage, viewer: Viewer): Html {
  const { finding, list, offer } = data;
  const fields = html`${list !== undefined && html`<input type="hidden" name="list" value="${list}">`}<fieldset><legend>Hide findings of this rule that have the same</legend>
${EXCEPTION_PARTS.map((part) => partField(part, offer))}</fieldset>
<p><output>${offer.choices.map(hides)}</output></p>
<label>Reason<textarea name="reason" rows="3" required autofocus maxlength="${REASON_CHARS_MAX}"></textarea></label>
<label class="days">Expires in (days)<input name="days" type="number" min="1" max="${EXCEPTION_DAYS_MAX}" value="${EXCEPTION_DAYS_DEFAULT}" required></label>
<div class="buttons"><button>Add exception</button> <a class="button quiet" href="${findingOf(data)}">Cancel</a></div>`;
  // Without `data-stay`: the answer is the page of the finding.
  return html`<form class="exception" method="post" action="${writeTo(`/app/findings/${finding.id}/exception`, viewer)}">${fields}</form>`;
}

export function exceptionFormPage(look: Look, viewer: Viewer, data: ExceptionFormPage): Html {
  const { finding, title, offer } = data;
  return appPage(look, viewer, {
    title: 'Add exception',
    current: '/app/findings',
    main: html`${crumb(findingOf(data), title)}
<h1>Add exception</h1>
<p class="lead">For rule ${finding.ruleId}, ${title}. Findings are hidden from the list and raise no alerts until the ${term('exception', 'exception')} expires, if exceptions cover every match of the rule in their run.</p>
${finding.excerpt !== null && excerptView(finding, false)}
<section class="panel">${
      offer.choices.length === 0
        ? html`<p>The run names no agent or service, and the match shown represents others that were not kept.
There is nothing to make an exception for. You can switch the rule off on <a href="/app/rules/${finding.ruleId}">its page</a>.</p>`
        : form(data, viewer)
    }</section>`,
  });
}
