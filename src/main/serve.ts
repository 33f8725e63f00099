/**
 * The server, wired: starts every part in order, and hands back how to stop it.
 *
 * Start: corpus (on a thread) and database side by side → schema, partitions → first workspace →
 * workers, pass → listeners. Nothing listens before everything behind it works.
 * Stop: no new connections → requests under way → key use → writer → pass → workers → database; each
 * step has a time limit.
 */
import type { Config } from '../config.ts';
import { CopyWriter } from '../db/copy-writer.ts';
import { type Database, ping } from '../db/database.ts';
import { ensureFirstWorkspace, type FirstKeys } from '../db/first-start.ts';
import { listenForRevokedKeys } from '../db/key-changes.ts';
import { digestKey, findCredential, recordKeyUse } from '../db/keys.ts';
import { createMigrationsProbe } from '../db/migrate.ts';
import { dropOutdated, ensureDays } from '../db/partitions.ts';
import { keepRejectedRequest } from '../db/rejected-requests.ts';
import { readWorkspaceSettings } from '../db/rule-settings.ts';
import type { Catalog } from '../engine/catalog.ts';
import { loadManifest, verifyCorpus } from '../engine/corpus.ts';
import { decide, supportCounts } from '../engine/effective-set.ts';
import { createAuthenticator } from '../http/authentication.ts';
import { ByteBudget } from '../http/byte-budget.ts';
import { createMinuteCounts } from '../http/minute-counts.ts';
import { ocsfSourceOf } from '../http/ocsf.ts';
import { createApiDocument } from '../http/openapi.ts';
import type { Probe } from '../http/probe-routes.ts';
import { createRateLimiter } from '../http/rate-limiter.ts';
import type { RuleReader } from '../http/rule-routes.ts';
import { type Listener, openListener } from '../http/server.ts';
import { createSessionLimiter } from '../http/session-limiter.ts';
import { createSignInLimiter } from '../http/sign-in-limiter.ts';
import type { SupportCounts } from '../model.ts';
import type { Events } from '../observe/events.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Pass } from '../pool/pass.ts';
import { buildCatalog } from '../pool/workers.ts';
import { corpusPackageDir, MANIFEST_PATH } from './corpus-location.ts';
import { watchCorpus } from './corpus-watch.ts';
import { createPass } from './create-pass.ts';
import { loadDocumentation, pageAssets, pathsOf } from './documents.ts';
import { keepKeyUse } from './key-use.ts';
import { type OpenDatabase, openForServer } from './open-database.ts';
import { peopleOf } from './people.ts';
import { programVersion } from './program-version.ts';
import { dashboardReader, findingReader, runReader } from './readers.ts';
import { createDecoder } from './request-decoder.ts';
import { listenersOf, type SiteDependencies } from './sites.ts';
import type { StopOrder } from './stop-order.ts';
import { repeat } from './upkeep.ts';

const PARTITION_UPKEEP_MS = 60 * 60_000;
/** Listeners close what is still open by themselves before that. */
const REQUESTS_STOP_LIMIT_MS = 30_000;
/** A task under way reads and matches a few runs; their leases bring them back if it is cut off. */
const PASS_STOP_LIMIT_MS = 30_000;
/** The embedded server's own stop is bounded by 75 seconds. */
const DATABASE_STOP_LIMIT_MS = 90_000;

export interface Started {
  readonly ports: { readonly base: number; readonly observe: number; readonly admin: number };
  readonly databaseWhere: string;
  readonly catalog: Catalog;
  readonly counts: SupportCounts;
  readonly firstKeys: FirstKeys | null;
}

function ruleReader(catalog: Catalog, counts: SupportCounts, database: Database): RuleReader {
  return {
    snapshot: catalog.snapshot,
    rules: catalog.rules,
    counts,
    decide,
    settings: async (workspaceId) => {
      const settings = (await readWorkspaceSettings(database, [workspaceId])).get(workspaceId);
      return settings ?? { experimental: false, overrides: new Map<string, boolean>() };
    },
  };
}

function probesOf(database: Database, corpusProbe: Probe, pass: Pass): Map<string, Probe> {
  return new Map<string, Probe>([
    ['db', () => ping(database)],
    ['migrations', createMigrationsProbe(database)],
    ['corpus', corpusProbe],
    ['pass', () => pass.check()],
  ]);
}

async function openListeners(
  config: Config,
  sites: SiteDependencies,
  events: Events,
  stops: StopOrder,
): Promise<Started['ports']> {
  const listeners: Listener[] = [];
  const closeAll = async (): Promise<void> => {
    await Promise.all(listeners.map((listener) => listener.close()));
  };
  stops.add('requests under way', closeAll, REQUESTS_STOP_LIMIT_MS);
  for (const settings of listenersOf(config, sites)) {
    listeners.push(await openListener(settings, events));
  }
  stops.add('new connections', () => {
    for (const listener of listeners) listener.drain();
  });
  const [base = 0, ...others] = listeners.map(({ port }) => port);
  return {
    base,
    observe: others.length === 2 ? (others[0] ?? 0) : base,
    admin: others.at(-1) ?? 0,
  };
}

/**
 * Opens the database, with a partition for every row that may come, and keeps it so. Nobody waits
 * for old partitions to go: somebody may be reading them.
 */
async function openTables(config: Config, events: Events, stops: StopOrder): Promise<OpenDatabase> {
  const open = await openForServer(config, events);
  stops.add('database', open.close, DATABASE_STOP_LIMIT_MS);
  const { database } = open;
  await ensureDays(database, Date.now(), events);
  const turn = async (): Promise<void> => {
    await ensureDays(database, Date.now(), events);
    await dropOutdated(database, Date.now(), config.retentionDays, events);
  };
  const upkeep = repeat(turn, PARTITION_UPKEEP_MS, events.maintenanceFailed, { atOnce: true });
  stops.add('upkeep', upkeep.stop);
  return open;
}

/**
 * Starts the server.
 *
 * @param stops takes note of every part as it starts, so that a start that fails half-way can be
 *   undone
 * @throws {OperatorError} with one line for the person who started it
 */
export async function serve(
  config: Config,
  { events, metrics }: { events: Events; metrics: Metrics },
  stops: StopOrder,
): Promise<Started> {
  const corpusTask = { packageDir: corpusPackageDir(), manifestPath: MANIFEST_PATH };
  // Twice: here, so that a tampered corpus is refused before anything starts; and on the thread
  // that parses the files, so that what is parsed is what was verified.
  verifyCorpus(corpusTask.packageDir, loadManifest(MANIFEST_PATH));
  const corpus = buildCatalog(corpusTask);
  // Its failure is awaited below; until then it must not count as unhandled.
  corpus.catch(() => {});
  const open = await openTables(config, events, stops);
  const { database } = open;
  const catalog = await corpus;
  const counts = supportCounts(catalog.rules);
  const firstKeys = await ensureFirstWorkspace(database, config);

  const minuteCounts = createMinuteCounts(config.redisUrl, events);
  stops.add('limit counts', minuteCounts.close);
  const rateLimiter = createRateLimiter(minuteCounts);
  const { pass, workers } = createPass(config, open, catalog, events);
  stops.add('workers', workers.close);
  stops.add('pass', () => pass.stop(), PASS_STOP_LIMIT_MS);
  const corpusProbe = watchCorpus(workers, corpusTask, events, stops);
  const writer = new CopyWriter(database, { inflightBytesMax: config.maxInflightBytes }, events);
  stops.add('writer', () => writer.close());
  const authenticator = createAuthenticator({
    digest: digestKey,
    find: (digest) => findCredential(database, digest),
    noteUse: keepKeyUse((ids) => recordKeyUse(database, ids), events, stops),
  });
  stops.add('key changes', listenForRevokedKeys(open.url, authenticator.forget, events).close);
  const readers = {
    rules: ruleReader(catalog, counts, database),
    findings: findingReader(database),
    runs: runReader(database),
  };
  const assets = pageAssets();
  const version = programVersion();
  const apiDocument = createApiDocument({ ...config, version, book: readers.rules });
  const documentation = loadDocumentation(
    { brand: config.brand, baseUrl: config.baseUrl, version, assets: pathsOf(assets) },
    apiDocument,
    assets,
  );
  const ports = await openListeners(
    config,
    {
      ingest: {
        authenticator,
        rateLimiter,
        budget: new ByteBudget(config.maxInflightBytes),
        maxBodyBytes: config.maxBodyBytes,
        maxDecodedBodyBytes: config.maxDecodedBodyBytes,
        keepRejected: (rejected) => keepRejectedRequest(database, rejected),
        decode: createDecoder(writer),
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
      app: peopleOf(config, database, {
        ...readers,
        ...dashboardReader(database),
        ocsf: ocsfSourceOf(catalog.rules, programVersion()),
        sessionLimiter: createSessionLimiter(minuteCounts),
        signInLimiter: createSignInLimiter(minuteCounts),
        shell: { brand: config.brand, assets: pathsOf(assets) },
        events,
      }),
      probes: probesOf(database, corpusProbe, pass),
      aids: new Map(minuteCounts.ping === null ? [] : [['redis', minuteCounts.ping]]),
      documentation,
      apiDocument,
      assets,
      metrics,
    },
    events,
    stops,
  );
  pass.start();
  return { ports, databaseWhere: open.where, catalog, counts, firstKeys };
}
