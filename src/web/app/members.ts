/** The members of a workspace and its open invitations, with their forms. */
import { type Invitation, type Member, ROLES, type Role } from '../../model/people.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { term, time } from './format.ts';
import {
  appPage,
  confirmed,
  type Look,
  option,
  scrolling,
  type Viewer,
  writeForm,
  writeTo,
} from './shell.ts';

export interface MembersPage {
  readonly members: readonly Member[];
  readonly invitations: readonly Invitation[];
  readonly nowMs: number;
}

const PATH = '/app/members';

/** Only owners change owners. */
const rolesFor = ({ role }: Viewer): readonly Role[] =>
  role === 'owner' ? ROLES : ROLES.filter((one) => one !== 'owner');
const mayChange = ({ role }: { readonly role: Role }, viewer: Viewer): boolean =>
  viewer.isAdmin && (role !== 'owner' || viewer.role === 'owner');

function roleOf(member: Member, viewer: Viewer): HtmlValue {
  if (!mayChange(member, viewer)) return member.role;
  const fields = html`<label><span class="hidden">Role of ${member.email}</span><select name="role">${rolesFor(viewer).map((one) => option(one, one, member.role))}</select></label>
<button class="quiet">Change<span class="hidden"> the role of ${member.email}</span></button>`;
  return writeForm(writeTo(`${PATH}/${member.userId}`, viewer), fields, 'inline');
}

function removal({ userId, email }: Member, viewer: Viewer): Html {
  return confirmed(
    html`Remove<span class="hidden"> ${email}</span>`,
    'They lose access to this workspace immediately.',
    writeForm(
      writeTo(`${PATH}/${userId}/remove`, viewer),
      html`<button class="danger">Remove ${email}</button>`,
    ),
  );
}

function memberRow(member: Member, viewer: Viewer, nowMs: number): Html {
  return html`<tr><td data-label="Name">${member.displayName}</td><td data-label="E-mail">${member.email}</td>
<td data-label="Role">${roleOf(member, viewer)}</td><td data-label="Last seen">${time(member.lastSeenAt, nowMs)}</td>
${viewer.isAdmin && html`<td data-label="Membership">${mayChange(member, viewer) && removal(member, viewer)}</td>`}</tr>
`;
}

function inviteForm(viewer: Viewer): Html {
  const fields = html`<label>E-mail address<input name="email" type="email" required maxlength="254"></label>
<label>Role<select name="role">${rolesFor(viewer)
    .toReversed()
    .map((one) => option(one, one, 'member'))}</select></label>
<div class="buttons"><button>Invite</button></div><output></output>`;
  return writeForm(writeTo('/app/invitations', viewer), fields, 'filters');
}

function invitationTable({ invitations }: MembersPage, viewer: Viewer): HtmlValue {
  const revocation = ({ id, email }: Invitation) =>
    writeForm(
      writeTo(`/app/invitations/${id}/revoke`, viewer),
      html`<button class="danger">Revoke<span class="hidden"> the invitation of ${email}</span></button>`,
    );
  const row = (one: Invitation) => {
    const ends = one.expiresAt.toISOString();
    return html`<tr><td data-label="E-mail">${one.email}</td><td data-label="Role">${one.role}</td>
<td data-label="Expires"><time datetime="${ends}" title="${ends}">${ends.slice(0, 10)}</time></td>
<td data-label="Invitation">${mayChange(one, viewer) && revocation(one)}</td></tr>`;
  };
  return (
    invitations.length > 0 &&
    scrolling(
      'Invitations',
      html`<table class="stack" aria-label="Invitations"><thead><tr><th scope="col">E-mail</th><th scope="col">Role</th>
<th scope="col">Expires</th><th scope="col">Invitation</th></tr></thead><tbody>${invitations.map(row)}</tbody></table>`,
    )
  );
}

export function membersPage(look: Look, viewer: Viewer, data: MembersPage): Html {
  const { members, nowMs } = data;
  return appPage(look, viewer, {
    title: 'Members',
    current: PATH,
    main: html`<h1>Members</h1>
<p class="lead">Members can read everything except the ${term('audit-log', 'audit log')}. Admins and owners can also switch ${term('rule-and-corpus', 'rules')}, manage ${term('key', 'keys')} and invite members.</p>
${scrolling(
  'Members',
  html`<table class="stack" aria-label="Members"><thead><tr><th scope="col">Name</th><th scope="col">E-mail</th><th scope="col">Role</th>
<th scope="col">Last seen</th>${viewer.isAdmin && html`<th scope="col">Membership</th>`}</tr></thead>
<tbody>${members.map((member) => memberRow(member, viewer, nowMs))}</tbody></table>`,
)}
${
  viewer.isAdmin &&
  html`<section class="panel"><h2>Invite a member</h2>${inviteForm(viewer)}<div data-fresh="invitations">${invitationTable(data, viewer)}</div></section>`
}`,
  });
}
