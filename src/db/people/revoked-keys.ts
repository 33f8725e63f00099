/**
 * Hears of revoked keys as they are revoked, over a connection of its own: LISTEN is a property of a
 * session, and the pool's sessions come and go.
 *
 *   connecting ──LISTEN──► listening ──connection lost, no heartbeat──► waiting ──► connecting
 *        └──refused──► waiting (250 ms, doubled up to 5 s)                 close: from any state
 *
 * What is revoked while nothing listens is not told later. Nothing is forgotten because of such a
 * gap: whoever remembers keys must let go of them after a few seconds anyway (`KEY_TTL_MS`), and
 * asking for all of them at once is the last thing a database needs that has just come back.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import type { Events } from '../../observe/events.ts';
import { type Connection, createDatabase, type Database } from '../database.ts';

/** Its notifications carry a key's id in decimal digits. */
export const KEY_REVOKED_CHANNEL = 'sluice_key_revoked';

/** Also the heartbeat: said again it changes nothing. */
const LISTEN = `LISTEN ${KEY_REVOKED_CHANNEL}`;

const BACKOFF_MIN_MS = 250;
const BACKOFF_MAX_MS = 5000;
/** Finds a connection that is dead without a word, as a network that drops packets leaves it. */
const HEARTBEAT_MS = 30_000;

export interface KeyChanges {
  /** Stops listening; resolves when the connection is closed. */
  readonly close: () => Promise<void>;
}

interface Listening {
  readonly onRevoked: (keyId: number) => void;
  /** told when LISTEN has gone through */
  readonly onListening: () => void;
  /** ends it */
  readonly signal: AbortSignal;
}

/** Listens until the connection is lost or the signal comes, and rejects with which it was. */
async function listen(
  connection: Connection,
  { onRevoked, onListening, signal }: Listening,
): Promise<void> {
  let heartbeat: NodeJS.Timeout | undefined;
  try {
    await new Promise<never>((_resolve, reject) => {
      signal.throwIfAborted();
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      connection.once('error', reject);
      connection.once('end', () => reject(new Error('The connection was closed.')));
      connection.on('notification', ({ payload = '' }) => {
        if (/^\d{1,10}$/.test(payload)) onRevoked(Number(payload));
      });
      connection.query(LISTEN).then(onListening, reject);
      heartbeat = setInterval(() => connection.query(LISTEN).catch(reject), HEARTBEAT_MS);
      heartbeat.unref();
    });
  } finally {
    clearInterval(heartbeat);
  }
}

/** One connection's life, from its hand-over to its end. */
async function listenOnce(database: Database, listening: Listening): Promise<void> {
  const connection = await database.connect();
  try {
    await listen(connection, listening);
  } finally {
    // Never used again: it still listens.
    connection.release(true);
  }
}

/**
 * Begins listening, in the background: the server may start while this does not work.
 *
 * @param url postgres://…
 * @param onRevoked told of the id of every key that was revoked while this listened
 * @param events told once when listening fails, and again after it had worked
 */
export function listenForRevokedKeys(
  url: string,
  onRevoked: (keyId: number) => void,
  events: Pick<Events, 'keyChangesUnheard'>,
): KeyChanges {
  // What it loses is told as `keyChangesUnheard`.
  const database = createDatabase(url, 1, { connectionLost: () => {} });
  const stop = new AbortController();
  const { signal } = stop;
  let backoffMs = BACKOFF_MIN_MS;
  let isUnheard = false;
  const onListening = (): void => {
    backoffMs = BACKOFF_MIN_MS;
    isUnheard = false;
  };
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await listenOnce(database, { onRevoked, onListening, signal });
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
