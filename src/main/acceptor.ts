/**
 * What one thread that takes requests has for itself, and everything it serves: writer, keys,
 * limits, the routes of base and observe. The same on the main thread and on any other.
 *
 * Counted and bounded per thread, not per process: remembered keys and sessions' prompts, exports
 * and passwords under way, what a workspace holds of the bytes in flight. All bytes in flight and
 * requests per minute are the process's.
 */
import type { Config } from '../config.ts';
import { CopyWriter } from '../db/copy-writer.ts';
import { type Database, ping } from '../db/database.ts';
import type { DatabaseClock } from '../db/database-clock.ts';
import { digestKey, findCredential, recordKeyUse } from '../db/keys.ts';
import { createMigrationsProbe } from '../db/migrate.ts';
import { keepRejectedRequest } from '../db/rejected-requests.ts';
import { readWorkspaceSettings } from '../db/rule-settings.ts';
import type { Catalog } from '../engine/catalog.ts';
import { decide, supportCounts } from '../engine/effective-set.ts';
import { type Authenticator, createAuthenticator } from '../http/authentication.ts';
import { BodyGate } from '../http/body-gate.ts';
import { ByteBudget, type ByteCount } from '../http/byte-budget.ts';
import type { MinuteCounts } from '../http/minute-counts.ts';
import { ocsfSourceOf } from '../http/ocsf.ts';
import { createApiDocument } from '../http/openapi.ts';
import type { Probe } from '../http/probe-routes.ts';
import { createRateLimiter } from '../http/rate-limiter.ts';
import type { RuleReader } from '../http/rule-routes.ts';
import type { ListenerSettings } from '../http/server.ts';
import { createSessionLimiter } from '../http/session-limiter.ts';
import { createSignInLimiter } from '../http/sign-in-limiter.ts';
import type { Events } from '../observe/events.ts';
import type { RequestDatabases } from './connection-shares.ts';
import { loadDocumentation, pageAssets, pathsOf } from './documents.ts';
import { keepKeyUse } from './key-use.ts';
import { createLargeBodies } from './large-bodies.ts';
import { peopleOf } from './people.ts';
import { programVersion } from './program-version.ts';
import { dashboardReader, findingReader, runReader } from './readers.ts';
import { createDecoder } from './request-decoder.ts';
import { runTimesOf } from './run-times.ts';
import { type ProbeDependencies, publicListeners } from './sites.ts';
import type { StopOrder } from './stop-order.ts';

/** What only the main thread knows, asked of it. */
export interface MainProbes {
  readonly corpus: Probe;
  readonly pass: Probe;
}

export interface AcceptorDependencies {
  readonly config: Config;
  readonly databases: RequestDatabases;
  /** read before any port is opened */
  readonly clock: Pick<DatabaseClock, 'nowMs'>;
  readonly catalog: Catalog;
  /** requests per minute, of all threads together; whoever made them closes them */
  readonly minuteCounts: Pick<MinuteCounts, 'consume' | 'ping'>;
  readonly main: MainProbes;
  /** where threads count their bytes together; without it this thread counts alone */
  readonly shared?: { readonly bodies: ByteCount; readonly rows: ByteCount };
  readonly events: Events;
}

export interface Acceptor extends ProbeDependencies {
  readonly listeners: readonly ListenerSettings[];
  /** Looks a key up anew at its next request. */
  readonly forget: Authenticator['forget'];
}

function ruleReader(catalog: Catalog, database: Database): RuleReader {
  return {
    snapshot: catalog.snapshot,
    rules: catalog.rules,
    counts: supportCounts(catalog.rules),
    decide,
    settings: async (workspaceId) => {
      const settings = (await readWorkspaceSettings(database, [workspaceId])).get(workspaceId);
      return settings ?? { experimental: false, overrides: new Map<string, boolean>() };
    },
  };
}

/** What `/ready` asks, on whichever thread. */
export function probesOf(database: Database, { corpus, pass }: MainProbes): Map<string, Probe> {
  return new Map<string, Probe>([
    ['db', () => ping(database)],
    ['migrations', createMigrationsProbe(database)],
    ['corpus', corpus],
    ['pass', pass],
  ]);
}

/** The documentation and the files that pages refer to, in this server's words. */
function pagesOf(config: Config, book: RuleReader) {
  const assets = pageAssets();
  const version = programVersion();
  const apiDocument = createApiDocument({ ...config, version, book });
  const { brand, baseUrl } = config;
  const site = { brand, baseUrl, version, assets: pathsOf(assets) };
  return { assets, apiDocument, documentation: loadDocumentation(site, apiDocument, assets) };
}

/**
 * Makes everything but the sockets.
 *
 * @param stops takes note of the writer and of the keys' use; what listens is to be added after
 */
export function createAcceptor(
  { config, databases, clock, catalog, minuteCounts, main, shared, events }: AcceptorDependencies,
  stops: Pick<StopOrder, 'add'>,
): Acceptor {
  const { ingest, reads } = databases;
  const { maxInflightBytes, maxBodyBytes, maxDecodedBodyBytes } = config;
  const rowBudget = new ByteBudget(maxInflightBytes, shared?.rows);
  const writer = new CopyWriter(
    ingest,
    { budget: rowBudget, runTimes: runTimesOf(config) },
    events,
  );
  stops.add('writer', () => writer.close());
  const largeBodies = createLargeBodies();
  stops.add('decoder of large bodies', () => largeBodies.close());
  const authenticator = createAuthenticator({
    digest: digestKey,
    find: (digest) => findCredential(ingest, digest),
    noteUse: keepKeyUse((ids) => recordKeyUse(ingest, ids), events, stops),
  });
  const rateLimiter = createRateLimiter(minuteCounts);
  const rules = ruleReader(catalog, reads);
  const readers = { rules, findings: findingReader(reads), runs: runReader(reads) };
  const pages = pagesOf(config, rules);
  const probes = probesOf(databases.probes, main);
  const aids = new Map(minuteCounts.ping === null ? [] : [['redis', minuteCounts.ping] as const]);
  const listeners = publicListeners(config, {
    ingest: {
      authenticator,
      rateLimiter,
      gate: new BodyGate(new ByteBudget(maxInflightBytes, shared?.bodies)),
      rowBudget,
      maxBodyBytes,
      maxDecodedBodyBytes,
      keepRejected: (rejected) => keepRejectedRequest(ingest, rejected),
      decode: createDecoder(writer, largeBodies.decode, clock.nowMs),
      events,
    },
    read: {
      authenticator,
      rateLimiter,
      ...readers,
      version: programVersion(),
      oauthProviders: config.oauthProviders,
      events,
    },
    app: peopleOf(config, reads, {
      ...readers,
      ...dashboardReader(reads, clock.nowMs),
      nowMs: clock.nowMs,
      ocsf: ocsfSourceOf(catalog.rules, programVersion()),
      sessionLimiter: createSessionLimiter(minuteCounts),
      signInLimiter: createSignInLimiter(minuteCounts),
      shell: { brand: config.brand, assets: pathsOf(pages.assets) },
      events,
    }),
    probes,
    aids,
    ...pages,
  });
  return { listeners, probes, aids, forget: authenticator.forget };
}
