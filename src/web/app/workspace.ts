/** The pages about a workspace itself: keys, members, the audit ledger, settings. */
import type { JsonObject, KeyKind, Role } from '../../model.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { count, type Moment, time } from './format.ts';
import { appPage, choice, empty, facts, type Look, pager, type Viewer } from './shell.ts';

export interface ShownKey {
  readonly id: number;
  readonly kind: KeyKind;
  readonly name: string;
  readonly prefix: string;
  readonly rateLimitPerMinute: number;
  readonly createdAt: Moment;
  readonly lastUsedAt: Moment | null;
  readonly revokedAt: Moment | null;
}

function keyRow(key: ShownKey, viewer: Viewer, nowMs: number): Html {
  const revoke =
    key.revokedAt === null && viewer.isAdmin
      ? html`<form data-api="DELETE /app/api/keys/${key.id}" data-then="reload" data-confirm="Revoke ${key.name}? Whoever uses it is refused within seconds."><button class="danger">Revoke</button><p role="alert"></p></form>`
      : key.revokedAt !== null &&
        html`<span class="soft">revoked ${time(key.revokedAt, nowMs)}</span>`;
  return html`<tr><td>${key.name}</td><td>${key.kind}</td><td><code>${key.prefix}…</code></td>
<td class="number">${count(key.rateLimitPerMinute)}</td><td>${time(key.createdAt, nowMs)}</td>
<td>${time(key.lastUsedAt, nowMs)}</td><td>${revoke}</td></tr>`;
}

export function keysPage(
  look: Look,
  viewer: Viewer,
  { keys, nowMs }: { readonly keys: readonly ShownKey[]; readonly nowMs: number },
): Html {
  return appPage(look, viewer, {
    title: 'Keys',
    current: '/app/keys',
    main: html`<h1>Keys</h1>
<p class="lead">Agent keys send telemetry, workspace keys read over the API. No key can change anything.</p>
${
  viewer.isAdmin &&
  html`<section class="panel"><h2>Make a key</h2>
<form class="filters" data-api="POST /app/api/keys" data-show="key" data-show-label="Copy it now: it is not shown again.">
<label>Name<input name="name" required maxlength="200" placeholder="production collector"></label>
<label>Kind<select name="kind"><option value="agent">agent (sends)</option><option value="workspace">workspace (reads)</option></select></label>
<label>Requests a minute<input name="rate_limit_per_minute" type="number" data-type="json" min="1" max="100000" value="1000" required></label>
<button>Make key</button><p role="alert"></p><output></output></form></section>`
}
${
  keys.length === 0
    ? empty('No keys', html`<p>Without an agent key nothing can send.</p>`)
    : html`<div class="scroll"><table aria-label="Keys"><thead><tr><th>Name</th><th>Kind</th><th>Begins with</th>
<th class="number">A minute</th><th>Made</th><th>Last used</th><th></th></tr></thead>
<tbody>${keys.map((key) => keyRow(key, viewer, nowMs))}</tbody></table></div>`
}`,
  });
}

export interface ShownMember {
  readonly userId: number;
  readonly email: string;
  readonly displayName: string;
  readonly role: Role;
  readonly lastSeenAt: Moment | null;
}

export interface ShownInvitation {
  readonly id: number;
  readonly email: string;
  readonly role: Role;
  readonly expiresAt: Moment;
}

const ROLES: readonly Role[] = ['owner', 'admin', 'member'];

function memberRow(member: ShownMember, viewer: Viewer, nowMs: number): Html {
  const path = `/app/api/members/${member.userId}`;
  const mayChange = viewer.isAdmin && (member.role !== 'owner' || viewer.role === 'owner');
  const role = mayChange
    ? html`<form data-api="PUT ${path}" data-then="reload" data-on-change><label><span class="hidden">Role of ${member.email}</span>
<select name="role">${ROLES.map((one) =>
        one === member.role
          ? html`<option value="${one}" selected>${one}</option>`
          : html`<option value="${one}">${one}</option>`,
      )}</select></label><p role="alert"></p></form>`
    : member.role;
  return html`<tr><td>${member.displayName}</td><td>${member.email}</td><td>${role}</td><td>${time(member.lastSeenAt, nowMs)}</td>
<td>${mayChange && html`<form data-api="DELETE ${path}" data-then="reload" data-confirm="Remove ${member.email}?"><button class="danger">Remove</button><p role="alert"></p></form>`}</td></tr>`;
}

export function membersPage(
  look: Look,
  viewer: Viewer,
  data: {
    readonly members: readonly ShownMember[];
    readonly invitations: readonly ShownInvitation[];
    readonly nowMs: number;
  },
): Html {
  const { members, invitations, nowMs } = data;
  return appPage(look, viewer, {
    title: 'Members',
    current: '/app/members',
    main: html`<h1>Members</h1>
<p class="lead">Members read. Admins and owners also switch rules, make keys and invite.</p>
<div class="scroll"><table aria-label="Members"><thead><tr><th>Name</th><th>E-mail</th><th>Role</th><th>Last seen</th><th></th></tr></thead>
<tbody>${members.map((member) => memberRow(member, viewer, nowMs))}</tbody></table></div>
${
  viewer.isAdmin &&
  html`<section class="panel"><h2>Invite somebody</h2>
<form class="filters" data-api="POST /app/api/invitations" data-show="link" data-show-label="Give them this link; it works once.">
<label>E-mail<input name="email" type="email" required maxlength="254"></label>
${choice('role', 'Role', ['member', 'admin', 'owner'], 'member')}
<button>Invite</button><p role="alert"></p><output></output></form>
${
  invitations.length > 0 &&
  html`<table aria-label="Invitations"><thead><tr><th>E-mail</th><th>Role</th><th>Ends</th><th></th></tr></thead><tbody>${invitations.map(
    (
      one,
    ) => html`<tr><td>${one.email}</td><td>${one.role}</td><td>${one.expiresAt.toISOString().slice(0, 10)}</td>
<td><form data-api="DELETE /app/api/invitations/${one.id}" data-then="reload"><button class="danger">Withdraw</button><p role="alert"></p></form></td></tr>`,
  )}</tbody></table>`
}</section>`
}`,
  });
}

export interface ShownEntry {
  readonly seq: string;
  readonly at: Moment;
  readonly actor: string;
  readonly origin: string;
  readonly action: string;
  readonly subject: string;
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
  /** in hexadecimal digits */
  readonly hash: string;
}

function change(before: JsonObject | null, after: JsonObject | null): HtmlValue {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const write = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value));
  return names.map(
    (name) =>
      html`<div><code>${name}</code>: ${write(before?.[name])} → ${write(after?.[name])}</div>`,
  );
}

export function auditPage(
  look: Look,
  viewer: Viewer,
  data: {
    readonly entries: readonly ShownEntry[];
    readonly query: string;
    readonly next: string | null;
    readonly nowMs: number;
  },
): Html {
  const { entries, query, next, nowMs } = data;
  return appPage(look, viewer, {
    title: 'Audit',
    current: '/app/audit',
    main: html`<h1>Audit ledger</h1>
<p class="lead">Who changed what, from where. Entries are only ever added, each sealed with the one before it:
<code>sluice audit verify</code> checks the chain.</p>
${
  entries.length === 0
    ? empty(
        'Nothing has been changed yet',
        html`<p>Switches of rules, keys, members and settings are recorded here.</p>`,
      )
    : html`<div class="scroll"><table aria-label="Audit ledger"><thead><tr><th class="number">No.</th><th>When</th><th>Who</th><th>From</th><th>What</th>
<th>Change</th><th>Seal</th></tr></thead><tbody>${entries.map(
        (
          entry,
        ) => html`<tr><td class="number">${entry.seq}</td><td>${time(entry.at, nowMs)}</td><td>${entry.actor}</td><td>${entry.origin}</td>
<td>${entry.action}<br><span class="soft">${entry.subject}</span></td><td>${change(entry.before, entry.after)}</td>
<td><code title="${entry.hash}">${entry.hash.slice(0, 10)}</code></td></tr>`,
      )}</tbody></table></div>${pager('/app/audit', query, next)}`
}`,
  });
}

export interface ShownSession {
  readonly id: string;
  readonly isThis: boolean;
  readonly createdAt: Moment;
  readonly lastSeenAt: Moment;
  readonly userAgent: string;
  readonly address: string;
}

export function settingsPage(
  look: Look,
  viewer: Viewer,
  data: {
    readonly slug: string;
    readonly redactExcerpts: boolean;
    readonly sessions: readonly ShownSession[];
    readonly nowMs: number;
  },
): Html {
  const { slug, redactExcerpts, sessions, nowMs } = data;
  return appPage(look, viewer, {
    title: 'Settings',
    current: '/app/settings',
    main: html`<h1>Settings</h1>
<div class="grid wide">
<section class="panel"><h2>Workspace</h2>${facts([
      ['Name', viewer.workspaceName],
      ['Slug', html`<code>${slug}</code>`],
      ['Plan', viewer.plan],
      ['Your role', viewer.role],
    ])}
${
  viewer.isAdmin &&
  html`<form class="stacked" data-api="PUT /app/api/settings" data-then="reload">
<label>Name<input name="name" value="${viewer.workspaceName}" required maxlength="200"></label>
<div><button>Rename</button></div><p role="alert"></p></form>`
}</section>
<section class="panel"><h2>Excerpts</h2>
<p>${
      redactExcerpts
        ? 'Excerpts are redacted: findings say where, not what.'
        : 'Findings keep a short excerpt of the text around the hit.'
    }</p>
${
  viewer.isAdmin &&
  html`<form data-api="PUT /app/api/settings" data-then="reload"${
    !redactExcerpts &&
    html` data-confirm="Redact from now on, and remove the excerpts that are stored? They cannot be brought back."`
  }>
<input type="hidden" name="redact_excerpts" data-type="json" value="${String(!redactExcerpts)}">
<button class="${redactExcerpts ? 'quiet' : 'danger'}">${redactExcerpts ? 'Stop redacting' : 'Redact, and remove what is stored'}</button><p role="alert"></p></form>`
}</section></div>
<section class="panel"><h2>Your sessions</h2>
<div class="scroll"><table aria-label="Sessions"><thead><tr><th>Program</th><th>From</th><th>Since</th><th>Last seen</th><th></th></tr></thead><tbody>
${sessions.map(
  (
    session,
  ) => html`<tr><td>${session.userAgent}</td><td>${session.address}</td><td>${time(session.createdAt, nowMs)}</td><td>${time(session.lastSeenAt, nowMs)}</td>
<td>${
    session.isThis
      ? 'this one'
      : html`<form data-api="DELETE /app/api/sessions/${session.id}" data-then="reload"><button class="danger">End</button><p role="alert"></p></form>`
  }</td></tr>`,
)}</tbody></table></div>
<form data-api="DELETE /app/api/sessions" data-then="reload" data-confirm="End all other sessions of yours?"><button class="quiet">End all others</button><p role="alert"></p></form>
</section>`,
  });
}
