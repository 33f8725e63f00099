/** Raw COPY: the same rows, without a server, as psql would send them. */
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';

export type CopyForm = 'text' | 'binary';

/** The rows of a query in COPY form, in memory. */
export async function copyOut(client: pg.Client, source: string, form: CopyForm) {
  const chunks: Buffer[] = [];
  const stream = client.query(copyTo(`COPY (${source}) TO STDOUT (FORMAT ${form})`));
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return chunks;
}

/**
 * Copies rows in, in one transaction on one connection.
 *
 * @returns seconds from the first byte to the commit
 */
export async function copyIn(
  client: pg.Client,
  table: string,
  chunks: readonly Buffer[],
  form: CopyForm,
): Promise<number> {
  const startedAt = performance.now();
  await pipeline([...chunks], client.query(copyFrom(`COPY ${table} FROM STDIN (FORMAT ${form})`)));
  return (performance.now() - startedAt) / 1000;
}
