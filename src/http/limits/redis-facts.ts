/** Facts of a Redis server, read once over a separate connection. `sluice doctor` judges them. */
import { connectRedis } from './redis-counts.ts';

export interface RedisFacts {
  readonly version: string;
  readonly role: string;
  /** null: no limit */
  readonly maxMemoryBytes: number | null;
  readonly evictionPolicy: string;
  readonly persistence: { readonly rdb: boolean; readonly aof: boolean };
  readonly roundTripMs: number;
}

export function parseInfo(text: string): ReadonlyMap<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => !line.startsWith('#') && line.includes(':'));
  return new Map(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}

export async function readRedisFacts(url: string): Promise<RedisFacts> {
  const redis = connectRedis(url, { lazyConnect: true, retryStrategy: () => null });
  let lastError: unknown = null;
  // Without a listener the library writes errors to the console.
  redis.on('error', (error) => {
    lastError = error;
  });
  try {
    await redis.connect().catch((error: unknown) => {
      throw lastError ?? error;
    });
    const startedMs = performance.now();
    await redis.ping();
    const roundTripMs = performance.now() - startedMs;
    const info = parseInfo(await redis.info());
    const maxMemoryBytes = Number(info.get('maxmemory') ?? 0);
    // Of managed services CONFIG is often forbidden: then nothing is known of snapshots.
    const save = await redis.config('GET', 'save').then(
      (answer) => (answer as readonly string[])[1] ?? '',
      () => '',
    );
    return {
      version: info.get('redis_version') ?? 'unknown',
      role: info.get('role') ?? 'unknown',
      maxMemoryBytes: maxMemoryBytes === 0 ? null : maxMemoryBytes,
      evictionPolicy: info.get('maxmemory_policy') ?? 'unknown',
      persistence: { rdb: save !== '', aof: info.get('aof_enabled') === '1' },
      roundTripMs,
    };
  } finally {
    redis.disconnect();
  }
}
