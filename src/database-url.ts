/**
 * The url of a database with one host or several, in libpq's form:
 *
 *   postgres://user:password@host1:5432,[::1]:5433,%2Frun%2Fpostgresql/name?target_session_attrs=…
 *   postgres:///name?host=host1,host2&port=5432,5433
 *
 * A host is a name, an address, or the percent-encoded folder of a Unix socket.
 */

/** Which of the hosts is used (libpq's `target_session_attrs`); those that refuse writes are not offered. */
const TARGETS = ['read-write', 'primary', 'any'] as const;
export type HostTarget = (typeof TARGETS)[number];

const HOSTS_MAX = 16;
const URL_PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^@/?#]*)([^?#]*)(\?[^#]*)?$/;

export interface DatabaseHosts {
  /** one url for each host; the first one is never missing */
  readonly urls: readonly [string, ...string[]];
  /** null: one host that is taken as it is */
  readonly target: HostTarget | null;
  /** for messages: hosts, ports and the database's name, no password */
  readonly where: string;
}

const isTarget = (text: string): text is HostTarget => TARGETS.some((one) => one === text);

/** Hosts and ports of the parameters, where the url itself names no host. */
function hostsOfParameters(search: string): string[] {
  const parameters = new URLSearchParams(search);
  const hosts = parameters.get('host')?.split(',') ?? [];
  const ports = parameters.get('port')?.split(',') ?? [];
  return hosts.map((host, index) => {
    const port = (ports.length === 1 ? ports[0] : ports[index]) ?? '';
    const name = host.includes(':') ? `[${host}]` : encodeURIComponent(host);
    return port === '' ? name : `${name}:${port}`;
  });
}

function withoutHosts(search: string): string {
  const parameters = new URLSearchParams(search);
  for (const name of ['host', 'port', 'target_session_attrs']) parameters.delete(name);
  return parameters.size === 0 ? '' : `?${parameters}`;
}

/**
 * Parses the url of a database.
 *
 * @returns what is wrong with it, as the rest of a sentence that begins with the setting's name; never
 *   with a part of the url, which holds a password
 */
export function parseDatabaseUrl(text: string): DatabaseHosts | string {
  const [, begin = '', named = '', path = '', search = ''] = URL_PARTS.exec(text) ?? [];
  if (begin === '') return 'must be a URL that starts with postgres:// or postgresql://';
  const hosts = named === '' ? hostsOfParameters(search) : named.split(',');
  const given = new URLSearchParams(search).get('target_session_attrs');
  if (given !== null && !isTarget(given)) {
    return `has a target_session_attrs that Sluice cannot use: it must be one of ${TARGETS.join(', ')}`;
  }
  if (hosts.length > HOSTS_MAX) return `must name ${HOSTS_MAX} hosts at most`;
  const rest = `${path}${withoutHosts(search)}`;
  const [first = text, ...others] = hosts.map((host) => `${begin}${host}${rest}`);
  if (![first, ...others].every((url) => URL.canParse(url))) {
    return 'must have hosts of the form name, name:port, 10.0.0.5:port or [::1]:port, with commas between them';
  }
  return {
    urls: [first, ...others],
    // Sluice writes: libpq's default, any, may be a standby.
    target: given ?? (others.length > 0 ? 'read-write' : null),
    where: `${hosts.map(decodeURIComponent).join(', ')}${path}`,
  };
}
