/**
 * Names of this machine, and the check of a request's Host and Origin headers.
 *
 * A page of any site can make a browser on this machine send requests to a listener on it. If the name
 * of its site resolves to 127.0.0.1 by then (DNS rebinding), the browser lets it read the answers too.
 * But a page cannot change these headers: with rebinding, Host has the name of its site; without it,
 * Origin has.
 */
import { SluiceError } from './errors.ts';

/** A name or address without user, path or query, with an optional port. */
const HOST = /^(\[[\da-f:.]{2,45}\]|[\w.-]{1,254})(?::\d{0,5})?$/i;
/** As `URL` writes them: any form of an address becomes the usual one. */
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Parses a name or address, also with a port: a Host header.
 *
 * @returns lower case, without the port and without a dot at the end, IPv6 in brackets; null when it is
 *   neither
 */
export function parseHostName(text: string): string | null {
  const [, name = ''] = HOST.exec(text) ?? [];
  const url = `http://${name}`;
  return name !== '' && URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : null;
}

/** Parses a name or address of a setting: without a port; IPv6 may have no brackets. */
export function parseAddress(text: string): string | null {
  const isBareIpv6 = /^[\da-f:.]*:[\da-f:.]*:[\da-f:.]*$/i.test(text);
  const name = isBareIpv6 ? `[${text}]` : text;
  return /^(?:\[.*\]|[^:]*)$/.test(name) ? parseHostName(name) : null;
}

/** Checks whether an address, or the host of a URL, is this machine, whatever DNS answers. */
export function isLoopback(address: string): boolean {
  return LOOPBACK.test(parseAddress(address) ?? '');
}

/** Returns why a request is refused; null when it is not. Headers that are absent are empty. */
export type CallerCheck = (host: string, origin: string) => SluiceError | null;

export interface CallerRules {
  /** the address that the listener is bound to */
  readonly address: string;
  /** further names, as `parseHostName` returns them */
  readonly allowedHosts: readonly string[];
  /** the setting or option that allows a name, for messages */
  readonly setting: string;
}

/**
 * Creates the check of a listener. Host must be a name of this machine, the listener's address or an
 * allowed name; where the listener is bound to another address than loopback and no name is allowed,
 * it may be any. Origin must name the requested host and port, or an allowed name.
 *
 * A request without Host passes, such as a probe by HTTP/1.0: browsers send one always.
 */
export function createCallerCheck({ address, allowedHosts, setting }: CallerRules): CallerCheck {
  const isOpen = !isLoopback(address) && allowedHosts.length === 0;
  const allowed = new Set(allowedHosts);
  const own = parseAddress(address);
  const isKnown = (name: string): boolean =>
    LOOPBACK.test(name) || name === own || allowed.has(name);
  return (host, origin) => {
    if (host !== '' && !isOpen && !isKnown(parseHostName(host) ?? '')) {
      return new SluiceError(
        'unknown_host',
        `The name in the Host header is not allowed here: add it to ${setting}.`,
      );
    }
    if (origin === '' || isOwnOrigin(origin, host)) return null;
    if (isOrigin(origin) && allowed.has(parseHostName(new URL(origin).hostname) ?? '')) return null;
    return new SluiceError('cross_origin', 'Pages of other sites get no answer here.');
  };
}

/** Checks whether a text is an origin as browsers write it. */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

function isOwnOrigin(origin: string, host: string): boolean {
  if (!isOrigin(origin) || parseHostName(host) === null) return false;
  const url = `${new URL(origin).protocol}//${host}`;
  return URL.canParse(url) && new URL(url).origin === origin;
}
