/** Sign-in through GitHub: OAuth 2, and the account from GitHub's own API. */
import * as client from 'openid-client';

import {
  begins,
  emailOf,
  failed,
  type IdentityProvider,
  isPlainHttp,
  nameOf,
  type ProviderSettings,
  TIMEOUT_SECONDS,
} from './identity-provider.ts';

/** GitHub's addresses. */
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
