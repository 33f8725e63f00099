/**
 * Providers that people sign in through: OpenID Connect where there is an issuer, GitHub by its own
 * interface. The only file that knows `openid-client`.
 *
 *   begin ─► address at the provider, with PKCE, state and nonce ─► … ─► finish ─► who it is
 *
 * Everything a provider says reaches us from the provider itself over TLS, or signed by it; nothing
 * is taken from the address that the browser comes back with but the code and the state.
 */
import * as client from 'openid-client';

import { SluiceError } from '../errors.ts';

const TIMEOUT_SECONDS = 10;
const NAME_CHARS_MAX = 100;

/** Issuers of providers that people know by name. */
const KNOWN_ISSUERS: Readonly<Record<string, string>> = {
  google: 'https://accounts.google.com',
  gitlab: 'https://gitlab.com',
};

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

/** Somebody, as the provider knows them. */
export interface ProviderAccount {
  readonly provider: string;
  readonly issuer: string;
  readonly subject: string;
  /** null unless the provider says that it is verified */
  readonly verifiedEmail: string | null;
  readonly displayName: string | null;
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

type Connect = () => Promise<client.Configuration>;

function failed(name: string, cause: unknown): SluiceError {
  return new SluiceError('sign_in_failed', `Signing in with ${name} did not succeed.`, { cause });
}

function begins(name: string, scope: string, connect: Connect): IdentityProvider['begin'] {
  return async (redirectUri) => {
    const flow = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const configuration = await connect().catch((cause: unknown) => {
      throw new SluiceError('store_unavailable', `${name} could not be reached.`, { cause });
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

/** Only what the provider says is verified, in so many words. */
function verifiedEmailOf(claims: Readonly<Record<string, unknown>>): string | null {
  return claims.email_verified === true ? textOf(claims.email) : null;
}

const nameOf = (value: unknown): string | null => textOf(value)?.slice(0, NAME_CHARS_MAX) ?? null;

function isPlainHttp(address: string): boolean {
  return new URL(address).protocol === 'http:';
}

/** Asked once; an answer that did not come is asked for again the next time. */
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

/** A provider of OpenID Connect, found by its issuer. */
export function createOidcProvider(settings: ProviderSettings, issuer: string): IdentityProvider {
  const { provider, clientId, clientSecret } = settings;
  const connect = once(() =>
    client.discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: TIMEOUT_SECONDS,
      // The settings allow it on this machine only.
      execute: isPlainHttp(issuer) ? [client.allowInsecureRequests] : [],
    }),
  );
  return {
    name: provider,
    secret: clientSecret,
    begin: begins(provider, 'openid email profile', connect),
    finish: async (cameBack, flow) => {
      try {
        const configuration = await connect();
        const tokens = await client.authorizationCodeGrant(configuration, cameBack, {
          pkceCodeVerifier: flow.verifier,
          expectedState: flow.state,
          expectedNonce: flow.nonce,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined) throw new Error('no ID token');
        const all =
          verifiedEmailOf(claims) === null &&
          configuration.serverMetadata().userinfo_endpoint !== undefined
            ? {
                ...claims,
                ...(await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)),
              }
            : claims;
        return {
          provider,
          issuer: claims.iss,
          subject: claims.sub,
          verifiedEmail: verifiedEmailOf(all),
          displayName: nameOf(all.name),
        };
      } catch (cause) {
        throw failed(provider, cause);
      }
    },
  };
}

/** Where GitHub is. */
export interface GithubAddresses {
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

/** GitHub signs people in by OAuth 2 and tells who they are over its API. */
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
  const ask = async (token: string, path: string): Promise<unknown> => {
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
    if (!answer.ok) throw new Error(`GitHub answered ${answer.status} for ${path}`);
    return await answer.json();
  };
  return {
    name: provider,
    secret: clientSecret,
    begin: begins(provider, 'read:user user:email', async () => configuration),
    finish: async (cameBack, flow) => {
      try {
        const tokens = await client.authorizationCodeGrant(configuration, cameBack, {
          pkceCodeVerifier: flow.verifier,
          expectedState: flow.state,
        });
        const user = (await ask(tokens.access_token, '/user')) as Record<string, unknown>;
        if (typeof user.id !== 'number') throw new Error('GitHub told no user');
        const emails = await ask(tokens.access_token, '/user/emails');
        const primary = (Array.isArray(emails) ? emails : [])
          .filter(isGithubEmail)
          .find((one) => one.primary && one.verified);
        return {
          provider,
          issuer,
          subject: String(user.id),
          verifiedEmail: primary?.email ?? null,
          displayName: nameOf(user.name) ?? nameOf(user.login),
        };
      } catch (cause) {
        throw failed(provider, cause);
      }
    },
  };
}

/** The providers that people can sign in through; those nobody knows the issuer of are left out. */
export function createProviders(settings: readonly ProviderSettings[]): IdentityProvider[] {
  return settings.flatMap((one) => {
    const issuer = one.issuer ?? KNOWN_ISSUERS[one.provider];
    if (issuer !== undefined) return [createOidcProvider(one, issuer)];
    return one.provider === 'github' ? [createGithubProvider(one)] : [];
  });
}
