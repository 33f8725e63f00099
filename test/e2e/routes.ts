/** Every route of the server, from its own table: what walks them all fails when one is new. */
import { readConfig } from '../../src/config.ts';
import { decide, supportCounts } from '../../src/engine/effective-set.ts';
import { createApiDocument } from '../../src/http/openapi.ts';
import type { Route } from '../../src/http/router.ts';
import { loadDocumentation, pageAssets } from '../../src/main/documents.ts';
import { adminListener, publicListeners, type SiteDependencies } from '../../src/main/sites.ts';

/**
 * The routes of a listener, named by its setting, as the server opens them. Their handlers are not called: only the
 * table is read.
 */
export function routesOf(name: string): readonly Route[] {
  const nothing = { rules: { rules: [] }, paths: {} } as unknown;
  const parts = ['ingest', 'read', 'app', 'apiDocument'].map((part) => [part, nothing]);
  const probes = { probes: new Map(), aids: new Map() };
  const paths = { style: '', script: '', icon: '' };
  const shell = { brand: 'sluice', baseUrl: '', version: '', assets: paths };
  const snapshot = { version: '', date: '', files: 0, sha256: '' };
  const book = { snapshot, rules: [], counts: supportCounts([]), decide };
  const api = createApiDocument({ ...readConfig({}), version: '', book });
  const pages = { documentation: loadDocumentation(shell, api, []), assets: pageAssets() };
  const deps = { ...Object.fromEntries(parts), ...probes, ...pages } as SiteDependencies;
  const metrics = { contentType: '', text: async () => '' };
  const listeners = [
    ...publicListeners(readConfig({}), deps),
    adminListener(readConfig({}), metrics, deps),
  ];
  const listener = listeners.find(({ setting }) => setting === name);
  return [...(listener?.sites.values() ?? [])].flat();
}
export const nameOf = ({ method, path }: Route): string => `${method} ${path}`;
