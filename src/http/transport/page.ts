/** Answers that browsers show: pages, with the headers that keep anything from running in them. */
import type { Answer, HeaderList } from './exchange.ts';

/**
 * Nothing is loaded but from here, nothing runs but the files under `/assets`, and no other site may
 * frame a page or take a form (CSP 3).
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

/** A page that may differ for everybody who asks. */
export function pageAnswer(body: string, status = 200, headers: HeaderList = []): Answer {
  return {
    status,
    contentType: 'text/html; charset=utf-8',
    headers: [...PAGE_HEADERS, ['cache-control', 'no-store'], ...headers],
    body,
  };
}

/** Sends a browser elsewhere. @param location a path of this server */
export function redirect(location: string, headers: HeaderList = []): Answer {
  return {
    status: 303,
    contentType: 'text/plain; charset=utf-8',
    headers: [['location', location], ['cache-control', 'no-store'], ...headers],
    // Not empty: an answer without a body ends its connection (`unsent-answers.ts`).
    body: 'See the address in the Location header.\n',
  };
}
