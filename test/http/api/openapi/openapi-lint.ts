/** A public linter for OpenAPI documents, with its recommended rules; asks nothing of the network. */
import { createConfig, lintFromString } from '@redocly/openapi-core';

/** Rules that are off, and why. */
const OFF = {
  // The probes and the documents take no input and ask for no key: they refuse nothing.
  'operation-4xx-response': 'off',
} as const;
/** A server of the tests has no other name. */
export const LOCAL = { 'no-server-example.com': 'off' } as const;

/** What the linter finds, one line each. */
export async function lint(
  document: unknown,
  off: Readonly<Record<string, 'off'>> = {},
): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'], rules: { ...OFF, ...off } });
  const source = JSON.stringify(document, null, 1);
  const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config });
  return problems.map(({ severity, ruleId, message, location }) => {
    const [first] = location;
    const pointer = first !== undefined && 'pointer' in first ? first.pointer : '';
    return `${severity} ${ruleId} ${pointer}: ${message}`;
  });
}
