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

const TIMEOUT_SECONDS = 10;
const NAME_CHARS_MAX = 100;
const HTTP_SERVER_ERROR = 500;

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
  /** key of the signature on the cookie (sign-in-pages.ts) */
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

type Connect = () => Promise<client.Configuration>;

/** Checks whether a provider did not answer, or answered that it cannot now. */
function isAway(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  // fetch rejects with a TypeError; openid-client has a code for its own time limit.
  if (cause instanceof TypeError && cause.message === 'fetch failed') return true;
  if (Reflect.get(cause, 'code') === 'OAUTH_TIMEOUT') return true;
  const answer = cause.cause;
  return answer instanceof Response ? answer.status >= HTTP_SERVER_ERROR : isAway(answer);
}

/** The user sees no detail, and the log no personal data. */
function failed(provider: string, cause: unknown): SluiceError {
  if (isAway(cause)) {
    const message = `${provider} could not be reached. Try again.`;
    return new SluiceError('provider_unavailable', message, { cause });
  }
  return new SluiceError('sign_in_failed', `Signing in with ${provider} failed.`, {
    cause,
  });
}

function begins(provider: string, scope: string, connect: Connect): IdentityProvider['begin'] {
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
function emailOf(value: unknown): string | null {
  const parsed = email.safeParse(value);
  return parsed.success ? parsed.data : null;
}

/** The value, cut if it is too long, if it can be a display name. */
function nameOf(value: unknown): string | null {
  const cut = textOf(value)
    ?.slice(0, NAME_CHARS_MAX)
    .replace(/\p{Cs}$/u, '');
  const parsed = name.safeParse(cut);
  return parsed.success ? parsed.data : null;
}

/** Checks whether an address has no TLS, which the configuration allows for loopback only. */
function isPlainHttp(address: string): boolean {
  return new URL(address).protocol === 'http:';
}

/** OpenID Connect Core 1.0, 2: 255 characters of ASCII at most. */
const SUBJECT = /^[!-~]{1,255}$/;

/** The address, only if the same answer says that it is verified. */
function verifiedEmailOf(claims: Readonly<Record<string, unknown>>): string | null {
  return claims.email_verified === true ? emailOf(claims.email) : null;
}

function subjectOf(value: string): string {
  if (!SUBJECT.test(value)) throw new Error('the subject is not valid');
  return value;
}

/** Discovers the provider once; after a failure, again at the next call. */
function once(make: Connect): Connect {
  let made: Promise<client.Configuration> | null = null;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
}

export function createOidcProvider(settings: ProviderSettings, issuer: string): IdentityProvider {
  const { provider, clientId, clientSecret } = settings;
  const connect = once(() =>
    client.discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: TIMEOUT_SECONDS,
      // Its answers come over TLS, but a proxy may be in between: its signature is checked as well.
      execute: [
        client.enableNonRepudiationChecks,
        ...(isPlainHttp(issuer) ? [client.allowInsecureRequests] : []),
      ],
    }),
  );
  return {
    name: provider,
    secret: clientSecret,
    begin: begins(provider, 'openid email profile', connect),
    finish: async (callback, flow) => {
      try {
        const configuration = await connect();
        const tokens = await client.authorizationCodeGrant(configuration, callback, {
          pkceCodeVerifier: flow.verifier,
          expectedState: flow.state,
          expectedNonce: flow.nonce,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined) throw new Error('no ID token');
        const subject = subjectOf(claims.sub);
        const needsUserInfo =
          verifiedEmailOf(claims) === null &&
          configuration.serverMetadata().userinfo_endpoint !== undefined;
        const more = needsUserInfo
          ? await client.fetchUserInfo(configuration, tokens.access_token, subject)
          : claims;
        return {
          provider,
          issuer: claims.iss,
          subject,
          // Each answer by itself: one may not confirm the address of the other.
          verifiedEmail: verifiedEmailOf(claims) ?? verifiedEmailOf(more),
          displayName: nameOf(more.name) ?? nameOf(claims.name),
        };
      } catch (cause) {
        throw failed(provider, cause);
      }
    },
  };
}

interface GithubAddresses {
  /** pages: `/login/oauth/…` */
  readonly site: string;
  readonly api: string;
}

const GITHUB: GithubAddresses = { site: 'https://github.com', api: 'https://api.github.com' };

interface GithubEmail {
  readonly email: string;
  readonly primary: boolean;
  readonly verified: boolean;
}

function isGithubEmail(value: unknown): value is GithubEmail {
  if (typeof value !== 'object' || value === null) return false;
  const { email, primary, verified } = value as Partial<Record<keyof GithubEmail, unknown>>;
  return typeof email === 'string' && typeof primary === 'boolean' && typeof verified === 'boolean';
}

/** GitHub: OAuth 2, and the account from GitHub's own API. */
export function createGithubProvider(
  { provider, clientId, clientSecret }: ProviderSettings,
  { site, api }: GithubAddresses = GITHUB,
): IdentityProvider {
  const issuer = `${site}/login/oauth`;
  const configuration = new client.Configuration(
    {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/access_token`,
    },
    clientId,
    clientSecret,
  );
  configuration.timeout = TIMEOUT_SECONDS;
  if (isPlainHttp(site)) client.allowInsecureRequests(configuration);
  const get = async (token: string, path: string): Promise<unknown> => {
    const headers = new Headers({ accept: 'application/json', 'user-agent': 'sluice' });
    const url = new URL(`${api}${path}`);
    const answer = await client.fetchProtectedResource(
      configuration,
      token,
      url,
      'GET',
      null,
      headers,
    );
    if (!answer.ok) {
      throw new Error(`GitHub answered ${answer.status} for ${path}`, { cause: answer });
    }
    return await answer.json();
  };
  return {
    name: provider,
    secret: clientSecret,
    begin: begins(provider, 'read:user user:email', async () => configuration),
    finish: async (callback, flow) => {
      try {
        const tokens = await client.authorizationCodeGrant(configuration, callback, {
          pkceCodeVerifier: flow.verifier,
          expectedState: flow.state,
        });
        const user = (await get(tokens.access_token, '/user')) as Record<string, unknown>;
        if (typeof user.id !== 'number') throw new Error('GitHub sent no user');
        const emails = await get(tokens.access_token, '/user/emails');
        const primary = (Array.isArray(emails) ? emails : [])
          .filter(isGithubEmail)
          .find((one) => one.primary && one.verified);
        return {
          provider,
          issuer,
          subject: String(user.id),
          verifiedEmail: emailOf(primary?.email),
          displayName: nameOf(user.name) ?? nameOf(user.login),
        };
      } catch (cause) {
        throw failed(provider, cause);
      }
    },
  };
}

/** Providers without an issuer are left out, except GitHub, which needs none. */
export function createProviders(settings: readonly ProviderSettings[]): IdentityProvider[] {
  return settings.flatMap((one) => {
    if (one.issuer !== null) return [createOidcProvider(one, one.issuer)];
    return one.provider === 'github' ? [createGithubProvider(one)] : [];
  });
}
