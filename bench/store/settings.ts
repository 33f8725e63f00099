/**
 * What the embedded server's settings do for ingest: servers that differ in one setting each, all
 * running, measured in turn. What would give up durability is not tried.
 */
import { ingestInto } from './batches.ts';
import { StoreDatabase } from './database.ts';
import { encode } from './prompts.ts';
import { type Answer, answer } from './rounds.ts';
import {
  type Programs,
  type ServerSettings,
  type StoreServer,
  startStoreServer,
} from './server.ts';

const WAYS: readonly (readonly [string, ServerSettings])[] = [
  ['as shipped', {}],
  ['shared_buffers 128 MB', { shared_buffers: '128MB' }],
  ['wal_buffers 64 MB', { wal_buffers: '64MB' }],
  ['wal_compression pglz', { wal_compression: 'pglz' }],
  ['wal_level minimal', { wal_level: 'minimal', max_wal_senders: '0' }],
  ['wal_sync_method open_datasync', { wal_sync_method: 'open_datasync' }],
  ['wal_init_zero on', { wal_init_zero: 'on' }],
];

/** Ordinary rows by one setting of the server. */
export async function settingsAnswer(
  programs: Programs,
  bodies: readonly Buffer[],
  rounds: number,
): Promise<Answer> {
  const requests = bodies.map(encode);
  const servers: StoreServer[] = [];
  try {
    const variants = [];
    for (const [name, settings] of WAYS) {
      const server = await startStoreServer(programs, settings);
      servers.push(server);
      const database = await StoreDatabase.make(server, 'store_settings');
      variants.push({ name, database, measure: () => ingestInto(database, requests, {}) });
    }
    const question = 'Ordinary rows by a setting of the server, two connections';
    const result = await answer('settings', question, rounds, variants);
    for (const { database } of variants) await database.close();
    return result;
  } finally {
    for (const server of servers) await server.close();
  }
}
