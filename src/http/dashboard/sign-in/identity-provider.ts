/**
 * A provider that people sign in through: what OAuth 2 and OpenID Connect providers share, and checks
 * of the values they send.
 *
 *   begin ─► URL at the provider, with PKCE, state and nonce ─► … ─► finish ─► the account
 *
 * A provider's statements come from itself over TLS, or are signed by it. Of the URL that the browser
 * comes back with, only code and state are used.
 */

import * as client from 'openid-client';
import { SluiceError } from '../../../errors.ts';
import type { ProviderAccount } from '../../../model/people.ts';
import { email, name } from './person-fields.ts';

/** Most time for an answer of a provider. */
export const TIMEOUT_SECONDS = 10;
const NAME_CHARS_MAX = 100;
const HTTP_SERVER_ERROR = 500;

/** The configuration of a provider. */
export interface ProviderSettings {
  readonly provider: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly issuer: string | null;
}

/** The values that the callback is checked against. */
export interface AuthorizationFlow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface IdentityProvider {
  /** its name in the settings and in paths */
  readonly name: string;
  /** key of the signature on the cookie (sign-in-flow.ts) */
  readonly secret: string;
  /** @throws {SluiceError} `provider_unavailable` or `sign_in_failed` */
  readonly begin: (
    redirectUri: string,
  ) => Promise<{ readonly url: URL; readonly flow: AuthorizationFlow }>;
  /**
   * @param callback the redirect URI with the query of the browser's request
   * @throws {SluiceError} `provider_unavailable` or `sign_in_failed`
   */
  readonly finish: (callback: URL, flow: AuthorizationFlow) => Promise<ProviderAccount>;
}

/** Gets a provider's endpoints and our client's settings. */
export type Connect = () => Promise<client.Configuration>;

/** Checks whether a provider did not answer, or answered that it cannot now. */
function isAway(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  // fetch rejects with a TypeError; openid-client has a code for its own time limit.
  if (cause instanceof TypeError && cause.message === 'fetch failed') return true;
  if (Reflect.get(cause, 'code') === 'OAUTH_TIMEOUT') return true;
  const answer = cause.cause;
  return answer instanceof Response ? answer.status >= HTTP_SERVER_ERROR : isAway(answer);
}

/**
 * Returns the error to answer when signing in at a provider failed. The user sees no detail, and the log
 * no personal data.
 */
export function failed(provider: string, cause: unknown): SluiceError {
  if (isAway(cause)) {
    const message = `${provider} could not be reached. Try again.`;
    return new SluiceError('provider_unavailable', message, { cause });
  }
  return new SluiceError('sign_in_failed', `Signing in with ${provider} failed.`, {
    cause,
  });
}

/** Makes the URL at the provider. */
export function begins(
  provider: string,
  scope: string,
  connect: Connect,
): IdentityProvider['begin'] {
  return async (redirectUri) => {
    const flow = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const configuration = await connect().catch((cause: unknown) => {
      throw failed(provider, cause);
    });
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope,
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: 'S256',
    });
    return { url, flow };
  };
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null;

/** The value, if it is an e-mail address as accounts have it. */
export function emailOf(value: unknown): string | null {
  const parsed = email.safeParse(value);
  return parsed.success ? parsed.data : null;
}

/** The value, cut if it is too long, if it can be a display name. */
export function nameOf(value: unknown): string | null {
  const cut = textOf(value)
    ?.slice(0, NAME_CHARS_MAX)
    .replace(/\p{Cs}$/u, '');
  const parsed = name.safeParse(cut);
  return parsed.success ? parsed.data : null;
}

/** Checks whether an address has no TLS, which the configuration allows for loopback only. */
export function isPlainHttp(address: string): boolean {
  return new URL(address).protocol === 'http:';
}
