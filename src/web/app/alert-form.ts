/** The form of an alert's destination, and its settings as text. */
import {
  AGENT_MATCHES,
  ALERT_FORMAT_LABELS,
  ALERT_FORMATS,
  type AlertFilter,
  type AlertFormat,
  type ListedDestination,
  RECIPIENTS_MAX,
  URL_CHARS_MAX,
} from '../../model/alerts.ts';
import { CATEGORIES, SEVERITIES } from '../../model/rules.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { words } from './format.ts';
import { option } from './shell.ts';

export const PATH = '/app/alerts';
const NAME_CHARS_MAX = 100;
const AGENT_CHARS_MAX = 200;

export const formatLabel = (format: AlertFormat): string => ALERT_FORMAT_LABELS[format];

/** `high and above; prompt injection; agent contains "support"` */
export function filterText({ minSeverity, categories, agent, agentMatch }: AlertFilter): string {
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
export function destinationFields(one: ListedDestination | null, canEmail: boolean): Html {
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
${categoryFields(filter)}${!canEmail && html`<p class="soft">E-mail is not set up on this server: an operator sets <code>SMTP_URL</code> and <code>SMTP_FROM</code>.</p>`}`;
}
