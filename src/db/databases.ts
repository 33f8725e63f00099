/**
 * The database as routes and commands use it: they call the functions of `alerts/`, `findings/`, `people/`,
 * `previews/` and `runs/` through it.
 *
 *   read, find ─► replica or primary     readFresh ─► primary     write ─► primary     accounts ─► primary
 *
 * Only `accounts` is without turns: sign-in and sessions belong to no workspace.
 */
import type { DatabaseFor, WorkspaceReader } from './connection-turns.ts';
import type { Database } from './database.ts';
import { fromPrimary, type ReadChoice } from './replica/read-choice.ts';

type Reader = number | WorkspaceReader;

type OfWorkspace<Given extends unknown[], Result> = (
  database: Database,
  workspaceId: number,
  ...given: Given
) => Promise<Result>;

type Call = <Given extends unknown[], Result>(
  run: OfWorkspace<Given, Result>,
  reader: Reader,
  ...given: Given
) => Promise<Result>;

export interface DatabaseSources {
  readonly reads: DatabaseFor;
  readonly writes: DatabaseFor;
  readonly accounts: Database;
}

export interface Databases {
  /**
   * Reads a state that may be some seconds old. Sessions, members, keys, settings of rules, exceptions,
   * previews and the audit log must be fresh.
   */
  readonly read: Call;
  /** As `read`; what the replica does not have is looked up on the primary. */
  readonly find: <Given extends unknown[], Result>(
    run: OfWorkspace<Given, Result | null>,
    reader: Reader,
    ...given: Given
  ) => Promise<Result | null>;
  readonly readFresh: Call;
  readonly write: Call;
  readonly settledBefore: ReadChoice['settledBefore'];
  readonly accounts: Database;
}

const toReader = (reader: Reader): WorkspaceReader =>
  typeof reader === 'number' ? { workspaceId: reader } : reader;

const callThrough =
  (read: ReadChoice['read']): Call =>
  (run, reader, ...given) => {
    const by = toReader(reader);
    return read(by, (database) => run(database, by.workspaceId, ...given));
  };

export function createDatabases(
  { reads, writes, accounts }: DatabaseSources,
  choice: ReadChoice = fromPrimary(reads),
): Databases {
  return {
    read: callThrough(choice.read),
    find: (run, reader, ...given) => {
      const by = toReader(reader);
      return choice.find(by, (database) => run(database, by.workspaceId, ...given));
    },
    readFresh: callThrough(fromPrimary(reads).read),
    write: callThrough(fromPrimary(writes).read),
    settledBefore: choice.settledBefore,
    accounts,
  };
}

/** Uses one database for everything, as commands do. */
export function sameForAll(database: Database): Databases {
  const always = () => database;
  return createDatabases({ reads: always, writes: always, accounts: database });
}
