/**
 * Wires the server: starts every part in order, and registers how to stop it.
 *
 * Start: corpus (in a separate process) and database in parallel → schema, partitions → first workspace →
 * workers, pass, which registers this process if it can read the blocks → what takes requests → listeners.
 * Nothing listens before everything behind it works.
 * Stop: not ready, for DRAIN_MS → no new connections → requests under way → key use → decoder of large bodies → writer → pass →
 * workers → database; each step has a time limit.
 */
import type { Config } from '../config/config.ts';
import type { Database } from '../db/database.ts';
import { DatabaseClock } from '../db/database-clock.ts';
import { addRuleCosts, type RuleCost } from '../db/findings/rule-costs.ts';
import { readRuleSettings } from '../db/findings/rule-settings.ts';
import { ensureFirstWorkspace, FIRST_SLUG, type FirstKeys } from '../db/people/first-start.ts';
import { listenForKeyChanges } from '../db/people/key-changes.ts';
import { firstWorkspace } from '../db/people/workspaces.ts';
import { UPKEEP_EVERY_MS } from '../db/retention/deletion.ts';
import { upkeepPartitions } from '../db/retention/partition-upkeep.ts';
import { Retention } from '../db/retention/retention.ts';
import { readBacklog } from '../db/runs/evaluation-queue.ts';
import { BlockCompressor } from '../db/telemetry/block-codec.ts';
import { ensureDays, ensureReceipts } from '../db/telemetry/partitions.ts';
import { loadManifest, verifyCorpus } from '../engine/corpus/corpus.ts';
import { runnableRules } from '../engine/rules/effective-set.ts';
import { createRuleBook } from '../engine/rules/rule-book.ts';
import type { Probe } from '../http/api/open/probe-routes.ts';
import { createMinuteCounts } from '../http/limits/minute-counts.ts';
import {
  createListenerMemory,
  type Listener,
  type ListenerMemory,
  type ListenerSettings,
  openListener,
} from '../http/transport/server.ts';
import type { RuleBook, Snapshot, StateCounts, SupportCounts } from '../model/rules.ts';
import type { Events, Observer } from '../observe/events.ts';
import type { MatchingData } from '../pool/matching-cache.ts';
import { prepareMatching } from '../pool/workers.ts';
import { endHotDays } from '../reads/end-hot-days.ts';
import { startAlerts } from './alerts.ts';
import { keepAuditHeads } from './audit-heads-file.ts';
import { openForRequests, openReplica } from './connection-shares.ts';
import { MANIFEST_PATH, pinnedCorpus } from './corpus-location.ts';
import { watchCorpus } from './corpus-watch.ts';
import { createPass, createPreviews } from './create-pass.ts';
import {
  type Acceptor,
  type AcceptorDependencies,
  createAcceptor,
  probesOf,
} from './http/acceptor.ts';
import { adminListener } from './http/sites.ts';
import { type OpenDatabase, openForServer, WITHOUT_SESSION } from './open-database.ts';
import { createRetirement, type StopOrder } from './stop-order.ts';
import { BACKLOG_COUNT_EVERY_MS, CLOCK_READ_EVERY_MS, keepRuleCosts, repeat } from './upkeep.ts';

/** No workspace has this id: nothing is set in it. */
const NO_WORKSPACE = 0;
/** Tasks under way evaluate a few runs each; if one is cut off, its runs' leases expire. */
const PASS_STOP_LIMIT_MS = 30_000;
/** The embedded server's own stop is bounded by 75 seconds. */
const DATABASE_STOP_LIMIT_MS = 90_000;

export interface Started {
  readonly ports: { readonly base: number; readonly observe: number; readonly admin: number };
  readonly databaseWhere: string;
  readonly snapshot: Snapshot;
  readonly counts: SupportCounts;
  readonly states: StateCounts;
  /** slug of the first workspace */
  readonly workspace: string;
  readonly firstKeys: FirstKeys | null;
}

/**
 * Opens the database, creates the partitions for the coming days, and keeps doing so. Does not wait
 * for outdated partitions to be dropped, because a reader may hold a lock on one.
 */
async function openTables(
  config: Config,
  events: Events,
  stops: StopOrder,
): Promise<{ open: OpenDatabase; clock: DatabaseClock }> {
  const open = await openForServer(config, events);
  stops.add('database', open.close, DATABASE_STOP_LIMIT_MS);
  const { database } = open;
  const clock = new DatabaseClock(database, events);
  await clock.read();
  const readings = repeat(() => clock.read(), CLOCK_READ_EVERY_MS, events.clockUnread);
  stops.add('clock', readings.stop);
  await ensureDays(database, clock.nowMs(), events);
  await ensureReceipts(database, clock.nowMs(), events);
  const retention = new Retention({
    telemetry: config.retentionDays,
    runs: config.runRetentionDays,
    findings: config.findingRetentionDays,
  });
  const stopping = new AbortController();
  const { hotDays } = config;
  const endDays = (nowMs: number, signal: AbortSignal) =>
    endHotDays(database, { hotDays, nowMs, signal }, events);
  const turn = () => upkeepPartitions(database, clock, retention, events, endDays, stopping.signal);
  const upkeep = repeat(turn, UPKEEP_EVERY_MS, events.maintenanceFailed, {
    atOnce: true,
    onSuccess: events.maintenanceWorked,
  });
  stops.add('upkeep', async () => {
    stopping.abort();
    await upkeep.stop();
  });
  return { open, clock };
}

/** The rules of the first workspace by state; before it exists, as they will be in it. */
async function firstWorkspaceStates(
  database: Database,
  { countStates }: RuleBook,
): Promise<{ readonly states: StateCounts; readonly slug: string }> {
  const first = await firstWorkspace(database);
  const settings = await readRuleSettings(database, first?.id ?? NO_WORKSPACE);
  return { states: countStates(settings), slug: first?.slug ?? FIRST_SLUG };
}

/** Creates the `workspace` probe, which fails until `exists` is called. */
function createWorkspaceProbe(): { readonly check: Probe; readonly exists: () => void } {
  let isThere = false;
  return {
    check: async () => {
      if (!isThere) throw new Error('the first workspace does not exist yet');
    },
    exists: () => {
      isThere = true;
    },
  };
}

/** With separate connections and counts; its listeners are opened later. */
function openAcceptor(
  open: OpenDatabase,
  others: Omit<AcceptorDependencies, 'databases' | 'minuteCounts'>,
  stops: StopOrder,
): Acceptor {
  const { config, events } = others;
  const databases = openForRequests(open.urls, events);
  stops.add('connections', databases.close);
  const minuteCounts = createMinuteCounts(config.redisUrl, events);
  stops.add('limit counts', minuteCounts.close);
  return createAcceptor({ ...others, databases, minuteCounts }, stops);
}

/** The evaluation of runs, registered and not begun. @param compressor learns the codec of new blocks */
async function openPass(
  config: Config,
  open: OpenDatabase,
  matching: MatchingData,
  compressor: BlockCompressor,
  events: Events,
  stops: StopOrder,
): Promise<ReturnType<typeof createPass>> {
  const record = (costs: readonly RuleCost[]) => addRuleCosts(open.database, costs);
  const rules = runnableRules(matching.catalog.rules);
  const onCosts = keepRuleCosts(rules, record, events, stops);
  const onCodec = (codec: number): void => compressor.use(codec);
  const created = createPass(config, open, matching, events, { onCosts, onCodec });
  stops.add('workers', created.workers.close);
  stops.add('pass', () => created.pass.stop(), PASS_STOP_LIMIT_MS);
  await created.pass.register();
  const count = async (): Promise<void> => {
    const { runs, oldestSeconds } = await readBacklog(open.database, config.runSettleMs);
    events.backlogCounted(runs, oldestSeconds);
  };
  const counting = repeat(count, BACKLOG_COUNT_EVERY_MS, events.backlogUncounted, { atOnce: true });
  stops.add('backlog', counting.stop);
  return created;
}

/** Keys that another process revokes are forgotten at once, where a session of PostgreSQL is to be had. */
function watchKeys(
  { sessionUrl }: OpenDatabase,
  acceptor: Acceptor,
  events: Events,
  stops: StopOrder,
): void {
  if (sessionUrl === null) {
    events.warned(WITHOUT_SESSION);
    return;
  }
  const keyChanges = listenForKeyChanges(sessionUrl, acceptor.forget, events);
  stops.add('key changes', keyChanges.close);
}

/**
 * @param stops receives every part as it starts, so that a failed start can be undone
 * @param onFailure called when the embedded PostgreSQL has failed for good: stop the server
 * @throws {OperatorError} with one line for the operator
 */
export async function serve(
  config: Config,
  observer: Observer,
  stops: StopOrder,
  onFailure: (what: string) => void,
): Promise<Started> {
  const { events } = observer;
  const corpusTask = pinnedCorpus();
  // Also in `prepareMatching`; here so that a tampered corpus is refused before anything starts.
  verifyCorpus(corpusTask.packageDir, loadManifest(MANIFEST_PATH));
  const preparing = prepareMatching(corpusTask, config.dataDir);
  // Its failure is awaited below; until then it must not count as unhandled.
  preparing.catch(() => {});
  const { open, clock } = await openTables(config, events, stops);
  open.supervise(events, () => onFailure('the embedded PostgreSQL does not start'));
  const matching = await preparing;
  const { catalog } = matching;
  const book = createRuleBook(catalog);
  events.corpusLoaded(book.snapshot);

  const compressor = new BlockCompressor();
  const { pass, workers } = await openPass(config, open, matching, compressor, events, stops);
  keepAuditHeads(open.database, config.dataDir, events, stops);
  const replica = openReplica(config, open.database, events);
  if (replica !== null) stops.add('read replica', () => replica.close());
  const previews = createPreviews(open, workers, matching, replica, events);
  stops.add('previews', () => previews.stop());
  const corpusProbe = watchCorpus(corpusTask, events, stops);
  const retirement = createRetirement(config.drainMs);
  const workspace = createWorkspaceProbe();
  const parts = {
    corpus: corpusProbe,
    pass: () => pass.check(),
    clock: clock.check,
    workspace: workspace.check,
    accepting: retirement.check,
  };
  const acceptor = openAcceptor(
    open,
    { config, clock, catalog, parts, compressor, replica, events },
    stops,
  );
  watchKeys(open, acceptor, events, stops);
  const { optionalProbes } = acceptor;
  const probes = { probes: probesOf(open.probes, parts), optionalProbes, events };
  const memory = createListenerMemory();
  const forOperator = [adminListener(config, observer.registry, probes)];
  const admin = await openListeners(forOperator, events, stops, memory);
  const site = await openListeners(acceptor.listeners, events, stops, memory);
  const [base = 0, observe = base] = site.ports;
  pass.start();
  previews.start();
  startAlerts({ config, database: open.database, clock, catalog, events }, stops);
  const retire = (): void => {
    site.retire();
    admin.retire();
  };
  stops.add('load balancers', () => retirement.begin(retire), retirement.limitMs);
  const { states, slug } = await firstWorkspaceStates(open.database, book);
  // Last: keys and password can be shown only once, so nothing may fail between here and there.
  const firstKeys = await ensureFirstWorkspace(open.database, config);
  workspace.exists();
  return {
    ports: { base, observe, admin: admin.ports[0] ?? 0 },
    databaseWhere: open.where,
    snapshot: book.snapshot,
    counts: book.counts,
    states,
    workspace: slug,
    firstKeys,
  };
}

/** Above the time after which listeners close their remaining connections. */
const REQUESTS_STOP_LIMIT_MS = 30_000;

interface OpenListeners {
  /** in the order of the settings */
  readonly ports: readonly number[];
  /** Answers from now on close their connections. */
  readonly retire: () => void;
}

/** Their stop is to drain, then to wait for requests under way. @throws {OperatorError} when a port is taken */
async function openListeners(
  all: readonly ListenerSettings[],
  events: Pick<Events, 'requestFailed' | 'requestUnavailable'>,
  stops: Pick<StopOrder, 'add'>,
  memory: ListenerMemory,
): Promise<OpenListeners> {
  const listeners: Listener[] = [];
  const closeAll = async (): Promise<void> => {
    await Promise.all(listeners.map((listener) => listener.close()));
  };
  stops.add('requests under way', closeAll, REQUESTS_STOP_LIMIT_MS);
  for (const settings of all) listeners.push(await openListener(settings, events, memory));
  const retire = (): void => {
    for (const listener of listeners) listener.retire();
  };
  const drain = (): void => {
    for (const listener of listeners) listener.drain();
  };
  stops.add('new connections', drain);
  return { ports: listeners.map(({ port }) => port), retire };
}
