/**
 * What one thread that takes requests has for itself, and everything it serves: writer, keys,
 * limits, the routes of base and observe. The same on the main thread and on any other.
 *
 * Counted and bounded per thread, not per process: remembered keys and sessions' prompts, exports
 * and passwords under way, what a workspace holds of the bytes in flight. All bytes in flight and
 * requests per minute are the process's.
 */
import type { Config } from '../../config.ts';
import { type Database, ping } from '../../db/database.ts';
import type { DatabaseClock } from '../../db/database-clock.ts';
import { readWorkspaceSettings } from '../../db/findings/rule-settings.ts';
import { createMigrationsProbe } from '../../db/migrate.ts';
import { digestKey, findCredential, recordKeyUse } from '../../db/people/keys.ts';
import { CopyWriter } from '../../db/telemetry/copy-writer.ts';
import { keepRejectedRequest } from '../../db/telemetry/rejected-requests.ts';
import type { Catalog } from '../../engine/rules/catalog.ts';
import { decide, supportCounts } from '../../engine/rules/effective-set.ts';
import { ocsfSourceOf } from '../../http/api/findings/ocsf.ts';
import type { Probe } from '../../http/api/open/probe-routes.ts';
import { createApiDocument } from '../../http/api/openapi/openapi.ts';
import type { RuleReader } from '../../http/api/rules/rule-routes.ts';
import { BodyGate } from '../../http/ingest/body-gate.ts';
import { ByteBudget, type ByteCount } from '../../http/ingest/byte-budget.ts';
import { type Authenticator, createAuthenticator } from '../../http/limits/authentication.ts';
import type { MinuteCounts } from '../../http/limits/minute-counts.ts';
import { createRateLimiter } from '../../http/limits/rate-limiter.ts';
import { createSessionLimiter } from '../../http/limits/session-limiter.ts';
import { createSignInLimiter } from '../../http/limits/sign-in-limiter.ts';
import type { ListenerSettings } from '../../http/transport/server.ts';
import { createLargeBodies } from '../../ingest/large-bodies.ts';
import { createDecoder } from '../../ingest/request-decoder.ts';
import type { Events } from '../../observe/events.ts';
import type { RequestDatabases } from '../connection-shares.ts';
import { loadDocumentation, pageAssets, pathsOf } from '../documents.ts';
import { keepKeyUse } from '../key-use.ts';
import { peopleOf } from '../people.ts';
import { programVersion } from '../program-version.ts';
import { dashboardReader, findingReader, runReader } from '../readers.ts';
import { runTimesOf } from '../run-times.ts';
import { type ProbeDependencies, publicListeners } from '../sites.ts';
import type { StopOrder } from '../stop-order.ts';

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
