/** The pages for people without a session: signing in, an invitation, an error. */
import type { DeviceLogin } from '../../model/people.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { page } from '../layout.ts';
import { term, time } from './format.ts';
import { appPage, facts, type Look, type Viewer, writeTo } from './shell.ts';

interface Parts {
  readonly title: string;
  readonly head?: HtmlValue;
  readonly main: HtmlValue;
}

function sheet(look: Look, parts: Parts): string {
  const main = html`<div class="narrow panel"><h1>${parts.title}</h1>${parts.main}</div>`;
  return page({ ...look, title: parts.title, navigation: [], head: parts.head, main }).text;
}

const fault = (text: string | null): HtmlValue =>
  text !== null && html`<p class="fault" role="alert">${text}</p>`;

interface SignInView {
  /** a path of this server */
  readonly next: string;
  readonly providers: readonly string[];
  /** the address of the failed attempt before */
  readonly email: string;
  /** the error of the attempt before, or null */
  readonly fault: string | null;
}

function providerLink(provider: string, next: string): Html {
  const href = `/app/sign-in/${encodeURIComponent(provider)}?next=${encodeURIComponent(next)}`;
  return html`<li><a class="button quiet" href="${href}">Sign in with ${provider}</a></li>`;
}

export function signInPage(look: Look, view: SignInView): string {
  const { next, providers, email } = view;
  return sheet(look, {
    title: 'Sign in',
    main: html`${fault(view.fault)}
<form method="post" action="/app/sign-in">
<input type="hidden" name="next" value="${next}">
<p><label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${email}"></p>
<p><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required></p>
<p><button type="submit">Sign in</button></p>
</form>
${
  providers.length > 0 &&
  html`<ul class="providers">${providers.map((one) => providerLink(one, next))}</ul>`
}`,
  });
}

interface InvitationView {
  readonly token: string;
  readonly email: string;
  readonly workspace: string;
  readonly role: string;
  /** e-mail address of the signed-in user, or null */
  readonly signedInAs: string | null;
  readonly passwordCharsMin: number;
}

export function invitationPage(look: Look, view: InvitationView): string {
  const path = `/app/invitation/${view.token}`;
  const account = html`<p><label for="name">Your name</label>
<input id="name" name="display_name" autocomplete="name" required maxlength="100"></p>
<p><label for="password">Choose a password of at least ${view.passwordCharsMin} characters</label>
<input id="password" name="password" type="password" autocomplete="new-password" required
 minlength="${view.passwordCharsMin}"></p>
<p><button type="submit">Create an account and join</button></p>`;
  const join = html`<p><button type="submit">Join as ${view.signedInAs}</button></p>`;
  return sheet(look, {
    title: `Join ${view.workspace}`,
    main: html`<p>${view.email} is invited to ${view.workspace} as ${view.role}.</p>
<form method="post" action="${path}">${view.signedInAs === null ? account : join}</form>
${
  view.signedInAs === null &&
  html`<p>Already have an account? <a href="/app/sign-in?next=${encodeURIComponent(path)}">Sign in</a>
first.</p>`
}`,
  });
}

export function noticePage(look: Look, title: string, text: string): string {
  const back = html`<p><a href="/app/sign-in">Back to sign-in</a></p>`;
  return sheet(look, { title, main: html`${fault(text)}${back}` });
}

/**
 * A page that leads on by itself, instead of a redirect after a visit to another site: browsers send a
 * cookie with SameSite=Strict from a page of this server, but not after such a redirect.
 */
export function onwardPage(look: Look, next: string): string {
  return sheet(look, {
    title: 'Signed in',
    head: html`<meta http-equiv="refresh" content="0; url=${next}">`,
    main: html`<p><a href="${next}">Continue</a></p>`,
  });
}

type WaitingLogin = DeviceLogin & {
  /** without a dash */
  readonly code: string;
};

type DevicePage = { readonly nowMs: number } & (
  | { readonly state: 'typing' }
  | { readonly state: 'deciding' | 'approved' | 'denied'; readonly login: WaitingLogin }
);

const PATH = '/app/device';

function typing(): Html {
  return html`<p class="lead">Run <code>sluice login</code> with the address of this server, then enter the code that it shows.</p>
<form class="panel stacked" method="get" action="${PATH}"><label>Code<input name="user_code" autocomplete="off" autocapitalize="characters"
 spellcheck="false" placeholder="BCDF-GHJK" required maxlength="40"></label>
<div><button>Continue</button></div></form>`;
}

function rights(viewer: Viewer): Html {
  return html`<ul><li>read the ${term('finding', 'findings')}, ${term('run', 'runs')}, ${term('rule-and-corpus', 'rules')} and the list of ${term('key', 'keys')} of this workspace, and download evidence packages</li>
${viewer.isAdmin && html`<li>create, change and revoke keys of this workspace, test its alerts and send them again, and read the audit entries in evidence packages, while you are an admin or owner of it</li>`}</ul>
<p>It cannot change rules, members or settings, and has no access to other workspaces. The audit log records its changes
under your name. You can sign it out in the settings, under “Your sessions”.</p>`;
}

function deciding(viewer: Viewer, login: WaitingLogin, nowMs: number): Html {
  const code = `${login.code.slice(0, 4)}-${login.code.slice(4)}`;
  const button = (decision: string, label: string, look: string): Html =>
    html`<button name="decision" value="${decision}" class="${look}">${label}</button>`;
  return html`<p class="lead">Approve only if you have just run <code>sluice login</code> yourself and your terminal shows the
same code: the command line will act as you.</p>
<section class="panel">${facts([
    ['Code', html`<strong><code>${code}</code></strong>`],
    ['Device', login.deviceName],
    ['Address', login.address],
    ['Started', time(login.createdAt, nowMs)],
    ['Signs in as', viewer.email],
    ['Workspace', `${viewer.workspaceName} (${viewer.workspaceSlug})`],
  ])}
<h2>It can</h2>${rights(viewer)}
<form method="post" action="${writeTo(PATH, viewer)}"><input type="hidden" name="user_code" value="${login.code}">
<div class="buttons">${button('approve', 'Approve', '')} ${button('deny', 'Deny', 'danger')}</div></form></section>
<p class="soft">To use another workspace, switch to it in the settings first, then open this page again.</p>`;
}

function decided(state: 'approved' | 'denied', { deviceName }: WaitingLogin): Html {
  return state === 'approved'
    ? html`<p class="lead">“${deviceName}” is approved. Go back to your terminal: it continues within seconds.</p>
<p><a class="button" href="/app/settings">To your sessions</a></p>`
    : html`<p class="lead">“${deviceName}” was denied and gets no access.</p>
<p><a class="button" href="/app">Back to the overview</a></p>`;
}

export function devicePage(look: Look, viewer: Viewer, data: DevicePage): Html {
  const parts = (): HtmlValue => {
    if (data.state === 'typing') return typing();
    if (data.state === 'deciding') return deciding(viewer, data.login, data.nowMs);
    return decided(data.state, data.login);
  };
  return appPage(look, viewer, {
    title: 'Sign in on the command line',
    current: '/app/settings',
    main: html`<h1>Sign in on the command line</h1>${parts()}`,
  });
}
