/**
 * Everything that is needed to take requests: writer, authentication, limits, and the routes of base
 * and observe. Takes no socket and starts no listener.
 *
 * Counted in this process: cached keys, prompts of sessions, exports and password checks under way,
 * bytes in flight and a workspace's share of them. Requests per minute are counted in Redis, if there
 * is one.
 */

import { LRUCache } from 'lru-cache';
import type { Config } from '../../config/config.ts';
import { createStandbyProbe } from '../../db/commit-waits.ts';
import { type Database, ping } from '../../db/database.ts';
import type { DatabaseClock } from '../../db/database-clock.ts';
import { createDatabases } from '../../db/databases.ts';
import { createOverviewReader } from '../../db/findings/overview.ts';
import { createMigrationsProbe } from '../../db/migrate.ts';
import { digestKey, findCredential, recordKeyUse } from '../../db/people/keys.ts';
import { fromPrimary, type ReadChoice } from '../../db/replica/read-choice.ts';
import type { ReadReplica } from '../../db/replica/read-replica.ts';
import type { BlockCompressor } from '../../db/telemetry/block-codec.ts';
import { CopyWriter } from '../../db/telemetry/copy-writer.ts';
import { keepRejectedRequest, recordRefusedRequests } from '../../db/telemetry/refused-requests.ts';
import { createRedactor, type Redactor, redactionFaults } from '../../engine/redaction/redactor.ts';
import type { Catalog } from '../../engine/rules/catalog.ts';
import { createRuleBook } from '../../engine/rules/rule-book.ts';
import { ExportSlots } from '../../http/api/findings/finding-export.ts';
import { ocsfSourceOf } from '../../http/api/findings/ocsf.ts';
import type { Probe, ProbeDependencies } from '../../http/api/open/probe-routes.ts';
import { createApiDocument } from '../../http/api/openapi/openapi.ts';
import type { AppDependencies } from '../../http/dashboard/dashboard.ts';
import { createProviders } from '../../http/dashboard/sign-in/identity-providers.ts';
import { createCookieJar } from '../../http/dashboard/sign-in/session-cookie.ts';
import { BodyGate } from '../../http/ingest/body-gate.ts';
import { ByteBudget } from '../../http/ingest/byte-budget.ts';
import { ContentDecoder } from '../../http/ingest/content-encoding.ts';
import type { IngestDependencies } from '../../http/ingest/ingest-routes.ts';
import { type Authenticator, createAuthenticator } from '../../http/limits/authentication.ts';
import {
  createPollLimiter,
  createRateLimiter,
  createSessionLimiter,
  createSignInLimiter,
} from '../../http/limits/limiters.ts';
import type { MinuteCounts } from '../../http/limits/minute-counts.ts';
import { RefusedRequests } from '../../http/limits/refused-requests.ts';
import { Turns } from '../../http/limits/turns.ts';
import type { ListenerSettings } from '../../http/transport/server.ts';
import { Ingest } from '../../ingest/ingest.ts';
import type { Credential } from '../../model/people.ts';
import { redactionOf } from '../../model/redaction/redaction.ts';
import type { RuleBook } from '../../model/rules.ts';
import type { Events } from '../../observe/events.ts';
import type { ApiDocument } from '../../web/docs/api-document.ts';
import { alertSenderOf } from '../alerts.ts';
import type { RequestDatabases } from '../connection-shares.ts';
import { pinnedRuleFiles } from '../corpus-location.ts';
import { loadDocumentation, pageAssets, pathsOf, sendGuides } from '../documents.ts';
import { programVersion } from '../program-version.ts';
import { createRunReaders, runTimesOf } from '../run-reader.ts';
import type { StopOrder } from '../stop-order.ts';
import { flushUntilStop, keepRefusedRequests } from '../upkeep.ts';
import { publicListeners } from './sites.ts';

interface PartProbes {
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
  readonly minuteCounts: Pick<MinuteCounts, 'consume' | 'ping'>;
  readonly parts: PartProbes;
  readonly compressor: BlockCompressor;
  /** null: all reads go to the primary */
  readonly replica: ReadReplica | null;
  readonly events: Events;
}

export interface Acceptor extends Pick<ProbeDependencies, 'optionalProbes'> {
  readonly listeners: readonly ListenerSettings[];
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
    redactorOf: createRedactors(),
    contentDecoder: new ContentDecoder(),
    turns: new Turns(),
    refused,
    events,
  } satisfies IngestDependencies;
}

function pagesOf(config: Config, book: RuleBook, version: string) {
  const assets = pageAssets();
  let document: ApiDocument | undefined;
  const apiDocument = (): ApiDocument => {
    document ??= createApiDocument({ ...config, version, book });
    return document;
  };
  const { brand, baseUrl } = config;
  const site = { brand, baseUrl, version, assets: pathsOf(assets) };
  return { assets, apiDocument, documentation: loadDocumentation(site, apiDocument, assets) };
}

/** @param stops receives the writer and other parts; listeners are to be added after */
export function createAcceptor(
  dependencies: AcceptorDependencies,
  stops: Pick<StopOrder, 'add'>,
): Acceptor {
  const { config, databases, clock, catalog, minuteCounts, parts, replica, events } = dependencies;
  const { reads } = databases;
  const ingest = ingestOf(dependencies, stops);
  const { authenticator, rateLimiter, refused } = ingest;
  const version = programVersion();
  const rules = createRuleBook(catalog);
  const pages = pagesOf(config, rules, version);
  const probes = probesOf(databases.probes, parts);
  const optionalProbes = optionalProbesOf(databases.probes, minuteCounts.ping, replica);
  const { brand, baseUrl, observeUrl } = config;
  const cookies = createCookieJar(brand, new URL(baseUrl).protocol === 'https:');
  const lagMs = config.databaseReadLagMaxMs;
  const runsOf = createRunReaders(config, (blockId, { message }) =>
    events.blockUnreadable(blockId, message),
  );
  const readsOf = (choice: ReadChoice, nowMs: () => number) => ({
    db: createDatabases(databases, choice),
    runs: runsOf(choice),
    overview: createOverviewReader(choice.read, nowMs),
  });
  const app: AppDependencies = {
    ...readsOf(fromPrimary(reads), clock.nowMs),
    rules,
    readRuleFile: pinnedRuleFiles(),
    version,
    baseUrl,
    observeUrl,
    trustedHops: config.trustedProxyHops,
    providers: createProviders(config.oauthClients),
    nowMs: clock.nowMs,
    ocsf: ocsfSourceOf(catalog.rules, version, baseUrl),
    exportSlots: new ExportSlots(),
    cookies,
    changedHeaders:
      replica === null ? [] : [['set-cookie', cookies.writeChanged(Math.ceil(lagMs / 1000))]],
    replicaState: () => replica?.state() ?? null,
    redactionFaults,
    alertSender: alertSenderOf(config, catalog, clock),
    sessionLimiter: createSessionLimiter(minuteCounts),
    signInLimiter: createSignInLimiter(minuteCounts),
    look: { brand, assets: pathsOf(pages.assets) },
    sendGuides: () => sendGuides(pages.documentation),
    events,
  };
  const readChoice = replica?.over(reads) ?? null;
  const replicaApp =
    readChoice === null ? null : { ...app, ...readsOf(readChoice, () => clock.nowMs() - lagMs) };
  const { oauthProviders } = config;
  const read = { ...(replicaApp ?? app), authenticator, rateLimiter, oauthProviders };
  const listeners = publicListeners(config, {
    ingest,
    read,
    mcp: { ...read, brand },
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

const INTERVAL_MS = 30_000;

/** @param intervalMs between two writes */
export function keepKeyUse(
  record: (ids: readonly number[]) => Promise<void>,
  {
    keyUseUnrecorded: failed,
    keyUseRecorded: worked,
  }: Pick<Events, 'keyUseUnrecorded' | 'keyUseRecorded'>,
  stops: Pick<StopOrder, 'add'>,
  intervalMs: number = INTERVAL_MS,
): (id: number) => void {
  const used = new Set<number>();
  const flush = async (): Promise<void> => {
    const ids = [...used];
    used.clear();
    try {
      await record(ids);
    } catch (error) {
      for (const id of ids) used.add(id);
      throw error;
    }
  };
  flushUntilStop('key use', flush, intervalMs, { failed, worked }, stops);
  return (id) => used.add(id);
}

/** Most workspaces whose patterns are kept; those of another one are compiled again. */
const WORKSPACES_MAX = 64;

interface Kept {
  readonly settings: string;
  readonly key: Buffer;
  readonly redactor: Redactor;
}

function createRedactors(): (credential: Credential) => Redactor | null {
  const kept = new LRUCache<number, Kept>({ max: WORKSPACES_MAX });
  return ({ workspaceId, redaction }) => {
    if (redaction === null) return null;
    const { settings, key } = redaction;
    const known = kept.get(workspaceId);
    if (known?.settings === settings && known.key.equals(key)) return known.redactor;
    const redactor = createRedactor(redactionOf(settings), key);
    kept.set(workspaceId, { settings, key, redactor });
    return redactor;
  };
}
