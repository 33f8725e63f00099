/**
 * Whether a write comes from a page of ours. Every browser of today says where a write comes from
 * (`Origin`), most also how that relates to us (`Sec-Fetch-Site`), and pages cannot change either.
 */
import type { BrowserHead } from '../../transport/browser-head.ts';

/**
 * @param head what the request says; with neither header it is refused: no browser sends such
 * @param host the Host header
 * @param baseUrl how people reach the server; counts beside Host, which a proxy may have changed
 */
export function isSameOrigin(
  { origin, fetchSite }: Pick<BrowserHead, 'origin' | 'fetchSite'>,
  host: string,
  baseUrl: string,
): boolean {
  if (fetchSite !== '' && fetchSite !== 'same-origin') return false;
  if (origin === '') return fetchSite === 'same-origin';
  if (!URL.canParse(origin)) return false;
  const asked = new URL(origin);
  if (asked.origin !== origin) return false;
  const own = new URL(baseUrl);
  if (asked.origin === own.origin) return true;
  // A page of this host that came without TLS is anybody's who sits on the way.
  return (
    asked.host === host.toLowerCase() && !(own.protocol === 'https:' && asked.protocol !== 'https:')
  );
}

/**
 * Where to go after signing in: a path of ours, whatever was asked for.
 *
 * @param next as it came; anything a browser could take for another site's address is ignored
 */
export function ownPath(next: string | null | undefined, fallback = '/app'): string {
  if (next === null || next === undefined || !/^\/app(?:[/?][\w\-./?=&%~+,:@]*)?$/.test(next)) {
    return fallback;
  }
  // `..` could still climb out of /app, and `//` name a host once it has.
  return /\/\/|(?:^|\/)\.{1,2}(?:[/?]|$)|%2e|%2f|%5c/i.test(next) ? fallback : next;
}
