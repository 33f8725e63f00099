/**
 * The codec of new blocks, which the database records, so that processes on different versions of Node.js
 * can share it: brotli until every process reads zstd, then zstd for good.
 *
 *   a process registers: locks the row (share), checks the codec, adds its row in `processes`
 *   the switch to zstd:  locks the row (update), checks `processes`, records zstd
 *
 * So a process that does not read zstd is seen by the switch, or sees it.
 */
import { OperatorError } from '../../errors.ts';
import { type Connection, type Database, inTransaction, onlyRow } from '../database.ts';
import { BROTLI, USE_ZSTD_NODE, ZSTD } from './codecs.ts';

/** Returns the codec of new blocks, locked until the transaction ends. @throws {OperatorError} */
export async function lockCodec(connection: Connection, readsZstd: boolean): Promise<number> {
  const { codec } = onlyRow(
    await connection.query<{ codec: number }>('SELECT codec FROM new_blocks FOR SHARE'),
  );
  if (codec !== ZSTD || readsZstd) return codec;
  throw new OperatorError(
    `This database has blocks that are compressed with zstd, which Node.js ` +
      `${process.versions.node} cannot read: ${USE_ZSTD_NODE}`,
  );
}

/** Records zstd for new blocks if every process that has a row reads it; returns whether this call did. */
export async function switchToZstd(database: Database): Promise<boolean> {
  return await inTransaction(database, async (connection) => {
    await connection.query('SELECT FROM new_blocks FOR UPDATE');
    // In a separate statement, which sees every process that registered before the lock was granted.
    const { rowCount } = await connection.query(
      `UPDATE new_blocks SET codec = $1
        WHERE codec = $2 AND NOT EXISTS (SELECT FROM processes WHERE NOT reads_zstd)`,
      [ZSTD, BROTLI],
    );
    return rowCount === 1;
  });
}
