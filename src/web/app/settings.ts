/** The settings of the workspace and of the user. */
import type { ListedSession } from '../../model/people.ts';
import {
  LIBRARY,
  OWN_PATTERNS_MAX,
  PATTERN_CHARS_MAX,
  type RedactionSettings,
} from '../../model/redaction/redaction.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { term, time } from './format.ts';
import {
  corpusName,
  type RuleFacts,
  runningText,
  settingsText,
  stateTable,
} from './rule-counts.ts';
import {
  appPage,
  confirmed,
  facts,
  type Look,
  listTable,
  option,
  type Viewer,
  writeForm,
  writeTo,
} from './shell.ts';

type ShownSession = ListedSession & { readonly isThis: boolean };

export interface SettingsPage {
  readonly slug: string;
  readonly redactExcerpts: boolean;
  /** public */
  readonly evidenceKey: string;
  /** before storage; null for none */
  readonly redaction: RedactionSettings | null;
  readonly rules: RuleFacts;
  readonly sessions: readonly ShownSession[];
  readonly workspaces: readonly { readonly slug: string; readonly name: string }[];
  readonly passwordCharsMin: number;
  readonly nowMs: number;
}

const PATH = '/app/settings';
const NAME_CHARS_MAX = 100;

function workspace({ slug, workspaces }: SettingsPage, viewer: Viewer): Html {
  const rename = writeForm(
    writeTo(PATH, viewer),
    html`<label>Name<input name="name" value="${viewer.workspaceName}" required maxlength="${NAME_CHARS_MAX}"></label>
<div><button>Rename</button></div>`,
    'stacked',
  );
  const turn = html`<form class="inline" method="post" action="/app/workspace">
<label>Switch to another workspace<select name="workspace">${workspaces.map((one) => option(one.slug, one.name, slug))}</select></label>
<button class="quiet">Switch</button></form>`;
  return html`<section class="panel"><h2>Workspace</h2>${facts([
    ['Name', viewer.workspaceName],
    ['Slug', html`<code>${slug}</code>`],
    ['Plan', viewer.plan],
    ['Your role', viewer.role],
  ])}${viewer.isAdmin && rename}${workspaces.length > 1 && turn}</section>`;
}

/** Switching it on removes the stored excerpts, so there is a warning first. */
function redaction({ redactExcerpts }: SettingsPage, viewer: Viewer): Html {
  const form = (label: string, look: string) =>
    writeForm(
      writeTo(PATH, viewer),
      html`<input type="hidden" name="redact_excerpts" value="${String(!redactExcerpts)}">
<button class="${look}">${label}</button>`,
    );
  return redactExcerpts
    ? form('Stop redacting', 'quiet')
    : confirmed(
        'Redact excerpts',
        'Excerpts are no longer stored, and stored excerpts are deleted. This cannot be undone.',
        form('Redact and delete stored excerpts', 'danger'),
      );
}

function excerpts(data: SettingsPage, viewer: Viewer): Html {
  return html`<section class="panel"><h2>Excerpts</h2>
<p>${
    data.redactExcerpts
      ? html`Redaction is on: ${term('finding', 'findings')} show where a rule matched but not the text, and the texts of ${term('run', 'runs')} are not shown.`
      : html`${term('finding', 'Findings')} keep a short excerpt of the text around the match. It is shown in the dashboard and the API, and never exported.`
  }</p>
${viewer.isAdmin && redaction(data, viewer)}</section>`;
}

function evidence({ evidenceKey }: SettingsPage): Html {
  return html`<section class="panel"><h2>Evidence</h2>
<p>The evidence packages of findings and incidents are signed with this workspace’s key. Keep its public part elsewhere, to <a href="/docs/evidence">verify</a> them with.</p>
<p><code class="secret">${evidenceKey}</code></p></section>`;
}

function redactionFields({ library, patterns }: RedactionSettings, isNew: boolean): Html {
  const choices = LIBRARY.map(
    ({ name, title }) =>
      html`<label><input type="checkbox" name="library_${name}"${(isNew || library.includes(name)) && html` checked`}> ${title} <span class="soft">${name}</span></label>`,
  );
  const own = patterns.map(({ name, pattern }) => `${name} ${pattern}`).join('\n');
  return html`<input type="hidden" name="redact_before_storage" value="true">
<fieldset class="whole"><legend>Patterns</legend>${choices}</fieldset>
<label class="whole">Further patterns, one on a line: a name, a space, an RE2 pattern (up to ${OWN_PATTERNS_MAX}, of ${PATTERN_CHARS_MAX} characters)<textarea name="own_patterns" rows="3" spellcheck="false">${own}</textarea></label>
<div><button>${isNew ? 'Redact before storage' : 'Save'}</button></div>`;
}

function redactionPanel({ redaction }: SettingsPage, viewer: Viewer): Html {
  const names = [
    ...(redaction?.library ?? []),
    ...(redaction?.patterns ?? []).map(({ name }) => name),
  ];
  const change = html`<details class="page-fold"><summary>${redaction === null ? 'Choose patterns' : 'Change patterns'}</summary>${writeForm(
    writeTo(PATH, viewer),
    redactionFields(redaction ?? { library: [], patterns: [] }, redaction === null),
    'stacked',
  )}</details>`;
  const stop = writeForm(
    writeTo(PATH, viewer),
    html`<input type="hidden" name="redact_before_storage" value="false"><button class="quiet">Stop redacting before storage</button>`,
  );
  return html`<section class="panel"><h2>Redaction before storage</h2><p>${
    redaction === null
      ? html`Telemetry is stored as it was sent.`
      : html`What these patterns match is replaced by a mark before telemetry is stored, so that rules match the redacted text: ${names.join(', ')}.`
  } <a href="/docs/redaction">How it works</a></p>
${viewer.isAdmin && change}${viewer.isAdmin && redaction !== null && stop}</section>`;
}

function alerts(): Html {
  return html`<section class="panel"><h2>Alerts</h2><p>Findings can be sent to Slack, to another webhook or by e-mail as they appear.</p>
<p><a class="button quiet" href="/app/alerts">Alerts</a></p></section>`;
}

function rules({ rules: facts }: SettingsPage, viewer: Viewer): Html {
  return html`<section class="panel"><h2>${term('rule-and-corpus', 'Rules')}</h2><p><a href="/app/rules">${runningText(facts)}</a>. ${settingsText(facts)} (${term('effective-rule-set', 'What decides which rules run?')})</p>
${stateTable(facts, viewer)}<p class="soft">Corpus ${corpusName(facts.snapshot.version, facts.snapshot.identity)}</p></section>`;
}

function sessions({ sessions: all, nowMs }: SettingsPage): Html {
  const end = ({ id, userAgent, address }: ShownSession) =>
    writeForm(
      `/app/sessions/${id}/end`,
      html`<button class="danger">Sign out<span class="hidden"> the session of ${userAgent} from ${address}</span></button>`,
    );
  const program = ({ kind, userAgent, workspace, expiresAt }: ShownSession): HtmlValue =>
    kind === 'cli'
      ? html`Command line on ${userAgent} <span class="soft below">workspace ${workspace}, until ${time(expiresAt, nowMs)}</span>`
      : userAgent;
  const table = listTable('Sessions', all, [
    ['Program', program],
    ['Address', ({ address }) => address],
    ['Signed in', ({ createdAt }) => time(createdAt, nowMs)],
    ['Last seen', ({ lastSeenAt }) => time(lastSeenAt, nowMs)],
    ['Session', (one) => (one.isThis ? html`<span class="soft">this session</span>` : end(one))],
  ]);
  return html`<section class="panel"><h2>Your sessions</h2>${table}
${
  all.length > 1 &&
  writeForm(
    '/app/sessions/end-others',
    html`<button class="quiet">Sign out all other sessions</button>`,
  )
}<p class="soft">To <a href="/app/device">sign in on the command line</a>, enter the code that <code>sluice login</code> shows.</p></section>`;
}

function password({ passwordCharsMin }: SettingsPage, viewer: Viewer): Html {
  const fields = html`<input type="hidden" name="username" autocomplete="username" value="${viewer.email}">
<label>Current password<input name="current_password" type="password" autocomplete="current-password" required maxlength="200"></label>
<label>New password, at least ${passwordCharsMin} characters<input name="new_password" type="password" autocomplete="new-password" required minlength="${passwordCharsMin}" maxlength="200"></label>
<div><button>Change password</button></div>`;
  return html`<section class="panel"><h2>Your password</h2>${writeForm('/app/password', fields, 'stacked')}
<p class="soft">Changing it signs out your other sessions. Accounts that sign in through a provider have no password here.</p></section>`;
}

export function settingsPage(look: Look, viewer: Viewer, data: SettingsPage): Html {
  return appPage(look, viewer, {
    title: 'Settings',
    current: PATH,
    main: html`<h1>Settings</h1>
<p class="lead">Settings of this workspace and of your account, ${viewer.email}.</p>
<div class="grid wide">${workspace(data, viewer)}${excerpts(data, viewer)}${redactionPanel(data, viewer)}${viewer.isAdmin && alerts()}${rules(data, viewer)}${evidence(data)}</div>
${sessions(data)}
${password(data, viewer)}`,
  });
}
