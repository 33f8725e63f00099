/**
 * COPY … FROM STDIN of rows that are all in memory: handed to the socket at once, so that the kernel takes
 * as much as it can at a time and nobody waits between. A stream per COPY (`pg-copy-streams`) writes
 * every piece and its five bytes of header apart.
 */
import { Buffer } from 'node:buffer';
import type pg from 'pg';

import type { Connection } from './database.ts';

/** PostgreSQL's frontend/backend protocol, message formats: CopyData and CopyDone. */
const COPY_DATA = 0x64;
const COPY_DONE = Buffer.from([0x63, 0, 0, 0, 4]);
/** The kind, and a length that counts itself. */
const HEADER_BYTES = 5;
const LENGTH_BYTES = 4;

/** What `pg` asks of a query of one's own; it calls these by name. */
class CopyIn implements pg.Submittable {
  /** `pg` puts its timer's end here */
  callback: () => void = () => {};
  readonly #statement: string;
  readonly #pieces: readonly Buffer[];
  readonly #settle: (error: Error | null) => void;

  constructor(statement: string, pieces: readonly Buffer[], settle: (error: Error | null) => void) {
    this.#statement = statement;
    this.#pieces = pieces;
    this.#settle = settle;
  }

  submit(connection: pg.Connection): void {
    connection.query(this.#statement);
  }

  /** The server is ready: everything is sent, headers and all, in one go. */
  handleCopyInResponse({ stream }: pg.Connection): void {
    const headers = Buffer.allocUnsafe(HEADER_BYTES * this.#pieces.length);
    stream.cork();
    this.#pieces.forEach((piece, index) => {
      const at = index * HEADER_BYTES;
      headers[at] = COPY_DATA;
      headers.writeUInt32BE(piece.length + LENGTH_BYTES, at + 1);
      stream.write(headers.subarray(at, at + HEADER_BYTES));
      stream.write(piece);
    });
    stream.write(COPY_DONE);
    stream.uncork();
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.callback();
    this.#settle(null);
  }

  /** What was not sent yet still goes: the server drops it and is then ready for the next query. */
  handleError(error: Error): void {
    this.callback();
    this.#settle(error);
  }
}

/**
 * Copies rows.
 *
 * @param statement `COPY … FROM STDIN …`
 * @param pieces what is copied, header and trailer of its form included; read until this resolves
 * @throws what PostgreSQL says about the rows, or that the connection is lost
 */
export function copyIn(
  connection: Connection,
  statement: string,
  pieces: readonly Buffer[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error: Error | null) => (error === null ? resolve() : reject(error));
    connection.query(new CopyIn(statement, pieces, settle));
  });
}
