/** Exceptions: the list of a workspace, and the form that makes one from a finding. */
import {
  EXCEPTION_DAYS_DEFAULT,
  EXCEPTION_DAYS_MAX,
  type ExceptionChoice,
  type ExceptionScope,
  type FindingException,
  type Hidden,
  REASON_CHARS_MAX,
} from '../../../model/exceptions.ts';
import type { Hex16 } from '../../../model/json.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { findingPath } from '../findings/list-address.ts';
import { count, type Moment, term, time } from '../format.ts';
import {
  appPage,
  confirmed,
  crumb,
  empty,
  type Look,
  scrolling,
  type Viewer,
  writeForm,
  writeTo,
} from '../shell.ts';

const PATH = '/app/exceptions';
const SCOPE_LABELS: Readonly<Record<ExceptionScope, string>> = {
  match: 'This exact text, only in the same tool, agent and service',
  text: 'This exact text, anywhere',
  tool: 'Tool',
  agent: 'Agent',
  service: 'Service',
};

export interface ExceptionsPage {
  /** only its exceptions are shown; undefined for all rules */
  readonly ruleId?: string | undefined;
  readonly exceptions: readonly FindingException[];
  readonly titleOf: (ruleId: string) => string;
  readonly nowMs: number;
}

export interface ExceptionFormPage {
  readonly findingId: Hex16;
  readonly ruleId: string;
  readonly title: string;
  /** of the list that the finding was opened from */
  readonly list: string | undefined;
  /** the match that the exception is made from; null when the workspace redacts */
  readonly excerpt: string | null;
  readonly choices: readonly ExceptionChoice[];
}

type Cover = Pick<FindingException, 'scope' | 'name' | 'agent' | 'service' | 'tool'>;

function day(at: Moment): Html {
  const iso = at.toISOString();
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 10)}</time>`;
}

/** The scope of an exception, for example `agent shopper`. */
export function scopeOf(exception: Cover): Html {
  const { scope, name } = exception;
  if (scope === 'match') {
    const beside = (['tool', 'agent', 'service'] as const).flatMap((of) => {
      const value = exception[of];
      return value == null ? [] : [html`, ${of} <b>${value}</b>`];
    });
    return html`exact text${beside}`;
  }
  if (name === null) return html`exact text, anywhere`;
  return html`${scope} <b>${name}</b>`;
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

/** The findings of its rule that exceptions hide, of its agent or service alone; those of one that ended show again. */
function hiddenLink({ ruleId, scope, name, isActive, hidden }: FindingException): HtmlValue {
  if (hidden.count === 0) return countOf(hidden);
  const own = new URLSearchParams({ rule_id: ruleId, state: isActive ? 'excepted' : 'all' });
  if (name !== null && (scope === 'agent' || scope === 'service')) own.set(scope, name);
  return html`<a href="/app/findings?${own.toString()}">${countOf(hidden)}</a>`;
}

function row(
  exception: FindingException,
  { titleOf, nowMs }: ExceptionsPage,
  viewer: Viewer,
): Html {
  const { ruleId, hidden, reason, createdBy, createdAt } = exception;
  return html`<tr><td data-label="Rule"><a href="/app/findings?rule_id=${ruleId}">${titleOf(ruleId)}</a> <span class="soft below">${ruleId}</span></td>
<td data-label="For"><div>${scopeOf(exception)}</div></td>
<td data-label="Reason">${reason}</td>
<td data-label="Created"><div>${time(createdAt, nowMs)} <span class="soft below">${createdBy}</span></div></td>
<td data-label="Hides" class="number">${hiddenLink(exception)}</td>
<td data-label="Last">${time(hidden.last, nowMs)}</td>
<td data-label="Status">${status(exception, viewer)}</td></tr>
`;
}

export function exceptionsPage(look: Look, viewer: Viewer, data: ExceptionsPage): Html {
  const { exceptions, ruleId, titleOf } = data;
  const table = html`<table class="stack" aria-label="Exceptions"><thead><tr><th scope="col">Rule</th><th scope="col">For</th>
<th scope="col">Reason</th><th scope="col">Created</th><th scope="col" class="number">Hides</th><th scope="col">Last</th><th scope="col">Status</th></tr></thead>
<tbody>${exceptions.map((one) => row(one, data, viewer))}</tbody></table>`;
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
    : scrolling('Exceptions', table)
}`,
  });
}

function choice({ scope, name, hidden, ofOtherAgents }: ExceptionChoice, isFirst: boolean): Html {
  const findings = `hides ${countOf(hidden)} ${hidden.count === 1 ? 'finding' : 'findings'} now`;
  const others =
    ofOtherAgents > 0 &&
    html`<span class="warning">Also hides ${count(ofOtherAgents)} ${ofOtherAgents === 1 ? 'finding' : 'findings'} of other agents.</span>`;
  return html`<label class="choice"><input type="radio" name="scope" value="${scope}" required${isFirst && html` checked`}>
<span>${SCOPE_LABELS[scope]}${name !== null && html` <b>${name}</b>`} <span class="soft">${findings}</span> ${others}</span></label>
`;
}

/** The finding, where it was opened from. */
const findingOf = ({ findingId, list }: ExceptionFormPage): string =>
  list === undefined ? `/app/findings/${findingId}` : findingPath(findingId, list);

function form(data: ExceptionFormPage, viewer: Viewer): Html {
  const { findingId, list, choices } = data;
  const fields = html`${list !== undefined && html`<input type="hidden" name="list" value="${list}">`}<fieldset><legend>Hide findings of this rule for</legend>
${choices.map((one, index) => choice(one, index === 0))}</fieldset>
<label>Reason<textarea name="reason" rows="3" required maxlength="${REASON_CHARS_MAX}"></textarea></label>
<label class="days">Expires in (days)<input name="days" type="number" min="1" max="${EXCEPTION_DAYS_MAX}" value="${EXCEPTION_DAYS_DEFAULT}" required></label>
<div class="buttons"><button>Add exception</button> <a class="button quiet" href="${findingOf(data)}">Cancel</a></div>`;
  // Without `data-stay`: the answer is the page of the finding.
  return html`<form class="exception" method="post" action="${writeTo(`/app/findings/${findingId}/exception`, viewer)}">${fields}</form>`;
}

export function exceptionFormPage(look: Look, viewer: Viewer, data: ExceptionFormPage): Html {
  const { ruleId, title, choices } = data;
  return appPage(look, viewer, {
    title: 'Add exception',
    current: '/app/findings',
    main: html`${crumb(findingOf(data), title)}
<h1>Add exception</h1>
<p class="lead">For rule ${ruleId}, ${title}. Findings are hidden from the list and raise no alerts until the ${term('exception', 'exception')} expires, if exceptions cover every match of the rule in their run.</p>
${data.excerpt !== null && html`<pre class="excerpt" tabindex="0" role="region" aria-label="Excerpt">${data.excerpt}</pre>`}
<section class="panel">${
      choices.length === 0
        ? html`<p>The run names no agent or service, and the match shown represents others that were not kept.
There is nothing to make an exception for. You can switch the rule off on <a href="/app/rules/${ruleId}">its page</a>.</p>`
        : form(data, viewer)
    }</section>`,
  });
}
