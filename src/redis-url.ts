/**
 * REDIS_URL: one Redis (`redis://…`, `rediss://…`), or the sentinels that know where the master of a
 * name is:
 *
 *   redis+sentinel://user:password@sentinel1:26379,sentinel2,[::1]:26380/name/0
 *
 * User, password and the number of the database are those of Redis.
 */
const SENTINEL_PORT = 26_379;
const SENTINELS_MAX = 16;
const SENTINEL_URL =
  /^redis\+sentinel:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^@/?#]+)\/([^/?#]+)(?:\/(\d{1,3}))?$/;
const HOST = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/;

export interface RedisSentinels {
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  /** of the master, as the sentinels call it */
  readonly name: string;
  readonly username?: string;
  readonly password?: string;
  readonly db: number;
}

/** @returns null when the url has another form, as a single Redis has */
export function parseSentinelUrl(text: string): RedisSentinels | null {
  const [, username = '', password = '', hosts = '', name = '', db = '0'] =
    SENTINEL_URL.exec(text) ?? [];
  const sentinels = hosts.split(',').map((one) => {
    const [, address, host, port] = HOST.exec(one) ?? [];
    return { host: address ?? host ?? '', port: Number(port ?? SENTINEL_PORT) };
  });
  if (name === '' || sentinels.length > SENTINELS_MAX) return null;
  if (sentinels.some(({ host, port }) => host === '' || port > 65_535)) return null;
  return {
    sentinels,
    name,
    db: Number(db),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}
