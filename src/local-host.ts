/**
 * Names of this machine, and the check of a request's Host and Origin headers.
 *
 * A page of any site can make a browser on this machine send requests to a listener on it. If the name
 * of the site then resolves to 127.0.0.1 (DNS rebinding), the page can read the answers too. But a page
 * cannot change these headers: after rebinding, Host has the name of the site; otherwise Origin has it.
 */
import { SluiceError } from './errors.ts';

/** A name or address without user, path or query, with an optional port. */
const HOST = /^(\[[\da-f:.]{2,45}\]|[\w.-]{1,254})(?::\d{0,5})?$/i;
/** Loopback names and addresses in the form that `URL` writes; the last one is IPv4 mapped to IPv6. */
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;

/**
 * Parses a Host header: a name or address, with or without a port.
 *
 * @returns lower case, without the port and without a dot at the end, IPv6 in brackets; null for any
 *   other text
 */
export function parseHostName(text: string): string | null {
  const [, name = ''] = HOST.exec(text) ?? [];
  const url = `http://${name}`;
  return name !== '' && URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : null;
}

/** Parses a name or address of a setting: without a port; IPv6 with or without brackets. */
export function parseAddress(text: string): string | null {
  const isBareIpv6 = /^[\da-f:.]*:[\da-f:.]*:[\da-f:.]*$/i.test(text);
  const name = isBareIpv6 ? `[${text}]` : text;
  return /^(?:\[.*\]|[^:]*)$/.test(name) ? parseHostName(name) : null;
}

/** Checks whether an address or the host of a URL is this machine, without DNS. */
export function isLoopback(address: string): boolean {
  return LOOPBACK.test(parseAddress(address) ?? '');
}

/** Checks whether a URL is safe to send a credential to: over TLS, or to this machine. */
export function isPrivateUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/** Returns the refusal of a request; null if it may pass. Absent headers are empty texts. */
export type CallerCheck = (host: string, origin: string) => SluiceError | null;

export interface CallerRules {
  readonly address: string;
  /** further names, as `parseHostName` returns them */
  readonly allowedHosts: readonly string[];
  /** the setting or option that allows a name, for messages */
  readonly setting: string;
}

/**
 * Creates the check of a listener. Host must be a name of this machine, the listener's address or an
 * allowed name. If the listener is not bound to loopback and no name is allowed, Host may be any name.
 * Origin must name the requested host and port, or an allowed name.
 *
 * A request without Host passes: browsers always send Host. Only a relay gets such requests (HTTP/1.0);
 * uWebSockets.js refuses them before this check (docs/errors.md).
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

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

function isOwnOrigin(origin: string, host: string): boolean {
  if (!isOrigin(origin) || parseHostName(host) === null) return false;
  const url = `${new URL(origin).protocol}//${host}`;
  return URL.canParse(url) && new URL(url).origin === origin;
}
