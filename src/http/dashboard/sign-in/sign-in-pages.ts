/**
 * The pages and forms for people without a session: signing in by password or through a provider,
 * signing out, accepting an invitation. No API credential, and writes from our own pages only.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { acceptInvitationOfLink, findInvitationOfLink } from '../../../db/people/member-writes.ts';
import { signInByProvider } from '../../../db/people/sign-in.ts';
import { ERRORS, SluiceError } from '../../../errors.ts';
import type { Session } from '../../../model/people.ts';
import { invitationPage, noticePage, onwardPage, signInPage } from '../../../web/app/sign-in.ts';
import { errorHeaders, pageAnswer, redirect } from '../../transport/answers.ts';
import type { Answer, Exchange } from '../../transport/exchange.ts';
import { parsePageQuery, readForm, requireNoPageQuery } from '../../transport/input.ts';
import type { Route } from '../../transport/router.ts';
import type { AppDependencies } from '../dashboard.ts';
import { beginSession, checkSignIn, logged, signOut } from './accounts.ts';
import type { AuthorizationFlow, IdentityProvider } from './identity-providers.ts';
import {
  email,
  name,
  newPassword,
  PASSWORD_CHARS_MIN,
  password,
  slug,
  token,
} from './person-fields.ts';
import { ownPath } from './same-origin.ts';
import { type BrowserHandler, type BrowserRequest, browserRoute, sessionOf } from './signed-in.ts';

const signInForm = z.object({
  email,
  password,
  next: z.string().optional(),
  workspace: slug.optional(),
});
const acceptForm = z.object({ display_name: name.optional(), password: newPassword.optional() });

const nextQuery = z.object({ next: z.string().optional() });
const nextOf = (exchange: Exchange): string =>
  ownPath(parsePageQuery(nextQuery, exchange.query).next);

function sessionOrNull(visit: BrowserRequest, deps: AppDependencies): Promise<Session | null> {
  return sessionOf(visit.head, deps).catch((error: unknown) => {
    if (error instanceof SluiceError && error.code === 'not_signed_in') return null;
    throw error;
  });
}

function refusalPage(error: SluiceError, { look }: AppDependencies): Answer {
  const { status, title } = ERRORS[error.code];
  return pageAnswer(noticePage(look, title, error.message), status, errorHeaders(error));
}

function onPage(handler: BrowserHandler, deps: AppDependencies) {
  return browserRoute(handler, deps, (error) => refusalPage(error, deps));
}

function signInAnswer(
  next: string,
  typed: string,
  error: SluiceError | null,
  { look, providers }: AppDependencies,
): Answer {
  const view = {
    next,
    email: typed,
    providers: providers.map((one) => one.name),
    fault: error?.message ?? null,
  };
  const status = error === null ? 200 : ERRORS[error.code].status;
  const headers = error === null ? [] : errorHeaders(error);
  return pageAnswer(signInPage(look, view), status, headers);
}

function passwordRoutes(deps: AppDependencies): Route[] {
  const show = onPage(async (exchange, visit) => {
    const next = nextOf(exchange);
    if ((await sessionOrNull(visit, deps)) !== null) return redirect(next);
    return signInAnswer(next, '', null, deps);
  }, deps);
  const submit = onPage(async (exchange, visit) => {
    const form = await readForm(exchange, signInForm);
    const next = ownPath(form.next);
    try {
      const user = await checkSignIn(visit, form, deps);
      return redirect(next, await beginSession(visit, user, form.workspace ?? null, deps));
    } catch (error) {
      const shown = ['sign_in_failed', 'too_many_attempts'];
      if (!(error instanceof SluiceError) || !shown.includes(error.code)) throw error;
      return signInAnswer(next, form.email, error, deps);
    }
  }, deps);
  const signOutForm = onPage(async (_exchange, visit) => {
    await signOut(visit, deps);
    return redirect('/app/sign-in', [['set-cookie', deps.cookies.clearSession()]]);
  }, deps);
  return [
    { method: 'GET', path: '/app/sign-in', handler: show },
    { method: 'POST', path: '/app/sign-in', handler: submit },
    { method: 'POST', path: '/app/sign-out', handler: signOutForm },
  ];
}

function tokenOf(text: string | undefined): string {
  const parsed = token.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new SluiceError('not_found', 'This invitation is invalid, already used, or expired.');
}

function invitationRoutes(deps: AppDependencies): Route[] {
  const path = '/app/invitation/{token}';
  const show = onPage(async (exchange, visit, parameters) => {
    requireNoPageQuery(exchange.query);
    const secret = tokenOf(parameters.token);
    const [invitation, session] = [
      await findInvitationOfLink(deps.db.accounts, secret),
      await sessionOrNull(visit, deps),
    ];
    const view = {
      ...invitation,
      token: secret,
      signedInAs: session?.email ?? null,
      passwordCharsMin: PASSWORD_CHARS_MIN,
    };
    return pageAnswer(invitationPage(deps.look, view));
  }, deps);
  const submit = onPage(async (exchange, visit, parameters) => {
    const secret = tokenOf(parameters.token);
    const form = await readForm(exchange, acceptForm);
    await deps.signInLimiter.admit(null, visit.address);
    const by =
      form.display_name !== undefined && form.password !== undefined
        ? { displayName: form.display_name, password: form.password }
        : { userId: (await sessionOf(visit.head, deps)).userId };
    const signIn = { way: 'invitation', address: visit.address };
    const accept = () => acceptInvitationOfLink(deps.db.accounts, secret, by, visit.address);
    const joined = await logged(signIn, accept, deps);
    return redirect('/app', await beginSession(visit, joined, joined.workspaceSlug, deps));
  }, deps);
  return [
    { method: 'GET', path, handler: show },
    { method: 'POST', path, handler: submit },
  ];
}

function providerRoutes(deps: AppDependencies): Route[] {
  const { baseUrl, cookies, look } = deps;
  const callbackOf = (one: IdentityProvider): string =>
    `${baseUrl}/app/sign-in/${encodeURIComponent(one.name)}/callback`;
  const providerOf = (text: string | undefined): IdentityProvider => {
    const found = deps.providers.find((one) => one.name === text);
    if (found !== undefined) return found;
    throw new SluiceError('not_found', 'This sign-in provider is not configured.');
  };
  const begin = onPage(async (exchange, _visit, { provider }) => {
    const chosen = providerOf(provider);
    const { url, flow } = await chosen.begin(callbackOf(chosen));
    const signed = signFlow(chosen, { ...flow, next: nextOf(exchange) }, deps.nowMs());
    return redirect(url.href, [['set-cookie', cookies.writeFlow(signed, FLOW_SECONDS)]]);
  }, deps);
  const finish = async (
    chosen: IdentityProvider,
    query: string,
    { head, address }: BrowserRequest,
  ): Promise<{ readonly id: number; readonly next: string }> => {
    await deps.signInLimiter.admit(null, address);
    const signed = cookies.readFlow(head.cookie);
    const flow = signed === null ? null : verifyFlow(chosen, signed, deps.nowMs());
    if (flow === null) {
      throw new SluiceError(
        'sign_in_failed',
        'This sign-in has expired or was not started in this browser. Try again.',
      );
    }
    const account = await chosen.finish(new URL(`${callbackOf(chosen)}?${query}`), flow);
    const user = await signInByProvider(deps.db.accounts, account, address);
    if (user !== null) return { id: user.id, next: ownPath(flow.next) };
    throw new SluiceError(
      'no_account',
      `You have no account and no invitation here. ${chosen.name} must confirm that you own the ` +
        'invited e-mail address.',
    );
  };
  const callback = onPage(async (exchange, visit, { provider }) => {
    const chosen = providerOf(provider);
    const attempt = () => finish(chosen, exchange.query, visit);
    const signIn = { way: chosen.name, address: visit.address };
    const { id, next } = await logged(signIn, attempt, deps);
    const opened = await beginSession(visit, { id }, null, deps);
    const headers = [...opened, ['set-cookie', cookies.clearFlow()] as const];
    return pageAnswer(onwardPage(look, next), 200, headers);
  }, deps);
  return [
    { method: 'GET', path: '/app/sign-in/{provider}', handler: begin },
    { method: 'GET', path: '/app/sign-in/{provider}/callback', handler: callback },
  ];
}

export function signInPages(deps: AppDependencies): Route[] {
  return [...passwordRoutes(deps), ...invitationRoutes(deps), ...providerRoutes(deps)];
}

/** Most time between the redirect to the provider and the callback. */
export const FLOW_SECONDS = 600;
const MS_PER_SECOND = 1000;
const KEY_PURPOSE = 'sluice sign-in flow 1';

const shape = z.object({
  provider: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: z.string(),
  at: z.number(),
});

/**
 * The cookie of a sign-in through a provider. It is signed, so that only a sign-in which this server started can
 * be finished, and only soon after. The HMAC key is derived from the provider's client secret, which all
 * processes share.
 *
 *   <base64url of {provider, state, nonce, verifier, next, at}>.<HMAC-SHA256, base64url>
 */
interface SignInFlow extends AuthorizationFlow {
  /** the path to redirect to after signing in */
  readonly next: string;
}

function sign({ secret }: Pick<IdentityProvider, 'secret'>, payload: string): Buffer {
  const key = createHmac('sha256', secret).update(KEY_PURPOSE).digest();
  return createHmac('sha256', key).update(payload).digest();
}

/** @param nowMs milliseconds since 1970, by PostgreSQL's clock: another server may verify it */
export function signFlow(
  provider: Pick<IdentityProvider, 'name' | 'secret'>,
  { state, nonce, verifier, next }: SignInFlow,
  nowMs: number,
): string {
  const kept = { provider: provider.name, state, nonce, verifier, next, at: nowMs };
  const payload = Buffer.from(JSON.stringify(kept)).toString('base64url');
  return `${payload}.${sign(provider, payload).toString('base64url')}`;
}

/**
 * @param signed value of the cookie
 * @returns null when this server did not sign it for this provider, or too long ago
 */
export function verifyFlow(
  provider: Pick<IdentityProvider, 'name' | 'secret'>,
  signed: string,
  nowMs: number,
): SignInFlow | null {
  const [payload = '', signature = ''] = signed.split('.');
  const given = Buffer.from(signature, 'base64url');
  const expected = sign(provider, payload);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  const kept = shape.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
  const ageMs = nowMs - kept.at;
  if (kept.provider !== provider.name || ageMs < 0 || ageMs > FLOW_SECONDS * MS_PER_SECOND) {
    return null;
  }
  return kept;
}
