/** Creates the providers that are configured. */
import { createGithubProvider } from './github-provider.ts';
import type { IdentityProvider, ProviderSettings } from './identity-provider.ts';
import { createOidcProvider } from './oidc-provider.ts';

/** Issuers of well-known providers. */
const KNOWN_ISSUERS: Readonly<Record<string, string>> = {
  google: 'https://accounts.google.com',
  gitlab: 'https://gitlab.com',
};

/** Providers without a known issuer are left out. */
export function createProviders(settings: readonly ProviderSettings[]): IdentityProvider[] {
  return settings.flatMap((one) => {
    const issuer = one.issuer ?? KNOWN_ISSUERS[one.provider];
    if (issuer !== undefined) return [createOidcProvider(one, issuer)];
    return one.provider === 'github' ? [createGithubProvider(one)] : [];
  });
}
