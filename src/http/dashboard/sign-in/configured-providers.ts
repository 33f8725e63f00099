/** Which of the providers that are set people can sign in through. */
import { createGithubProvider } from './github-provider.ts';
import type { IdentityProvider, ProviderSettings } from './identity-provider.ts';
import { createOidcProvider } from './oidc-provider.ts';

/** Issuers of providers that people know by name. */
const KNOWN_ISSUERS: Readonly<Record<string, string>> = {
  google: 'https://accounts.google.com',
  gitlab: 'https://gitlab.com',
};

/** The providers that people can sign in through; those nobody knows the issuer of are left out. */
export function createProviders(settings: readonly ProviderSettings[]): IdentityProvider[] {
  return settings.flatMap((one) => {
    const issuer = one.issuer ?? KNOWN_ISSUERS[one.provider];
    if (issuer !== undefined) return [createOidcProvider(one, issuer)];
    return one.provider === 'github' ? [createGithubProvider(one)] : [];
  });
}
