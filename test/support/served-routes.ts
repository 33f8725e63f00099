/** The listeners and routes as the server opens them; their handlers are not to be called. */
import { readConfig } from '../../src/config/config.ts';
import { createRuleBook } from '../../src/engine/rules/rule-book.ts';
import { createApiDocument } from '../../src/http/api/openapi/openapi.ts';
import type { Route } from '../../src/http/transport/router.ts';
import type { ListenerSettings } from '../../src/http/transport/server.ts';
import { loadDocumentation, pageAssets } from '../../src/main/documents.ts';
import {
  adminListener,
  publicListeners,
  type SiteDependencies,
} from '../../src/main/http/sites.ts';

/** Every listener that these settings open. */
export function listenersOf(settings: Readonly<Record<string, string>> = {}): ListenerSettings[] {
  const nothing = { rules: { rules: [] }, runs: {}, paths: {}, oauthProviders: [] } as unknown;
  const parts = ['ingest', 'read', 'app', 'cli', 'mcp', 'apiDocument'].map((part) => [
    part,
    nothing,
  ]);
  const probes = { probes: new Map(), optionalProbes: new Map() };
  const paths = { style: '', script: '', icon: '' };
  const shell = { brand: 'sluice', baseUrl: '', version: '', assets: paths };
  const snapshot = { version: '', date: '', files: 0, sha256: '', identity: '' };
  const book = createRuleBook({ snapshot, rules: [] });
  const config = readConfig(settings);
  const api = () => createApiDocument({ ...config, version: '', book });
  const pages = { documentation: loadDocumentation(shell, api, []), assets: pageAssets() };
  const site = { ...probes, ...pages, replicaApp: null };
  const deps = { ...Object.fromEntries(parts), ...site } as SiteDependencies;
  const metrics = { contentType: '', metrics: async () => '' };
  return [...publicListeners(config, deps), adminListener(config, metrics, deps)];
}

/** The routes of one listener, by the setting that names its port. */
export function routesOf(name: string): readonly Route[] {
  const listener = listenersOf().find(({ setting }) => setting === name);
  return [...(listener?.sites.values() ?? [])].flat();
}

export const nameOf = ({ method, path }: Route): string => `${method} ${path}`;
