/**
 * Everything that is needed to take requests: writer, authentication, limits, and the routes of base
 * and observe. Takes no socket and starts no listener.
 *
 * Counted in this process: cached keys, prompts of sessions, exports and password checks under way,
 * bytes in flight and a workspace's share of them. Requests per minute are counted in Redis, if there
 * is one.
 */
import type { Config } from '../../config/config.ts';
import { createStandbyProbe } from '../../db/commit-waits.ts';
import { type Database, ping } from '../../db/database.ts';
import type { DatabaseClock } from '../../db/database-clock.ts';
import { createMigrationsProbe } from '../../db/migrate.ts';
import { digestKey, findCredential, recordKeyUse } from '../../db/people/keys.ts';
import { fromPrimary } from '../../db/replica/read-choice.ts';
import type { ReadReplica } from '../../db/replica/read-replica.ts';
import { createStore } from '../../db/store.ts';
import type { BlockCompressor } from '../../db/telemetry/block-codec.ts';
import { CopyWriter } from '../../db/telemetry/copy-writer.ts';
import { recordRefusedRequests } from '../../db/telemetry/refused-requests.ts';
import { keepRejectedRequest } from '../../db/telemetry/rejected-requests.ts';
import type { Catalog } from '../../engine/rules/catalog.ts';
import { ocsfSourceOf } from '../../http/api/findings/ocsf.ts';
import { ExportSlots } from '../../http/api/findings/ocsf-export.ts';
import type { Probe, ProbeDependencies } from '../../http/api/open/probe-routes.ts';
import { createCookieJar } from '../../http/dashboard/sign-in/session-cookie.ts';
import { BodyGate } from '../../http/ingest/body-gate.ts';
import { ByteBudget } from '../../http/ingest/byte-budget.ts';
import { ContentDecoder } from '../../http/ingest/content-encoding.ts';
import type { IngestDependencies } from '../../http/ingest/ingest-routes.ts';
import { type Authenticator, createAuthenticator } from '../../http/limits/authentication.ts';
import type { MinuteCounts } from '../../http/limits/minute-counts.ts';
import { createPollLimiter } from '../../http/limits/poll-limiter.ts';
import { createRateLimiter } from '../../http/limits/rate-limiter.ts';
import { RefusedRequests } from '../../http/limits/refused-requests.ts';
import { createSessionLimiter } from '../../http/limits/session-limiter.ts';
import { createSignInLimiter } from '../../http/limits/sign-in-limiter.ts';
import { Turns } from '../../http/limits/turns.ts';
import type { ListenerSettings } from '../../http/transport/server.ts';
import { Ingest } from '../../ingest/ingest.ts';
import type { Events } from '../../observe/events.ts';
import { alertSenderOf } from '../alerts.ts';
import type { RequestDatabases } from '../connection-shares.ts';
import { pathsOf, sendGuides } from '../documents.ts';
import { keepKeyUse } from '../key-use.ts';
import { programVersion } from '../program-version.ts';
import { keepRefusedRequests } from '../refused-requests.ts';
import { runTimesOf } from '../run-times.ts';
import type { StopOrder } from '../stop-order.ts';
import { dashboardOf, pagesOf, ruleReader, runsOf, withReplica } from './app-parts.ts';
import { publicListeners } from './sites.ts';

/** The probes of parts that take no requests. */
export interface PartProbes {
  readonly corpus: Probe;
  readonly pass: Probe;
  readonly clock: Probe;
  /** fails until the first workspace exists */
  readonly workspace: Probe;
  /** fails while the server is being stopped */
  readonly accepting: Probe;
}

export interface AcceptorDependencies {
  readonly config: Config;
  readonly databases: RequestDatabases;
  /** read before any port is opened */
  readonly clock: Pick<DatabaseClock, 'nowMs' | 'read'>;
  readonly catalog: Catalog;
  /** requests per minute; closed by the caller */
  readonly minuteCounts: Pick<MinuteCounts, 'consume' | 'ping'>;
  readonly parts: PartProbes;
  readonly compressor: BlockCompressor;
  /** null: all reads go to the primary */
  readonly replica: ReadReplica | null;
  readonly events: Events;
}

export interface Acceptor extends Pick<ProbeDependencies, 'optionalProbes'> {
  readonly listeners: readonly ListenerSettings[];
  /** Removes a key from the cache: its next request looks it up again. */
  readonly forget: Authenticator['forget'];
}

/** The probes of `/ready`, the same on every listener. */
export function probesOf(
  database: Database,
  { corpus, pass, clock, workspace, accepting }: PartProbes,
): Map<string, Probe> {
  return new Map<string, Probe>([
    ['db', () => ping(database)],
    ['migrations', createMigrationsProbe(database)],
    ['corpus', corpus],
    ['pass', pass],
    ['clock', clock],
    ['workspace', workspace],
    ['accepting', accepting],
  ]);
}

/** The probes of parts that the server can work without: `/ready` names the failing ones. */
function optionalProbesOf(
  database: Database,
  pingRedis: Probe | null,
  replica: Pick<ReadReplica, 'check'> | null,
): ReadonlyMap<string, Probe> {
  const probes = new Map<string, Probe>();
  if (pingRedis !== null) probes.set('redis', pingRedis);
  probes.set('standby', createStandbyProbe(database));
  if (replica !== null) probes.set('replica', replica.check);
  return probes;
}

/** The parts that take telemetry, from the key to the commit. */
function ingestOf(
  { config, databases, clock, minuteCounts, compressor, events }: AcceptorDependencies,
  stops: Pick<StopOrder, 'add'>,
) {
  const { ingest } = databases;
  const { maxInflightBytes, maxBodyBytes, maxDecodedBodyBytes } = config;
  const rowBudget = new ByteBudget(maxInflightBytes);
  const settings = { budget: rowBudget, runTimes: runTimesOf(config), clock, compressor };
  const writer = new CopyWriter(ingest, settings, events);
  stops.add('writer', () => writer.close());
  const bodies = new Ingest(writer, clock.nowMs, {
    deduplicates: config.ingestDeduplicate,
    noteScannerFailure: events.scannerFailed,
  });
  stops.add('decoder of large bodies', () => bodies.close());
  const authenticator = createAuthenticator({
    digest: digestKey,
    find: (digest) => findCredential(ingest, digest),
    noteUse: keepKeyUse((ids) => recordKeyUse(ingest, ids), events, stops),
  });
  const refused = new RefusedRequests(authenticator, events);
  keepRefusedRequests(refused, (groups) => recordRefusedRequests(ingest, groups), events, stops);
  return {
    authenticator,
    rateLimiter: createRateLimiter(minuteCounts),
    gate: new BodyGate(new ByteBudget(maxInflightBytes)),
    rowBudget,
    maxBodyBytes,
    maxDecodedBodyBytes,
    answerMs: config.ingestAnswerMs,
    keepRejected: (rejected) => keepRejectedRequest(ingest, rejected),
    ingest: bodies,
    contentDecoder: new ContentDecoder(),
    turns: new Turns(),
    refused,
    events,
  } satisfies IngestDependencies;
}

/**
 * Creates everything except the sockets.
 *
 * @param stops receives the writer and other parts; listeners are to be added after
 */
export function createAcceptor(
  dependencies: AcceptorDependencies,
  stops: Pick<StopOrder, 'add'>,
): Acceptor {
  const { config, databases, clock, catalog, minuteCounts, parts, replica, events } = dependencies;
  const { reads } = databases;
  const ingest = ingestOf(dependencies, stops);
  const { authenticator, rateLimiter, refused } = ingest;
  const canEmail = config.smtp !== null;
  const store = createStore(databases, { brand: config.brand, nowMs: clock.nowMs, canEmail });
  const rules = ruleReader(catalog, store);
  const ofRuns = {
    outlines: new Turns(),
    turns: new Turns(),
    slots: new ExportSlots(),
    report: (blockId: string, { message }: Error) => events.blockUnreadable(blockId, message),
  };
  const choice = fromPrimary(reads);
  const pages = pagesOf(config, rules);
  const probes = probesOf(databases.probes, parts);
  const optionalProbes = optionalProbesOf(databases.probes, minuteCounts.ping, replica);
  const cookies = createCookieJar(config.brand, new URL(config.baseUrl).protocol === 'https:');
  const lagMs = config.databaseReadLagMaxMs;
  const app = dashboardOf(config, store, {
    ...runsOf(config, store, choice, ofRuns),
    rules,
    nowMs: clock.nowMs,
    ocsf: ocsfSourceOf(catalog.rules, programVersion(), config.baseUrl),
    exportSlots: new ExportSlots(),
    cookies,
    changedHeaders:
      replica === null ? [] : [['set-cookie', cookies.writeChanged(Math.ceil(lagMs / 1000))]],
    replicaState: () => replica?.state() ?? null,
    alertSender: alertSenderOf(config, catalog, clock),
    sessionLimiter: createSessionLimiter(minuteCounts),
    signInLimiter: createSignInLimiter(minuteCounts),
    look: { brand: config.brand, assets: pathsOf(pages.assets) },
    sendGuides: () => sendGuides(pages.documentation),
    events,
  });
  const readChoice = replica?.over(reads) ?? null;
  const replicaApp =
    readChoice === null
      ? null
      : withReplica(config, app, store, readChoice, () => clock.nowMs() - lagMs, ofRuns);
  const readApp = replicaApp ?? app;
  const { findings, runs } = readApp;
  const read = { authenticator, rateLimiter, rules, findings, runs, version: programVersion() };
  const listeners = publicListeners(config, {
    ingest,
    read: { ...read, exceptions: store.exceptions, oauthProviders: config.oauthProviders, events },
    mcp: { ...readApp, ...read, redacts: store.redacts, brand: config.brand, events },
    app,
    replicaApp,
    cli: { ...app, pollLimiter: createPollLimiter(minuteCounts) },
    refused,
    probes,
    optionalProbes,
    events,
    ...pages,
  });
  return { listeners, optionalProbes, forget: authenticator.forget };
}
