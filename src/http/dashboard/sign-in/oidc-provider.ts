/** Sign-in through OpenID Connect; the provider's endpoints are discovered by its issuer. */
import * as client from 'openid-client';

import {
  begins,
  type Connect,
  emailOf,
  failed,
  type IdentityProvider,
  isPlainHttp,
  nameOf,
  type ProviderSettings,
  TIMEOUT_SECONDS,
} from './identity-provider.ts';

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
