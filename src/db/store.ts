/**
 * The reads and changes of the HTTP routes, grouped by subject, on three databases: reads and changes
 * of workspaces, which take turns, and accounts.
 *
 * `main` creates the store and hands it to `http`, which imports its type and nothing else of `db`.
 * Reads and writes are defined in `alerts/`, `findings/`, `runs/` and `people/`; here they are only named.
 */
import type { Hex16 } from '../model/json.ts';
import type { Actor } from '../model/people.ts';
import type { TriageChange } from '../model/triage.ts';
import { listDead, listDeliveries, logTest } from './alerts/deliveries.ts';
import {
  createDestination,
  deleteDestination,
  findDestination,
  listDestinations,
  pauseDestination,
  renewSecret,
  resendDead,
  updateDestination,
} from './alerts/destinations.ts';
import type { DatabaseFor, WorkspaceReader } from './connection-turns.ts';
import { type Database, inTransaction } from './database.ts';
import { createException, endException } from './findings/exception-writes.ts';
import { exceptionOffer, exceptionsFor, listExceptions } from './findings/exceptions.ts';
import { listFindingGroups } from './findings/finding-groups.ts';
import { listFindings } from './findings/finding-list.ts';
import { findNeighbours } from './findings/finding-neighbours.ts';
import { countFindings, suggestNames } from './findings/finding-totals.ts';
import {
  deleteFindingView,
  listFindingViews,
  saveFindingView,
  setDefaultFindingView,
} from './findings/finding-views.ts';
import { findFinding, findPlace, listFindingFacts } from './findings/findings.ts';
import { incidentOfRun, listIncidents } from './findings/incidents.ts';
import { createOverviewReader } from './findings/overview.ts';
import { noteOverviewVisit } from './findings/overview-visits.ts';
import { readRuleRecord, readRuleRecords } from './findings/rule-record.ts';
import { readRuleSettings } from './findings/rule-settings.ts';
import { resetRules, setExperimental, setOverride } from './findings/rule-writes.ts';
import { readTriage } from './findings/triage.ts';
import { triageFindings } from './findings/triage-writes.ts';
import { listAudit } from './people/audit.ts';
import { endSessions } from './people/cli-logins.ts';
import {
  beginDeviceLogin,
  decideDeviceLogin,
  findDeviceLogin,
  parseUserCode,
  pollDeviceLogin,
} from './people/device-logins.ts';
import { findInvitationByToken, listInvitations } from './people/invitations.ts';
import { findKeyArrival, listKeys, type NewKey } from './people/keys.ts';
import {
  acceptInvitation,
  createInvitation,
  removeMember,
  revokeInvitation,
  setRole,
} from './people/member-writes.ts';
import { listMembers, listMemberships } from './people/memberships.ts';
import {
  createSession,
  findCliSession,
  findSession,
  listSessions,
  type NewSession,
  revokeToken,
  switchSession,
} from './people/sessions.ts';
import { signInByPassword, signInByProvider } from './people/sign-in.ts';
import { changePassword } from './people/user-writes.ts';
import { findAccountId, hashPasswordOf } from './people/users.ts';
import {
  createRecordedKey,
  renameWorkspace,
  revokeRecordedKey,
  setRecordedKeyLimit,
  setRedaction,
} from './people/workspace-writes.ts';
import { findWorkspaceById, redactsExcerpts } from './people/workspaces.ts';
import {
  cancelPreview,
  findPreview,
  latestPreview,
  listPreviews,
  startPreview,
} from './previews/previews.ts';
import { fromPrimary, type ReadChoice } from './replica/read-choice.ts';
import { findRun, listRuns, suggestRunNames } from './runs/runs.ts';
import { listRefusedRequests } from './telemetry/refused-requests.ts';

/**
 * Most revoked keys that a page lists, the latest: an admin may create and revoke any number of
 * keys.
 */
const REVOKED_KEYS_LISTED = 200;

/** Accepts an invitation: a signed-in user, or a new person who chooses a name and a password. */
export type Accepting =
  | { readonly userId: number }
  | { readonly displayName: string; readonly password: string };

async function findInvitation(database: Database, token: string) {
  const { email, role, workspaceId } = await findInvitationByToken(database, token);
  const workspace = await findWorkspaceById(database, workspaceId);
  return { email, role, workspace: workspace?.name ?? '' };
}

async function accept(database: Database, token: string, accepting: Accepting, origin: string) {
  // Before the password is hashed: a made-up token must not cause that work.
  const { workspaceId, email } = await findInvitationByToken(database, token);
  const user = await acceptInvitation(
    database,
    token,
    'userId' in accepting
      ? accepting
      : {
          displayName: accepting.displayName,
          passwordHash: await hashPasswordOf(database, email, accepting.password),
        },
    origin,
  );
  const workspace = await findWorkspaceById(database, workspaceId);
  return { id: user.id, workspaceSlug: workspace?.slug ?? '' };
}

/** Adds a last argument: a signal that is aborted when nobody waits for the result any more. */
type Signalled<Functions> = {
  readonly [Name in keyof Functions]: Functions[Name] extends (
    ...given: infer Given
  ) => infer Result
    ? (...given: [...Given, signal?: AbortSignal | undefined]) => Result
    : never;
};

/** Binds functions of a workspace to the database that `read` chooses for each call. */
function bindTo<Functions extends Readonly<Record<string, UnboundOfWorkspace>>>(
  read: ReadChoice['read'] | ReadChoice['find'],
  functions: Functions,
  use: Omit<WorkspaceReader, 'workspaceId'> = {},
): Signalled<Bound<Functions>> {
  const bound = Object.entries(functions).map(([name, run]) => [
    name,
    (workspaceId: number, ...given: unknown[]) => {
      const last = given.at(-1);
      const signal = last instanceof AbortSignal ? last : undefined;
      const rest = (signal === undefined ? given : given.slice(0, -1)) as never[];
      const reader = { ...use, workspaceId, signal };
      return read(reader, (database) => run(database, workspaceId, ...rest));
    },
  ]);
  return Object.fromEntries(bound) as Signalled<Bound<Functions>>;
}

/**
 * The reads of the pages and the API that may show a state of some seconds ago. What must be fresh is
 * not among them: sessions, members, keys, settings of rules, exceptions, previews, the audit log.
 *
 * @param nowMs milliseconds since 1970, of the state that is read
 */
export function createReads(choice: ReadChoice, nowMs: () => number) {
  const { read, find } = choice;
  const EXPORT = { isExport: true };
  return {
    ...bindTo(read, { ruleRecord: readRuleRecord, ruleRecords: readRuleRecords }),
    ...bindTo(find, { findRun: findRunSummary }),
    overview: createOverviewReader(read, nowMs),
    findings: {
      ...bindTo(read, {
        list: listFindings,
        count: countFindings,
        groups: listFindingGroups,
        incidents: listIncidents,
        incidentOf: incidentOfRun,
        names: suggestNames,
        neighbours: findNeighbours,
      }),
      ...bindTo(read, { page: listFindingFacts }, EXPORT),
      ...bindTo(find, { find: findFinding, place: findPlace }),
      settledBefore: (workspaceId: number) => choice.settledBefore({ ...EXPORT, workspaceId }),
    },
    triage: bindTo(read, { read: readTriage }),
    runs: bindTo(read, { list: listRuns, names: suggestRunNames }),
  };
}

export type Reads = Readonly<ReturnType<typeof createReads>>;

/** The store with other reads. */
export function withReads(store: Store, reads: Reads): Store {
  return { ...store, ...reads, triage: { ...store.triage, ...reads.triage } };
}

async function findRunSummary(database: Database, workspaceId: number, runId: Hex16) {
  return (await findRun(database, workspaceId, runId))?.run ?? null;
}

const triageAs =
  (canEmail: boolean) =>
  (database: Database, workspaceId: number, change: TriageChange, actor: Actor) =>
    triageFindings(database, workspaceId, change, actor, canEmail);

const openSession = (database: Database, session: NewSession) =>
  inTransaction(database, (connection) => createSession(connection, session));

/** The functions without their first parameter, the database. */
type Bound<Functions> = {
  readonly [Name in keyof Functions]: Functions[Name] extends (
    database: Database,
    ...rest: infer Rest
  ) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

type Unbound = (database: Database, ...rest: never[]) => unknown;
type UnboundOfWorkspace = (
  database: Database,
  workspaceId: number,
  ...rest: never[]
) => Promise<unknown>;

function bind<Functions extends Readonly<Record<string, Unbound>>>(
  database: Database,
  functions: Functions,
): Bound<Functions> {
  const bound = Object.entries(functions).map(([name, run]) => [name, run.bind(null, database)]);
  return Object.fromEntries(bound) as Bound<Functions>;
}

export type Store = Readonly<ReturnType<typeof createStore>>;

/** The databases of a store; several may be the same one. */
export interface StoreDatabases {
  readonly reads: DatabaseFor;
  /** for changes of a workspace */
  readonly writes: DatabaseFor;
  /** for sign-in and sessions, which belong to no workspace */
  readonly accounts: Database;
}

interface StoreSettings {
  readonly brand: string;
  readonly nowMs: () => number;
  readonly canEmail: boolean;
}

/** Uses one database for everything, as commands do. */
export function sameForAll(database: Database): StoreDatabases {
  return { reads: () => database, writes: () => database, accounts: database };
}

/**
 * @param settings.brand the beginning of new keys
 * @param settings.nowMs milliseconds since 1970, by PostgreSQL's clock
 * @param settings.canEmail whether a mail server is set up
 */
export function createStore(
  { reads: readsFor, writes: writesFor, accounts }: StoreDatabases,
  { brand, nowMs, canEmail }: StoreSettings,
) {
  const primary = fromPrimary(readsFor);
  const reads = createReads(primary, nowMs);
  const { read } = primary;
  const write = fromPrimary(writesFor).read;
  return {
    ...reads,
    ...bind(accounts, { findSession, findInvitation, signInByProvider }),
    ...bindTo(read, {
      audit: listAudit,
      ruleSettings: readRuleSettings,
      refused: listRefusedRequests,
      redacts: redactsExcerpts,
      // Reads thousands of findings, and writes a time.
      noteOverviewVisit,
    }),
    exceptions: {
      ...bindTo(read, { list: listExceptions, of: exceptionsFor, offer: exceptionOffer }),
      ...bindTo(write, { create: createException, end: endException }),
    },
    findingViews: {
      ...bindTo(read, { list: listFindingViews }),
      ...bindTo(write, {
        save: saveFindingView,
        setDefault: setDefaultFindingView,
        delete: deleteFindingView,
      }),
    },
    triage: { ...reads.triage, ...bindTo(write, { change: triageAs(canEmail) }) },
    previews: {
      ...bindTo(read, { list: listPreviews, find: findPreview, latest: latestPreview }),
      ...bindTo(write, { start: startPreview, cancel: cancelPreview }),
    },
    accounts: bind(accounts, {
      checkPassword: signInByPassword,
      findId: findAccountId,
      changePassword,
      openSession,
      workspacesOf: listMemberships,
      sessionsOf: listSessions,
      switchSession,
      revokeToken,
      endSessions,
    }),
    cliLogins: {
      ...bind(accounts, {
        begin: beginDeviceLogin,
        find: findDeviceLogin,
        decide: decideDeviceLogin,
        findSession: findCliSession,
        end: endSessions,
      }),
      parseUserCode,
      poll: (deviceCode: string) => pollDeviceLogin(accounts, deviceCode, brand),
    },
    members: {
      ...bindTo(read, { list: listMembers, invitations: listInvitations }),
      ...bindTo(write, { setRole, remove: removeMember, createInvitation, revokeInvitation }),
      ...bind(accounts, { accept }),
    },
    keys: {
      ...bindTo(read, { arrival: findKeyArrival }),
      ...bindTo(write, { revoke: revokeRecordedKey, setLimit: setRecordedKeyLimit }),
      list: (workspaceId: number) =>
        listKeys(readsFor({ workspaceId }), workspaceId, REVOKED_KEYS_LISTED),
      create: (workspaceId: number, key: Omit<NewKey, 'workspaceId' | 'brand'>, actor: Actor) =>
        createRecordedKey(writesFor({ workspaceId }), { ...key, workspaceId, brand }, actor),
    },
    alerts: {
      ...bindTo(read, {
        list: listDestinations,
        find: findDestination,
        deliveries: listDeliveries,
        dead: listDead,
      }),
      ...bindTo(write, {
        create: createDestination,
        update: updateDestination,
        pause: pauseDestination,
        delete: deleteDestination,
        renewSecret,
        resend: resendDead,
      }),
      logTest: (
        destination: Parameters<typeof logTest>[1],
        result: Parameters<typeof logTest>[2],
      ) => logTest(writesFor(destination), destination, result),
    },
    settings: bindTo(write, {
      setExperimental,
      setOverride,
      resetRules,
      rename: renameWorkspace,
      setRedaction,
    }),
  };
}
