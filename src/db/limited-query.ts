/**
 * A single statement with a time limit that the server enforces, for connections that may lead
 * through a pooler in transaction mode (PgBouncer): there every transaction may get another session,
 * so neither a start-up parameter nor SET would hold, and SET would stay for other clients.
 *
 *   with values:  Parse, Bind, Execute set_config(…, true) · Parse, Bind, Describe, Execute · Sync
 *   without:      Query "SELECT set_config(…, true); statement"
 *
 * Either is one implicit transaction, and the setting ends with it. (SET LOCAL would do the same, with
 * a warning in the server's log each time.) So the statement cannot be one that PostgreSQL refuses in
 * a transaction block, and has no name: the next session would not know it.
 */
import pg from 'pg';

/** The parts of `pg.Query` that are used or overridden and not in its types (pg 8.23, `lib/query.js`). */
interface Inner {
  text: string;
  requiresPreparation(): boolean;
  prepare(connection: pg.Connection): void;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: pg.Connection): void;
}

const base = pg.Query.prototype as unknown as Inner;

/** A call that sets `statement_timeout` until the transaction ends. */
export const localTimeout = (limitMs: number): string =>
  `set_config('statement_timeout', '${limitMs}', true)`;

export class LimitedQuery extends pg.Query {
  readonly #setLimit: string;
  /** the answers that come are the statement's own */
  #isLimited = false;

  constructor(limitMs: number, statement: string | pg.QueryConfig, values?: unknown[]) {
    super(statement, values);
    this.#setLimit = `SELECT ${localTimeout(limitMs)}`;
    const inner = this as unknown as Inner;
    if (!inner.requiresPreparation()) inner.text = `${this.#setLimit}; ${inner.text}`;
  }

  /** Called by `pg` for a statement with values. */
  prepare(connection: pg.Connection): void {
    connection.parse({ name: '', text: this.#setLimit, types: [] }, true);
    connection.bind({ values: [] }, true);
    connection.execute(null, true);
    base.prepare.call(this, connection);
  }

  handleRowDescription(message: unknown): void {
    if (this.#isLimited) base.handleRowDescription.call(this, message);
  }

  handleDataRow(message: unknown): void {
    if (this.#isLimited) base.handleDataRow.call(this, message);
  }

  handleCommandComplete(message: unknown, connection: pg.Connection): void {
    if (this.#isLimited) base.handleCommandComplete.call(this, message, connection);
    this.#isLimited = true;
  }
}
