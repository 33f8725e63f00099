/** The providers that people sign in through: `OAUTH_<PROVIDER>_CLIENT_ID`, `_CLIENT_SECRET`, `_ISSUER`. */
import { type Environment, isPrivateUrl, type Problems } from './read-settings.ts';

/** A provider that people sign in through. */
export interface OauthClient {
  readonly provider: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** of OpenID Connect; null for GitHub, which has none, and for a provider that lacks its setting */
  readonly issuer: string | null;
}

export interface OauthClients {
  /** keys of the providers with both a client id and a client secret, sorted */
  readonly oauthProviders: readonly string[];
  /** the same, with their credentials */
  readonly oauthClients: readonly OauthClient[];
  /** settings that lack a part and have no effect, one line each; logged at start */
  readonly warnings: readonly string[];
}

const OAUTH_SETTING = /^OAUTH_([A-Z0-9_]+)_(CLIENT_ID|CLIENT_SECRET|ISSUER)$/;
/** Issuers of well-known providers. */
const KNOWN_ISSUERS: Readonly<Record<string, string>> = {
  google: 'https://accounts.google.com',
  gitlab: 'https://gitlab.com',
};

/** The issuer's keys prove identities, so they are fetched over TLS, or from this machine. */
function checkIssuer(name: string, value: string, problems: Problems): void {
  if (URL.canParse(value) && isPrivateUrl(new URL(value))) return;
  problems.push(`${name} must be a URL that starts with https://`);
}

/** The settings of each provider in the environment, by the last part of their names. */
function providerSettings(env: Environment): Map<string, Map<string, string>> {
  const providers = new Map<string, Map<string, string>>();
  for (const [name, value] of Object.entries(env)) {
    const [, provider, part] = OAUTH_SETTING.exec(name) ?? [];
    const given = value?.trim();
    if (provider === undefined || part === undefined || !given) continue;
    const parts = providers.get(provider) ?? new Map<string, string>();
    providers.set(provider, parts.set(part, given));
  }
  return providers;
}

/** The providers with a client id and a client secret, sorted; each missing setting is a warning. */
export function oauthSettings(env: Environment, problems: Problems): OauthClients {
  const clients: OauthClient[] = [];
  const warnings: string[] = [];
  for (const [name, parts] of providerSettings(env)) {
    const provider = name.toLowerCase();
    const clientId = parts.get('CLIENT_ID');
    const clientSecret = parts.get('CLIENT_SECRET');
    const given = parts.get('ISSUER') ?? null;
    if (given !== null) checkIssuer(`OAUTH_${name}_ISSUER`, given, problems);
    if (clientId !== undefined && clientSecret !== undefined) {
      const issuer = given ?? KNOWN_ISSUERS[provider] ?? null;
      clients.push({ provider, clientId, clientSecret, issuer });
      if (issuer !== null || provider === 'github') continue;
      warnings.push(`OAUTH_${name}_ISSUER is not set: nobody can sign in through ${provider}`);
      continue;
    }
    for (const part of ['CLIENT_ID', 'CLIENT_SECRET']) {
      if (parts.has(part)) continue;
      warnings.push(`OAUTH_${name}_${part} is not set: the provider ${provider} is left out`);
    }
  }
  clients.sort((one, other) => (one.provider < other.provider ? -1 : 1));
  const oauthProviders = clients.map(({ provider }) => provider);
  return { oauthClients: clients, oauthProviders, warnings };
}
