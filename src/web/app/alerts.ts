/** Alerts: the destinations of a workspace, what was not delivered, and the delivery log. For admins. */
import {
  AGENT_MATCHES,
  ALERT_FORMAT_LABELS,
  ALERT_FORMATS,
  type AlertFilter,
  type AlertFormat,
  DELIVERIES_KEPT,
  type DeadMessage,
  type DeliveryFailure,
  type DeliveryOutcome,
  type ListedDestination,
  type LoggedAlert,
  RECIPIENTS_MAX,
  shownTarget,
  URL_CHARS_MAX,
} from '../../model/alerts.ts';
import { CATEGORIES, SEVERITIES } from '../../model/rules.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { count, many, term, time, words } from './format.ts';
import {
  appPage,
  confirmed,
  crumb,
  facts,
  type Look,
  listTable,
  NUMBER,
  option,
  type Viewer,
  writeForm,
  writeTo,
} from './shell.ts';

export interface AlertsPage {
  readonly destinations: readonly ListedDestination[];
  readonly deliveries: readonly LoggedAlert[];
  readonly dead: readonly DeadMessage[];
  readonly canEmail: boolean;
  readonly nowMs: number;
}

const FAILURES: Readonly<Record<DeliveryFailure, string>> = {
  timeout: 'no answer in time',
  dns: 'the name could not be resolved',
  connection: 'no connection',
  tls: 'the certificate is not valid',
  address_refused: 'private address, not allowed',
  redirect: 'redirected; redirects are not followed',
  status: 'the receiver refused it',
  smtp: 'the mail server refused it',
  smtp_not_configured: 'e-mail is not set up on this server',
  internal: 'the message could not be made; an operator finds the reason in the log',
};

const OUTCOMES: Readonly<Record<DeliveryOutcome, string>> = {
  delivered: 'Delivered',
  failed: 'Failed',
  dead: 'Failed, not retried',
};

type Ended = Pick<LoggedAlert, 'outcome' | 'httpStatus' | 'failure'>;

/** `Failed: the receiver refused it (500)` */
function outcomeText({ outcome, httpStatus, failure }: Ended): Html {
  const status = httpStatus !== null && html` <span class="soft">(${httpStatus})</span>`;
  const why = failure !== null && html`: ${FAILURES[failure]}`;
  return html`<span class="outcome ${outcome}">${OUTCOMES[outcome]}</span>${why}${status}`;
}

function statusOf(destination: ListedDestination): HtmlValue {
  const { paused, pending, dead, last } = destination;
  const state = paused
    ? 'Paused'
    : last !== null && last.outcome !== 'delivered'
      ? 'Failing'
      : 'On';
  const waiting = pending > 0 && html`<span class="soft below">${count(pending)} waiting</span>`;
  const lost = dead > 0 && html`<span class="soft below">${count(dead)} not delivered</span>`;
  return html`<div>${state}${waiting}${lost}</div>`;
}

function testForm({ id, name }: { id: number; name: string }, viewer: Viewer): Html {
  return html`<form method="post" action="${writeTo(`${PATH}/${id}/test`, viewer)}"><button class="quiet">Send test<span class="hidden"> to ${name}</span></button></form>`;
}

function destinationTable({ destinations, nowMs }: AlertsPage, viewer: Viewer): Html {
  if (destinations.length === 0) {
    return html`<p class="soft">No destinations yet. Nothing is sent.</p>`;
  }
  const to = ({ target }: ListedDestination) =>
    html`<div>${formatLabel(target.format)}<span class="soft below">${shownTarget(target)}</span></div>`;
  const lastMessage = ({ last }: ListedDestination) =>
    last === null
      ? html`<span class="soft">none yet</span>`
      : html`<div>${time(last.at, nowMs)}<span class="below">${outcomeText(last)}</span></div>`;
  return listTable('Destinations', destinations, [
    ['Name', ({ id, name }) => html`<a href="${PATH}/${id}">${name}</a>`],
    ['Destination', to],
    ['Findings', ({ filter }) => filterText(filter)],
    ['Status', statusOf],
    ['Last message', lastMessage],
    ['Test', (one) => testForm(one, viewer)],
  ]);
}

function deadSubject({ runId, kind, findings }: DeadMessage): Html {
  const subjects: Readonly<Record<DeadMessage['kind'], Html>> = {
    incident: html`<a href="/app/runs/${runId}">${many(findings, 'finding')} of a run</a>`,
    digest: html`Digest of ${count(findings)} findings`,
    tool_change: html`<a href="/app/runs/${runId}">Changed tool</a>`,
  };
  return subjects[kind];
}

function resendForm({ destinationId, name, id }: DeadMessage, viewer: Viewer): Html {
  const fields = html`<input type="hidden" name="message" value="${id}"><button class="quiet">Send again<span class="hidden"> to ${name}</span></button>`;
  return writeForm(writeTo(`${PATH}/${destinationId}/send-again`, viewer), fields, 'inline');
}

function deadTable({ dead, nowMs }: AlertsPage, viewer: Viewer): HtmlValue {
  if (dead.length === 0) return null;
  const table = listTable('Not delivered', dead, [
    ['Given up', ({ deadAt }) => time(deadAt, nowMs)],
    ['Destination', ({ name }) => name],
    ['Message', deadSubject],
    ['Attempts', ({ attempts }) => count(attempts), NUMBER],
    ['Reason', (one) => html`<div>${outcomeText({ ...one, outcome: 'dead' })}</div>`],
    ['Send again', (one) => resendForm(one, viewer)],
  ]);
  return html`<section class="panel"><h2>Not delivered</h2>
<p class="soft">These messages were tried again and again, and are not retried any more.</p>${table}</section>`;
}

function subjectOf({ kind, findings }: LoggedAlert): string {
  if (kind === 'test') return 'Test';
  if (kind === 'tool_change') return 'Changed tool';
  return kind === 'digest' ? `Digest of ${count(findings)}` : many(findings, 'finding');
}

function log({ deliveries, nowMs }: AlertsPage): HtmlValue {
  if (deliveries.length === 0) return null;
  const message = (one: LoggedAlert) =>
    html`<div>${subjectOf(one)}<span class="soft below"><code>${one.messageId}</code></span></div>`;
  const table = listTable('Delivery log', deliveries, [
    ['Time', ({ at }) => time(at, nowMs)],
    ['Destination', ({ name }) => name],
    ['Message', message],
    ['Attempt', ({ attempt }) => count(attempt), NUMBER],
    ['Result', (one) => html`<div>${outcomeText(one)}</div>`],
  ]);
  return html`<section class="panel"><h2>Delivery log</h2><p class="soft">The last ${DELIVERIES_KEPT} attempts.</p>
${table}</section>`;
}

export function alertsPage(look: Look, viewer: Viewer, data: AlertsPage): Html {
  const { destinations, canEmail } = data;
  const fields = html`${destinationFields(null, canEmail)}<div class="buttons"><button>Add destination</button></div><output></output>`;
  return appPage(look, viewer, {
    title: 'Alerts',
    current: '/app/settings',
    main: html`${crumb('/app/settings', 'Settings')}<h1>Alerts</h1>
<p class="lead">New ${term('finding', 'findings')} are sent to these destinations: the chain of matches, the agent and a link, never an excerpt or other text of a ${term('run', 'run')}.
<a href="/docs/alerts">How to set up alerts</a></p>
<div data-fresh="destinations">${destinationTable(data, viewer)}</div>
<details class="panel"${destinations.length === 0 && html` open`}><summary>Add a destination</summary>
${writeForm(writeTo(PATH, viewer), fields, 'alert')}</details>
${deadTable(data, viewer)}${log(data)}`,
  });
}

interface DestinationPage {
  readonly destination: ListedDestination;
  readonly canEmail: boolean;
  readonly nowMs: number;
}

function dangers({ id, name, target, paused }: ListedDestination, viewer: Viewer): Html {
  const pause = writeForm(
    writeTo(`${PATH}/${id}/pause`, viewer),
    html`<input type="hidden" name="paused" value="${String(!paused)}"><button class="quiet">${paused ? 'Resume' : 'Pause'}</button>`,
  );
  const secret = confirmed(
    'New signing secret',
    'For two days messages are signed with the old one, too, so that receivers have time to change it.',
    writeForm(
      writeTo(`${PATH}/${id}/secret`, viewer),
      html`<button class="danger">Replace the secret</button><output></output>`,
    ),
  );
  const deletion = confirmed(
    'Delete',
    'Messages that wait for this destination are deleted too.',
    // Not sent by the script: the answer is another page.
    html`<form method="post" action="${writeTo(`${PATH}/${id}/delete`, viewer)}"><button class="danger">Delete ${name}</button></form>`,
  );
  return html`<section class="panel"><h2>Delivery</h2><p>${
    paused
      ? 'Paused: no findings are queued, and messages that already wait are kept.'
      : 'Pausing stops queueing findings; messages that already wait are kept.'
  }</p>
<div class="actions">${testForm({ id, name }, viewer)}${pause}</div>
${target.format !== 'email' && secret}${deletion}</section>`;
}

export function destinationPage(look: Look, viewer: Viewer, data: DestinationPage): Html {
  const { destination, canEmail, nowMs } = data;
  const { id, name, target, last } = destination;
  const fields = html`${destinationFields(destination, canEmail)}<div class="buttons"><button>Save</button></div>`;
  return appPage(look, viewer, {
    title: name,
    current: '/app/settings',
    main: html`${crumb(PATH, 'Alerts')}<h1>${name}</h1>
${facts([
  ['Destination', html`${formatLabel(target.format)}, ${shownTarget(target)}`],
  ['Status', statusOf(destination)],
  ['Last message', last !== null && html`${time(last.at, nowMs)} ${outcomeText(last)}`],
  ['Added', time(destination.createdAt, nowMs)],
])}
<section class="panel"><h2>Settings</h2>${writeForm(writeTo(`${PATH}/${id}`, viewer), fields, 'alert')}</section>
${dangers(destination, viewer)}`,
  });
}

interface TestedPage extends Ended {
  readonly id: number;
  readonly name: string;
  readonly to: string;
  readonly format: AlertFormat;
  readonly messageId: string;
  readonly sent: string;
}

function answerText({ failure, httpStatus, format }: TestedPage): string {
  const server = format === 'email' ? 'mail server' : 'receiver';
  if (httpStatus !== null) return `The ${server} answered with status ${httpStatus}.`;
  if (failure === null) return `The ${server} took the message.`;
  return `There is no answer: ${FAILURES[failure]}.`;
}

export function testedPage(look: Look, viewer: Viewer, tested: TestedPage): Html {
  const { id, name, to, format, messageId, sent, ...ended } = tested;
  const isDelivered = ended.outcome === 'delivered';
  return appPage(look, viewer, {
    title: `Test of ${name}`,
    current: '/app/settings',
    main: html`${crumb(PATH, 'Alerts')}<h1>${isDelivered ? 'Test message delivered' : 'Test message failed'}</h1>
<p class="lead">${name}: ${outcomeText(ended)}</p>
<section class="panel"><h2>Sent</h2><p>${formatLabel(format)}, to ${to}, with the id <code>${messageId}</code></p><pre>${sent}</pre></section>
<section class="panel"><h2>Answered</h2><p>${answerText(tested)}</p></section>
<div class="actions">${testForm({ id, name }, viewer)}<a class="button quiet" href="${PATH}/${id}">Settings of ${name}</a><a class="button" href="${PATH}">Done</a></div>`,
  });
}

export const PATH = '/app/alerts';
const NAME_CHARS_MAX = 100;
const AGENT_CHARS_MAX = 200;

const formatLabel = (format: AlertFormat): string => ALERT_FORMAT_LABELS[format];

/** `high and above; prompt injection; agent contains "support"` */
function filterText({ minSeverity, categories, agent, agentMatch }: AlertFilter): string {
  const severity =
    minSeverity === 'informational'
      ? 'all severities'
      : minSeverity === 'critical'
        ? 'critical'
        : `${minSeverity} and above`;
  const parts = [severity, categories.map(words).join(', ')];
  if (agent !== null) parts.push(`agent ${agentMatch} “${agent}”`);
  return parts.filter((part) => part !== '').join('; ');
}

function formatOptions(chosen: AlertFormat | null, canEmail: boolean): HtmlValue {
  // E-mail and webhooks keep different things: one does not become the other.
  const formats = ALERT_FORMATS.filter(
    (one) =>
      (one !== 'email' || canEmail || chosen === 'email') &&
      (chosen === null || (chosen === 'email') === (one === 'email')),
  );
  return formats.map((one) => option(one, formatLabel(one), chosen));
}

function targetFields(one: ListedDestination | null, canEmail: boolean): HtmlValue {
  const format = one?.target.format ?? null;
  const url = html`<label>Webhook URL<input name="url" type="url" maxlength="${URL_CHARS_MAX}" placeholder="${one === null ? 'https://hooks.slack.com/services/…' : 'unchanged'}" autocomplete="off"></label>`;
  const addresses = one?.target.format === 'email' ? one.target.recipients.join(', ') : '';
  const recipients = html`<label>E-mail addresses, up to ${RECIPIENTS_MAX}, separated by commas<input name="recipients" value="${addresses}" maxlength="3000" autocomplete="off"></label>`;
  return html`${format !== 'email' && url}${canEmail && (format === null || format === 'email') && recipients}`;
}

function categoryFields({ categories }: Pick<AlertFilter, 'categories'>): Html {
  const box = (category: (typeof CATEGORIES)[number]) =>
    html`<label><input type="checkbox" name="category_${category}"${categories.includes(category) && html` checked`}> ${words(category)}</label>`;
  return html`<fieldset><legend>Categories (blank = all)</legend>${CATEGORIES.map(box)}</fieldset>`;
}

/** The fields of a destination. @param one what they hold; null for a new destination */
function destinationFields(one: ListedDestination | null, canEmail: boolean): Html {
  const filter = one?.filter ?? {
    minSeverity: 'high',
    categories: [],
    agent: null,
    agentMatch: 'contains',
  };
  return html`<div class="fields"><label>Name<input name="name" value="${one?.name}" required maxlength="${NAME_CHARS_MAX}" placeholder="Security on call"></label>
<label>Format<select name="format">${formatOptions(one?.target.format ?? null, canEmail)}</select></label>
${targetFields(one, canEmail)}
<label>Minimum severity<select name="min_severity">${SEVERITIES.map((severity) => option(severity, severity, filter.minSeverity))}</select></label>
<label>Agent name<select name="agent_match">${AGENT_MATCHES.map((match) => option(match, match, filter.agentMatch))}</select></label>
<label>Agent (empty: every agent)<input name="agent" value="${filter.agent}" maxlength="${AGENT_CHARS_MAX}" autocomplete="off"></label></div>
<label class="check"><input type="checkbox" name="shows_user"${one?.showsUser === true && html` checked`}> Name the user of the run in messages</label>
<label class="check"><input type="checkbox" name="tool_changes"${one?.toolChanges === true && html` checked`}> Send changed definitions of tools, too (no findings; not in OCSF)</label>
${categoryFields(filter)}${!canEmail && html`<p class="soft">E-mail is not set up on this server: an operator sets <code>SMTP_URL</code> and <code>SMTP_FROM</code>.</p>`}`;
}
