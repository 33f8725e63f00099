/**
 * Checks that a write comes from a page of this server. Every current browser sends the page's origin
 * (`Origin`), most also its relation to this server (`Sec-Fetch-Site`); pages cannot change either.
 */
import type { BrowserHead } from '../../transport/browser-head.ts';

/** @param baseUrl the public URL; accepted beside Host, which a proxy may have changed */
export function isSameOrigin(
  { origin, fetchSite }: Pick<BrowserHead, 'origin' | 'fetchSite'>,
  host: string,
  baseUrl: string,
): boolean {
  if (fetchSite !== '' && fetchSite !== 'same-origin') return false;
  if (origin === '') return fetchSite === 'same-origin';
  if (!URL.canParse(origin)) return false;
  const from = new URL(origin);
  if (from.origin !== origin) return false;
  const own = new URL(baseUrl);
  if (from.origin === own.origin) return true;
  // Behind TLS, a page loaded without TLS may be forged on the way.
  return (
    from.host === host.toLowerCase() && !(own.protocol === 'https:' && from.protocol !== 'https:')
  );
}

/**
 * The path to redirect to after signing in.
 *
 * @param next from the request; anything that a browser could read as another site's URL is ignored
 */
export function ownPath(next: string | null | undefined, fallback = '/app'): string {
  if (next === null || next === undefined || !/^\/app(?:[/?][\w\-./?=&%~+,:@]*)?$/.test(next)) {
    return fallback;
  }
  // `..` could lead out of /app, and `//` name another host from there.
  return /\/\/|(?:^|\/)\.{1,2}(?:[/?]|$)|%2e|%2f|%5c/i.test(next) ? fallback : next;
}
