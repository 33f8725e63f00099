/** The pages for people without a session: signing in, an invitation, an error. */
import { type Html, type HtmlValue, html } from '../html.ts';
import { page } from '../layout.ts';
import type { Look } from './shell.ts';

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

/** The form for a password, and links to the providers. */
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

/** Accepting an invitation, as the signed-in user or with a new account. */
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
