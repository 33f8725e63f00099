/**
 * Sends all statements of a transaction at once and waits for one answer. Statement by statement would
 * cost a round trip each, on a busy event loop with a wait each, while PostgreSQL is idle and the
 * transaction holds its locks.
 *
 *   BEGIN, Parse, Bind, Execute … CopyData … Sync ──► one ReadyForQuery ──► COMMIT ──► one more
 *
 * Behind a pooler the next transaction may get another session. So the time limit is the transaction's
 * own, and statements have names only on a connection that is known to lead to PostgreSQL itself.
 *
 * After an error the server skips what follows up to the Sync (PostgreSQL's protocol, "Extended Query:
 * Pipelining"). CopyData needs no CopyInResponse before it: messages are read in order, and those of a
 * COPY that failed are skipped with the rest. COMMIT is sent afterwards: a server that hangs must not
 * commit later what was refused meanwhile.
 *
 * Parameters are serialized a few at a time: steps are generated as they are sent, and past
 * `TURN_CHARACTERS`, or at `NEXT_TURN`, the rest is sent in the event loop's next turn.
 */
import { Buffer } from 'node:buffer';
import type pg from 'pg';

import { type Connection, STATEMENT_TIMEOUT_MS } from './database.ts';
import { localTimeout } from './limited-query.ts';
import { announcedPid } from './route.ts';

export type Cell = string | number | boolean | null;

/** A statement whose parameters are arrays: many rows, column by column. */
export interface Statement {
  /** one of few: prepared once per connection, where connections keep their session */
  readonly text: string;
  readonly columns: readonly (readonly Cell[])[];
}

/** COPY … FROM STDIN of rows that are all in memory. */
export interface Copy {
  /** as `text` of a statement */
  readonly copy: string;
  /** header and trailer of COPY's form included; read until the pipeline has succeeded */
  readonly pieces: readonly Buffer[];
}

/**
 * The frame of rows in binary form (PostgreSQL manual, COPY, "Binary Format").
 *
 *   header:  "PGCOPY\n" 0xff "\r\n" 0x00 | int32 flags = 0 | int32 extension length = 0
 *   row:     int16 fields | per field: int32 length (-1 = null), bytes
 *   trailer: int16 -1
 */
export const COPY_HEADER = Buffer.from('5047434f50590aff0d0a000000000000000000', 'hex');
export const COPY_TRAILER = Buffer.from('ffff', 'hex');

/** The following steps are generated and sent in the event loop's next turn. */
export const NEXT_TURN = { isNextTurn: true } as const;

export type PipelineStep = Statement | Copy | typeof NEXT_TURN;

/** PostgreSQL's frontend/backend protocol, message formats: CopyData and CopyDone. */
const COPY_DATA = 0x64;
const COPY_DONE = Buffer.from([0x63, 0, 0, 0, 4]);
/** The kind, and a length that counts itself. */
const HEADER_BYTES = 5;
const LENGTH_BYTES = 4;

/** Characters serialized in one turn of the event loop: a few milliseconds. */
const TURN_CHARACTERS = 512 * 1024;

/** Above the caller's limit for the whole transaction, at which the connection is destroyed. */
const TIMEOUT_MS = 60_000;

function firstStatement(settings: Readonly<Record<string, string>>): string {
  const set = Object.entries(settings).map(
    ([name, value]) => `, set_config('${name}', '${value}', true)`,
  );
  return `SELECT pg_backend_pid(), extract(epoch FROM now())::float8 * 1000,
    ${localTimeout(STATEMENT_TIMEOUT_MS)}${set.join('')}`;
}

/** Statements that a connection keeps; further ones are parsed each time. */
const PREPARED_MAX = 50;

/** The names of statements that are prepared, by their text. */
type Names = Map<string, string>;

/** Of each connection that leads to PostgreSQL itself. */
const prepared = new WeakMap<pg.Connection, Names>();

/** A custom query for `pg`, which calls its methods by name. */
class Pipeline implements pg.Submittable {
  /** `pg` replaces it by one that stops its timer */
  callback: () => void = () => {};
  /** read by `pg`; the limit of a single statement is too short for all of them */
  readonly query_timeout = TIMEOUT_MS;
  readonly #steps: Iterator<PipelineStep>;
  readonly #settle: (error: Error | null) => void;
  /** the process id that the connection's start announced; a pooler announces another one */
  readonly #announcedPid: unknown;
  /** the statements that are prepared once this has succeeded; null: not to be named */
  #names: Names | null = null;
  #isDirect = false;
  #hasFailed = false;
  readonly #first: string;
  /** the transaction's `now()`, by the first statement */
  nowMs = Number.NaN;

  constructor(
    steps: Iterable<PipelineStep>,
    { first, announcedPid }: { readonly first: string; readonly announcedPid: unknown },
    settle: (error: Error | null) => void,
  ) {
    this.#first = first;
    this.#steps = steps[Symbol.iterator]();
    this.#announcedPid = announcedPid;
    this.#settle = settle;
  }

  submit(connection: pg.Connection): Error | undefined {
    const names = prepared.get(connection);
    if (names !== undefined) this.#names = new Map(names);
    const begin = (): void => {
      for (const text of ['BEGIN', this.#first]) sendParsed(connection, text, [], this.#names);
    };
    return this.#sendTurn(connection, begin) ?? undefined;
  }

  /**
   * Sends the steps of one turn of the event loop, and continues in the next. Corked, so that one
   * system call writes as much as possible. A connection to which only a part was written must not
   * be reused: the next COMMIT would store that part.
   */
  #sendTurn(connection: pg.Connection, sendFirst: () => void): Error | null {
    const { stream } = connection;
    stream.cork();
    try {
      sendFirst();
      if (this.#sendSteps(connection)) connection.sync();
      else setImmediate(() => this.#continue(connection));
      stream.uncork();
      return null;
    } catch (error) {
      stream.destroy();
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #continue(connection: pg.Connection): void {
    // The connection was lost or destroyed meanwhile; the caller has the error.
    if (connection.stream.destroyed) return;
    const failed = this.#sendTurn(connection, () => {});
    if (failed !== null) this.handleError(failed);
  }

  /** @returns true when nothing is left to send; after an error the server would skip it */
  #sendSteps(connection: pg.Connection): boolean {
    let characters = 0;
    while (characters < TURN_CHARACTERS) {
      const next = this.#hasFailed ? null : this.#steps.next();
      if (next === null || next.done === true) return true;
      if ('isNextTurn' in next.value) return false;
      if ('copy' in next.value) sendCopy(connection, next.value, this.#names);
      else characters += sendStatement(connection, next.value, this.#names);
    }
    return false;
  }

  handleCopyInResponse(): void {}

  handleCommandComplete(): void {}

  /** The only row is the one of the first statement. */
  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#isDirect = Number(fields[0]) === this.#announcedPid;
    this.nowMs = Number(fields[1]);
  }

  handleReadyForQuery(connection: pg.Connection): void {
    if (this.#isDirect) prepared.set(connection, this.#names ?? new Map());
    this.callback();
    this.#settle(null);
  }

  /** The server skips what was written, up to the Sync, and is then ready again. */
  handleError(error: Error): void {
    this.#hasFailed = true;
    this.callback();
    this.#settle(error);
  }
}

/**
 * The name of a statement that the connection has prepared; it is prepared now if it is not yet. The
 * empty name is replaced by the next statement.
 */
function parsed(connection: pg.Connection, text: string, names: Names | null): string {
  const known = names?.get(text);
  if (known !== undefined) return known;
  const name = names === null || names.size >= PREPARED_MAX ? '' : `s${names.size}`;
  // A pipeline that failed later may have prepared it. Closing a name that is free is no error.
  if (name !== '') connection.close({ type: 'S', name }, true);
  connection.parse({ name, text, types: [] }, true);
  if (name !== '') names?.set(text, name);
  return name;
}

function sendParsed(
  connection: pg.Connection,
  text: string,
  values: string[],
  names: Names | null,
): void {
  connection.bind({ statement: parsed(connection, text, names), values }, true);
  connection.execute(null, true);
}

function sendStatement(
  connection: pg.Connection,
  { text, columns }: Statement,
  names: Names | null,
): number {
  const values = columns.map(arrayLiteral);
  sendParsed(connection, text, values, names);
  return values.reduce((sum, { length }) => sum + length, 0);
}

function sendCopy(connection: pg.Connection, { copy, pieces }: Copy, names: Names | null): void {
  sendParsed(connection, copy, [], names);
  const { stream } = connection;
  const headers = Buffer.allocUnsafe(HEADER_BYTES * pieces.length);
  pieces.forEach((piece, index) => {
    const at = index * HEADER_BYTES;
    headers[at] = COPY_DATA;
    headers.writeUInt32BE(piece.length + LENGTH_BYTES, at + 1);
    stream.write(headers.subarray(at, at + HEADER_BYTES));
    stream.write(piece);
  });
  stream.write(COPY_DONE);
}

/** A column as PostgreSQL reads an array of one dimension: `{1,NULL,"two \"words\""}`. */
export function arrayLiteral(cells: readonly Cell[]): string {
  return `{${cells.map(cellLiteral).join(',')}}`;
}

const NEEDS_ESCAPE = /["\\]/;

function cellLiteral(cell: Cell): string {
  if (cell === null) return 'NULL';
  if (typeof cell !== 'string') return String(cell);
  // `replace` that replaces nothing takes three times as long.
  return NEEDS_ESCAPE.test(cell) ? `"${cell.replace(/["\\]/g, '\\$&')}"` : `"${cell}"`;
}

export interface PipelineSettings {
  /** PostgreSQL's settings for the transaction: plain words and numbers */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * Called before COMMIT is sent; what it throws prevents it. Unless COMMIT fails with a warning, an error
   * after that does not say whether it succeeded.
   *
   * @param nowMs the transaction's `now()`, in milliseconds since 1970
   */
  readonly beforeCommit?: (nowMs: number) => void;
}

/** Runs the steps in one transaction, on a connection that is in none. After an error it is still open. */
export async function runPipeline(
  connection: Connection,
  steps: Iterable<PipelineStep>,
  { settings = {}, beforeCommit = () => {} }: PipelineSettings = {},
): Promise<void> {
  const nowMs = await new Promise<number>((resolve, reject) => {
    const settle = (error: Error | null) =>
      error === null ? resolve(pipeline.nowMs) : reject(error);
    const begin = {
      first: firstStatement(settings),
      announcedPid: announcedPid(connection),
    };
    const pipeline = new Pipeline(steps, begin, settle);
    connection.query(pipeline);
  });
  beforeCommit(nowMs);
  await commit(connection);
}

/** SQLSTATE class of a successful completion, which notices have too. */
const SUCCESS_CLASS = '00';

/** A COMMIT whose rows are stored here, but may not have reached the synchronous standby. */
export class CommitWarning extends Error {}

/**
 * Commits. A warning means failure: with synchronous replication, PostgreSQL answers a COMMIT whose
 * wait for the standby was cancelled with success and a warning ("has already committed locally, but
 * might not have been replicated").
 */
export async function commit(connection: Connection): Promise<void> {
  const warnings: string[] = [];
  const note = ({ code = '' }: { readonly code?: string | undefined }): void => {
    if (!code.startsWith(SUCCESS_CLASS)) warnings.push(code);
  };
  connection.on('notice', note);
  try {
    await connection.query('COMMIT');
  } finally {
    connection.off('notice', note);
  }
  if (warnings.length > 0) {
    throw new CommitWarning(
      `PostgreSQL committed with a warning (SQLSTATE ${warnings.join(', ')}).`,
    );
  }
}
