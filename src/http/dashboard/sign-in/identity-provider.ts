/**
 * A provider that people sign in through, what is the same for all of them, and what is taken from
 * what they say.
 *
 *   begin ─► address at the provider, with PKCE, state and nonce ─► … ─► finish ─► who it is
 *
 * Everything a provider says reaches us from the provider itself over TLS, or signed by it; nothing
 * is taken from the address that the browser comes back with but the code and the state.
 */

import * as client from 'openid-client';
import { SluiceError } from '../../../errors.ts';
import type { ProviderAccount } from '../../../model.ts';
import { email, name } from './person-fields.ts';

/** How long a provider may take over an answer. */
export const TIMEOUT_SECONDS = 10;
const NAME_CHARS_MAX = 100;

/** What is set for a provider. */
export interface ProviderSettings {
  readonly provider: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly issuer: string | null;
}

/** What has to be the same when the browser comes back. */
export interface Flow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface IdentityProvider {
  /** its name in the settings and in paths */
  readonly name: string;
  /** signs what the browser keeps meanwhile */
  readonly secret: string;
  /** @throws {SluiceError} `store_unavailable` when the provider cannot be reached */
  readonly begin: (redirectUri: string) => Promise<{ readonly url: URL; readonly flow: Flow }>;
  /**
   * @param cameBack the redirect URI with the query the browser came back with
   * @throws {SluiceError} `sign_in_failed` when anything does not fit
   */
  readonly finish: (cameBack: URL, flow: Flow) => Promise<ProviderAccount>;
}

/** Where a provider's addresses and our client's settings come from. */
export type Connect = () => Promise<client.Configuration>;

/** Whatever went wrong there: people are told that it did not succeed, the log nothing of theirs. */
export function failed(provider: string, cause: unknown): SluiceError {
  return new SluiceError('sign_in_failed', `Signing in with ${provider} did not succeed.`, {
    cause,
  });
}

/** Leaving for the provider. */
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
      throw new SluiceError('store_unavailable', `${provider} could not be reached.`, { cause });
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

/** An address of the form that is taken here. */
export function emailOf(value: unknown): string | null {
  const parsed = email.safeParse(value);
  return parsed.success ? parsed.data : null;
}

/** What people chose at the provider, if it is fit to be shown here; cut where it is too long. */
export function nameOf(value: unknown): string | null {
  const cut = textOf(value)
    ?.slice(0, NAME_CHARS_MAX)
    .replace(/\p{Cs}$/u, '');
  const parsed = name.safeParse(cut);
  return parsed.success ? parsed.data : null;
}

/** The settings allow it on this machine only. */
export function isPlainHttp(address: string): boolean {
  return new URL(address).protocol === 'http:';
}
