/** The list of OAuth providers: route, body and description of `/api/v1/auth/oauth/providers`. */
import { z } from 'zod';
import { json } from '../../transport/answers.ts';
import type { AuthorizedHandler } from '../authorized.ts';
import { type BodyOf, component, count } from '../openapi/component.ts';
import { found, keyAnswers, type Operation, READ } from '../openapi/operation.ts';

const providerList = component(
  'OAuthProviders',
  z
    .object({
      providers: z.array(z.string()).describe('In alphabetical order.'),
      total: count('Providers returned.'),
    })
    .describe('OAuth providers that have a client id and a client secret here.'),
);

export function listProviders(providers: readonly string[]): AuthorizedHandler {
  return () => {
    const body: BodyOf<typeof providerList> = { providers, total: providers.length };
    return json(body);
  };
}

export const PROVIDER_OPERATION: Operation = {
  ...READ,
  auth: 'any',
  path: '/api/v1/auth/oauth/providers',
  operationId: 'listOAuthProviders',
  tag: 'Setup and probes',
  summary: 'List the OAuth providers',
  description: 'Sign-in providers that are configured with a client id and a client secret.',
  responses: {
    ...found('The providers.', providerList, [
      {
        name: 'two_providers',
        summary: 'Both are configured.',
        value: { providers: ['github', 'google'], total: 2 },
      },
    ]),
    ...keyAnswers('problem', 'any'),
  },
};
