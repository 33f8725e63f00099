/** The members of a workspace and its open invitations, with their forms. */
import { type Invitation, type Member, ROLES, type Role } from '../../model/people.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { term, time } from './format.ts';
import {
  appPage,
  confirmed,
  type Look,
  listTable,
  option,
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
  const end = ({ expiresAt }: Invitation) => {
    const ends = expiresAt.toISOString();
    return html`<time datetime="${ends}" title="${ends}">${ends.slice(0, 10)}</time>`;
  };
  return (
    invitations.length > 0 &&
    listTable('Invitations', invitations, [
      ['E-mail', ({ email }) => email],
      ['Role', ({ role }) => role],
      ['Expires', end],
      ['Invitation', (one) => mayChange(one, viewer) && revocation(one)],
    ])
  );
}

export function membersPage(look: Look, viewer: Viewer, data: MembersPage): Html {
  const { members, nowMs } = data;
  return appPage(look, viewer, {
    title: 'Members',
    current: PATH,
    main: html`<h1>Members</h1>
<p class="lead">Members can read everything except the ${term('audit-log', 'audit log')}. Admins and owners can also switch ${term('rule-and-corpus', 'rules')}, manage ${term('key', 'keys')} and invite members.</p>
${listTable('Members', members, [
  ['Name', ({ displayName }) => displayName],
  ['E-mail', ({ email }) => email],
  ['Role', (member) => roleOf(member, viewer)],
  ['Last seen', ({ lastSeenAt }) => time(lastSeenAt, nowMs)],
  viewer.isAdmin && ['Membership', (one) => mayChange(one, viewer) && removal(one, viewer)],
])}
${
  viewer.isAdmin &&
  html`<section class="panel"><h2>Invite a member</h2>${inviteForm(viewer)}<div data-fresh="invitations">${invitationTable(data, viewer)}</div></section>`
}`,
  });
}
