/**
 * A client that gives its password to nobody: it proves that it knows it by SCRAM-SHA-256, lets the server
 * prove the same, and refuses to go on any other way.
 *
 * pg by itself answers whatever a server asks for: the password in clear, its MD5, or nothing at all, after
 * which it sends its statements. So a program that took the port of a server that is down would be told
 * the password, or the rows. As libpq's `require_auth=scram-sha-256`, and asked for by the same word in
 * the url.
 */
import pg from 'pg';

import { OperatorError } from '../errors.ts';

const REQUIRE_AUTH = 'require_auth';
const SCRAM = 'scram-sha-256';

/** What of `pg.Client` is taken over here; its types do not show it (pg 8.23, `lib/client.js`). */
interface Inner {
  connection: {
    on(event: 'authenticationOk', listener: () => void): void;
    emit(event: 'error', error: Error): void;
    stream: { destroy(): void };
  };
  saslSession?: object | null;
  _handleAuthSASLFinal(message: unknown): void;
  _handleReadyForQuery(message: unknown): void;
}

const inner = (client: pg.Client): Inner => client as unknown as Inner;
const base = pg.Client.prototype as unknown as Inner;

/** As `pg.Client`; `connect()` rejects, and nothing more is sent, when the server wants no SCRAM. */
export class ScramClient extends pg.Client {
  #isProved = false;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    inner(this).connection.on('authenticationOk', () => {
      if (!this.#isProved) this.#refuse('lets us in without a proof that it knows the password');
    });
  }

  _handleAuthCleartextPassword(): void {
    this.#refuse('asks for the password in clear');
  }

  _handleAuthMD5Password(): void {
    this.#refuse('asks for the MD5 of the password');
  }

  /** The server's last word: that it knows the password as well. */
  _handleAuthSASLFinal(message: unknown): void {
    if (!inner(this).saslSession) {
      this.#refuse('ends a proof that was not begun');
      return;
    }
    base._handleAuthSASLFinal.call(this, message);
    // Gone only when its signature was right.
    this.#isProved = inner(this).saslSession === null;
  }

  /** May be in the same packet as what we refused. */
  _handleReadyForQuery(message: unknown): void {
    if (this.#isProved) base._handleReadyForQuery.call(this, message);
  }

  #refuse(what: string): void {
    const { connection } = inner(this);
    connection.emit(
      'error',
      new Error(`what listens there is not our PostgreSQL: it ${what}, and we only do SCRAM`),
    );
    connection.stream.destroy();
  }
}

/**
 * The client for `url`: one that only does SCRAM where the url says `require_auth=scram-sha-256`.
 *
 * @throws OperatorError when the url requires something else
 */
export function clientOf(url: string): typeof pg.Client {
  const required = new URL(url).searchParams.get(REQUIRE_AUTH);
  if (required === null) return pg.Client;
  if (required === SCRAM) return ScramClient;
  throw new OperatorError(`DATABASE_URL: ${REQUIRE_AUTH} can be ${SCRAM} and nothing else`);
}

/** The same url, for SCRAM only. */
export function requireScram(url: string): string {
  const result = new URL(url);
  result.searchParams.set(REQUIRE_AUTH, SCRAM);
  return result.href;
}
