/** Creates the providers that are configured. */
import { createGithubProvider } from './github-provider.ts';
import type { IdentityProvider, ProviderSettings } from './identity-provider.ts';
import { createOidcProvider } from './oidc-provider.ts';

/** Providers without an issuer are left out, except GitHub, which needs none. */
export function createProviders(settings: readonly ProviderSettings[]): IdentityProvider[] {
  return settings.flatMap((one) => {
    if (one.issuer !== null) return [createOidcProvider(one, one.issuer)];
    return one.provider === 'github' ? [createGithubProvider(one)] : [];
  });
}
