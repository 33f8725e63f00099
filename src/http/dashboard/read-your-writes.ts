/**
 * Pages from a read replica, but not for a browser that has just changed something: for as long as the
 * replica may be behind, its pages are read from the primary, whichever process answers.
 *
 *   change ──► Set-Cookie, gone after the replica's greatest lag ──► pages of the primary meanwhile
 */
import type { Route } from '../transport/router.ts';
import type { CookieJar } from './sign-in/session-cookie.ts';

/**
 * The routes that read the primary, with each page that also exists among those of the replica.
 *
 * @param primary all routes
 * @param replica the same routes, which read the replica
 */
export function readYourWrites(
  primary: readonly Route[],
  replica: readonly Route[],
  { hasChanged }: Pick<CookieJar, 'hasChanged'>,
): Route[] {
  return primary.map((route, index) => {
    const other = replica[index];
    if (route.method !== 'GET' || other === undefined) return route;
    if (other.path !== route.path) throw new Error(`${route.path} and ${other.path} differ`);
    return {
      ...route,
      handler: (exchange, parameters) => {
        const cookies = exchange.browser?.cookie;
        const isFresh = cookies === undefined || hasChanged(cookies);
        return (isFresh ? route : other).handler(exchange, parameters);
      },
    };
  });
}
