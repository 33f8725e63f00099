/**
 * A PostgreSQL client that authenticates by SCRAM-SHA-256 only, and requires the server's half of
 * it: the proof that the server knows the password as well.
 *
 * pg itself sends the password in clear, or its MD5, to any server that requests it, and its
 * statements to a server that requests no password. A program that listens on the port of a server
 * that is down would receive the password, or customers' rows. Same meaning as libpq's
 * `require_auth=scram-sha-256`, and enabled by the same parameter in the url.
 */
import pg from 'pg';

import { OperatorError } from '../../errors.ts';

const REQUIRE_AUTH = 'require_auth';
const SCRAM = 'scram-sha-256';

/** The parts of `pg.Client` that are overridden and not in its types (pg 8.23, `lib/client.js`). */
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

/** As `pg.Client`; when the server does not do SCRAM, `connect()` rejects and nothing more is sent. */
export class ScramClient extends pg.Client {
  #isProved = false;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    inner(this).connection.on('authenticationOk', () => {
      if (!this.#isProved)
        this.#refuse('accepts the login without a proof that it knows the password');
    });
  }

  _handleAuthCleartextPassword(): void {
    this.#refuse('requests the password in clear');
  }

  _handleAuthMD5Password(): void {
    this.#refuse('requests the MD5 of the password');
  }

  /** The last message of SCRAM: the server's signature. */
  _handleAuthSASLFinal(message: unknown): void {
    if (!inner(this).saslSession) {
      this.#refuse('ends a SCRAM exchange that was not begun');
      return;
    }
    base._handleAuthSASLFinal.call(this, message);
    // pg clears the session only when the signature was right.
    this.#isProved = inner(this).saslSession === null;
  }

  /** Can arrive in the same packet as the message that was refused. */
  _handleReadyForQuery(message: unknown): void {
    if (this.#isProved) base._handleReadyForQuery.call(this, message);
  }

  #refuse(what: string): void {
    const { connection } = inner(this);
    connection.emit(
      'error',
      new Error(`refused: the server ${what}, and only SCRAM-SHA-256 is allowed`),
    );
    connection.stream.destroy();
  }
}

/** The client for `url`: one that only does SCRAM where the url says `require_auth=scram-sha-256`. */
export function clientOf(url: string): typeof pg.Client {
  const required = new URL(url).searchParams.get(REQUIRE_AUTH);
  if (required === null) return pg.Client;
  if (required === SCRAM) return ScramClient;
  throw new OperatorError(`DATABASE_URL: ${REQUIRE_AUTH} must be ${SCRAM}`);
}

export function requireScram(url: string): string {
  const result = new URL(url);
  result.searchParams.set(REQUIRE_AUTH, SCRAM);
  return result.href;
}
