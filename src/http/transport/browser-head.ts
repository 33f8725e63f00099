/**
 * The headers that only the dashboard needs: copied for its paths alone, so that ingest does not pay for
 * them. And the client's address and network, for every path.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The dashboard; every other path is for programs. */
const BROWSER_PATH = /^\/app(\/|$)/;
const TEXT_CHARS_MAX = 4096;

export interface BrowserHead {
  readonly cookie: string;
  readonly origin: string;
  readonly fetchSite: string;
  readonly userAgent: string;
  readonly forwardedFor: string;
  /** of the connection's other end, possibly a proxy */
  readonly peerAddress: string;
}

export function peerAddressOf(response: HttpResponse): string {
  return Buffer.from(response.getRemoteAddressAsText()).toString('latin1');
}

/** @returns null for paths that are not for browsers */
export function readBrowserHead(
  request: HttpRequest,
  response: HttpResponse,
  { path, forwardedFor }: { readonly path: string; readonly forwardedFor: string },
): BrowserHead | null {
  if (!BROWSER_PATH.test(path)) return null;
  const header = (name: string): string => request.getHeader(name).slice(0, TEXT_CHARS_MAX);
  return {
    // Not cut: two session cookies make both invalid, and the second could be in the part cut off.
    cookie: request.getHeader('cookie'),
    origin: header('origin'),
    fetchSite: header('sec-fetch-site'),
    userAgent: header('user-agent'),
    forwardedFor,
    peerAddress: peerAddressOf(response),
  };
}

/**
 * The client's address.
 *
 * @param trustedHops number of our proxies; each appends the address it saw to
 *   X-Forwarded-For; anything further left may be forged
 * @returns an IP address, or `unknown`
 */
export function clientAddress(
  head: Pick<BrowserHead, 'forwardedFor' | 'peerAddress'>,
  trustedHops: number,
): string {
  const chain = [...head.forwardedFor.split(',').map((one) => one.trim()), head.peerAddress];
  const seen = head.forwardedFor === '' ? [head.peerAddress] : chain;
  const address = seen[Math.max(0, seen.length - 1 - trustedHops)] ?? '';
  if (isIPv4(address)) return address;
  if (!ipaddr.IPv6.isValid(address)) return 'unknown';
  const parsed = ipaddr.IPv6.parse(address);
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : address;
}

/**
 * The network of an address: of IPv4 the first `v4` bytes, of IPv6 the first `v6` groups.
 *
 * @returns as `203.0.113.0/24` or `2001:db8:1::/48`; a whole IPv4 address stays as it is
 */
export function networkOf(address: string, v4: 3 | 4, v6: 3 | 4): string {
  if (isIPv4(address)) {
    return v4 === 4 ? address : `${address.split('.').slice(0, v4).join('.')}.0/24`;
  }
  if (!ipaddr.IPv6.isValid(address)) return address;
  const groups = ipaddr.IPv6.parse(address).parts.slice(0, v6);
  return `${groups.map((group) => group.toString(16)).join(':')}::/${v6 * 16}`;
}

const BROWSERS = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|CriOS|Chromium)\//],
  ['Safari', /\bSafari\//],
  ['curl', /^curl\//],
] as const;
const SYSTEMS = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(?:iPhone|iPad|iPod)\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
] as const;

/** Browser and system, so that users recognise their sessions; nothing else of the header is kept. */
export function abridgeUserAgent(userAgent: string): string {
  const nameIn = (table: readonly (readonly [string, RegExp])[]): string | undefined =>
    table.find(([, pattern]) => pattern.test(userAgent))?.[0];
  const browser = nameIn(BROWSERS) ?? 'another program';
  const system = nameIn(SYSTEMS);
  return system === undefined ? browser : `${browser} on ${system}`;
}
