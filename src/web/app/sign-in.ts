/** The pages of people who are not signed in yet: sign-in, invitation, what went wrong. */
import { type Html, type HtmlValue, html } from '../html.ts';
import { type AssetPaths, page } from '../layout.ts';

/** What these pages share. */
export interface PeopleShell {
  readonly brand: string;
  readonly assets: AssetPaths;
}

interface Parts {
  readonly title: string;
  readonly head?: HtmlValue;
  readonly main: HtmlValue;
}

function sheet({ brand, assets }: PeopleShell, parts: Parts): string {
  const main = html`<div class="narrow panel"><h1>${parts.title}</h1>${parts.main}</div>`;
  return page({ title: parts.title, brand, assets, navigation: [], head: parts.head, main }).text;
}

const fault = (text: string | null): HtmlValue =>
  text !== null && html`<p class="fault" role="alert">${text}</p>`;

export interface SignInView {
  /** a path of this server */
  readonly next: string;
  readonly providers: readonly string[];
  /** what was typed before, when it did not fit */
  readonly email: string;
  /** what went wrong, for people; null at first */
  readonly fault: string | null;
}

function providerLink(provider: string, next: string): Html {
  const href = `/app/sign-in/${encodeURIComponent(provider)}?next=${encodeURIComponent(next)}`;
  return html`<li><a class="button quiet" href="${href}">Sign in with ${provider}</a></li>`;
}

/** A form that needs no script; the providers beside it. */
export function signInPage(shell: PeopleShell, view: SignInView): string {
  const { next, providers, email } = view;
  return sheet(shell, {
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

export interface InvitationView {
  readonly token: string;
  readonly email: string;
  readonly workspace: string;
  readonly role: string;
  /** e-mail address of who is signed in; null when nobody is */
  readonly signedInAs: string | null;
  readonly passwordCharsMin: number;
  readonly fault: string | null;
}

/** Accepting an invitation, as the signed-in user or with a new account. */
export function invitationPage(shell: PeopleShell, view: InvitationView): string {
  const path = `/app/invitation/${view.token}`;
  const account = html`<p><label for="name">Your name</label>
<input id="name" name="display_name" autocomplete="name" required maxlength="100"></p>
<p><label for="password">Choose a password, ${view.passwordCharsMin} characters or more</label>
<input id="password" name="password" type="password" autocomplete="new-password" required
 minlength="${view.passwordCharsMin}"></p>
<p><button type="submit">Make an account and join</button></p>`;
  const join = html`<p><button type="submit">Join as ${view.signedInAs}</button></p>`;
  return sheet(shell, {
    title: `Join ${view.workspace}`,
    main: html`${fault(view.fault)}
<p>${view.email} is invited to ${view.workspace} as ${view.role}.</p>
<form method="post" action="${path}">${view.signedInAs === null ? account : join}</form>
${
  view.signedInAs === null &&
  html`<p>You have an account? <a href="/app/sign-in?next=${encodeURIComponent(path)}">Sign in</a>
first.</p>`
}`,
  });
}

/** Something that cannot go on, and where to go instead. */
export function noticePage(shell: PeopleShell, title: string, text: string): string {
  const back = html`<p><a href="/app/sign-in">To the sign-in page</a></p>`;
  return sheet(shell, { title, main: html`${fault(text)}${back}` });
}

/**
 * A page that leads on by itself. Instead of a redirect where a browser comes from another site: it
 * would not send a cookie with SameSite=Strict along with a redirect, but it does from a page of
 * ours.
 */
export function onwardPage(shell: PeopleShell, next: string): string {
  return sheet(shell, {
    title: 'Signed in',
    head: html`<meta http-equiv="refresh" content="0; url=${next}">`,
    main: html`<p><a href="${next}">Go on</a></p>`,
  });
}
