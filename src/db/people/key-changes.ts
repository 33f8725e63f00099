/**
 * Receives notifications of changed and revoked keys (LISTEN) over a separate connection, because LISTEN
 * belongs to a session and a pool closes its sessions.
 *
 *   connecting ──LISTEN──► listening ──connection lost, no heartbeat──► waiting ──► connecting
 *        └──refused──► waiting (250 ms, doubled up to 5 s)                 close: from any state
 *
 * Notifications sent while nothing listens are lost. Caches of keys are not cleared because of such
 * a gap: their entries expire after a few seconds anyway (`KEY_TTL_MS`), and looking all of them up
 * at once would burden a database that has just come back.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import type { Events } from '../../observe/events.ts';
import { type Connection, createDatabase, type Database } from '../database.ts';

/** Its notifications carry a key's id in decimal digits. */
export const KEY_CHANGED_CHANNEL = 'sluice_key_changed';

/** Also the heartbeat: repeating it changes nothing. */
const LISTEN = `LISTEN ${KEY_CHANGED_CHANNEL}`;

const BACKOFF_MIN_MS = 250;
const BACKOFF_MAX_MS = 5000;
/** Detects a connection that is dead without having been closed. */
const HEARTBEAT_MS = 30_000;

export interface KeyChanges {
  readonly close: () => Promise<void>;
}

interface Listening {
  readonly onChanged: (keyId: number) => void;
  readonly onListening: () => void;
  readonly signal: AbortSignal;
}

/** Listens until the connection is lost or the signal aborts, and rejects with the reason. */
async function listen(
  connection: Connection,
  { onChanged, onListening, signal }: Listening,
): Promise<void> {
  let heartbeat: NodeJS.Timeout | undefined;
  let stop = (): void => {};
  try {
    await new Promise<never>((_resolve, reject) => {
      signal.throwIfAborted();
      stop = () => reject(signal.reason);
      signal.addEventListener('abort', stop);
      connection.once('error', reject);
      connection.once('end', () => reject(new Error('The connection was closed.')));
      connection.on('notification', ({ payload = '' }) => {
        if (/^\d{1,10}$/.test(payload)) onChanged(Number(payload));
      });
      connection.query(LISTEN).then(onListening, reject);
      heartbeat = setInterval(() => connection.query(LISTEN).catch(reject), HEARTBEAT_MS);
      heartbeat.unref();
    });
  } finally {
    clearInterval(heartbeat);
    signal.removeEventListener('abort', stop);
  }
}

async function listenOnce(database: Database, listening: Listening): Promise<void> {
  const connection = await database.connect();
  try {
    await listen(connection, listening);
  } finally {
    // Closed, because it still listens.
    connection.release(true);
  }
}

/** Begins listening, in the background: the server may start while this does not work. */
export function listenForKeyChanges(
  url: string,
  onChanged: (keyId: number) => void,
  events: Pick<Events, 'keyChangesUnheard' | 'keyChangesHeard'>,
): KeyChanges {
  // A lost connection is reported as `keyChangesUnheard`.
  const database = createDatabase(url, 1, { connectionLost: () => {} });
  const stop = new AbortController();
  const { signal } = stop;
  let backoffMs = BACKOFF_MIN_MS;
  let isUnheard = false;
  const onListening = (): void => {
    backoffMs = BACKOFF_MIN_MS;
    isUnheard = false;
    events.keyChangesHeard();
  };
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await listenOnce(database, { onChanged, onListening, signal });
      } catch (error) {
        if (!signal.aborted && !isUnheard) events.keyChangesUnheard(error);
        isUnheard = true;
      }
      await sleep(signal.aborted ? 0 : backoffMs, null, { signal }).catch(() => {});
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS);
    }
  };
  const running = run();
  return {
    close: async () => {
      stop.abort();
      // Cuts a query or an attempt to connect that is under way.
      await database.end();
      await running;
    },
  };
}
