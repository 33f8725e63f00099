/** HTML answers and redirects, with the headers that restrict what runs in a page. */
import type { Answer, HeaderList } from './exchange.ts';

/**
 * Everything is loaded from this server, scripts only from files, and no other site may frame a page
 * or receive a form (CSP 3).
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const PAGE_HEADERS: HeaderList = [
  ['content-security-policy', CONTENT_SECURITY_POLICY],
  ['referrer-policy', 'same-origin'],
  ['cross-origin-opener-policy', 'same-origin'],
];

/** A page that may differ per user, so it is not cached. */
export function pageAnswer(body: string, status = 200, headers: HeaderList = []): Answer {
  return {
    status,
    contentType: 'text/html; charset=utf-8',
    headers: [...PAGE_HEADERS, ['cache-control', 'no-store'], ...headers],
    body,
  };
}

/** Redirects. @param location a path of this server, or a provider's URL */
export function redirect(location: string, headers: HeaderList = []): Answer {
  return {
    status: 303,
    contentType: 'text/plain; charset=utf-8',
    headers: [['location', location], ['cache-control', 'no-store'], ...headers],
    // Not empty: an answer without a body closes its connection (`unsent-answers.ts`).
    body: 'See the address in the Location header.\n',
  };
}

/** The headers of a file that browsers save under a name. */
export const attachment = (name: string): HeaderList => [
  ['content-disposition', `attachment; filename="${name}"`],
  ['cache-control', 'no-store'],
];
