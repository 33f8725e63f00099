/**
 * Which network addresses alerts may be sent to: public ones, and the private ones that
 * `ALERT_PRIVATE_ADDRESSES` lists. The URL comes from a person in the dashboard, who must not reach the
 * networks behind this server with it (server-side request forgery).
 */
import ipaddr from 'ipaddr.js';

/** `listed`: private, and allowed by the setting. */
export type AddressKind = 'public' | 'listed' | 'refused';

export interface AddressPolicy {
  readonly allowsPrivate: boolean;
  readonly kindOf: (address: string) => AddressKind;
}

/** Addresses that are routed on the Internet (RFC 4291, section 2.4; IANA has assigned no others). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST);
}

export function createAddressPolicy(listed: readonly string[]): AddressPolicy {
  const networks = listed.map((network) => ipaddr.parseCIDR(network));
  const isListed = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
    networks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
  return {
    allowsPrivate: networks.length > 0,
    kindOf: (text) => {
      if (!ipaddr.isValid(text)) return 'refused';
      // An IPv4 address inside of an IPv6 one is judged as what is reached.
      const address = ipaddr.process(text);
      if (isListed(address)) return 'listed';
      return isPublic(address) ? 'public' : 'refused';
    },
  };
}

/** Below this only the ports of HTTP: no other protocol's server is to be spoken to. */
const PORT_MIN = 1024;
const HTTP_PORTS = ['', '80', '443'];

/** Returns what is wrong with the URL of a webhook, in words for the user; null for a good one. */
export function faultOfUrl(text: string, { allowsPrivate, kindOf }: AddressPolicy): string | null {
  if (!URL.canParse(text)) return 'must be a URL';
  const url = new URL(text);
  const schemes = allowsPrivate ? ['https:', 'http:'] : ['https:'];
  if (!schemes.includes(url.protocol)) return 'must start with https://';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password';
  if (!HTTP_PORTS.includes(url.port) && Number(url.port) < PORT_MIN) {
    return 'must have port 80, port 443 or one from 1024 up';
  }
  const literal = addressOf(url);
  if (literal !== null && kindOf(literal) === 'refused') {
    return 'must not be a private address, unless ALERT_PRIVATE_ADDRESSES lists it';
  }
  return null;
}

/** The address that a URL names by number; null when it has a name. */
export function addressOf({ hostname }: URL): string | null {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(bare) ? bare : null;
}
