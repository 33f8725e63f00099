/**
 * What the head of a request says, copied while uWebSockets.js still owns it, in one walk over its
 * header lines; and whether two servers could read that head in two ways.
 *
 * Of a field that may come once, uWebSockets.js (3.0.6) takes the first line and is silent about a
 * second; it takes any Transfer-Encoding for `chunked`. A proxy that takes the last line, or another
 * coding, would see other requests than this server does (RFC 9112 §11.2, request smuggling). So such
 * a head is refused. uWebSockets.js itself refuses folded lines and control characters, Content-Length
 * beside Transfer-Encoding, and a length that is no number; the last only behind the handler.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';

import { type BrowserHead, readBrowserHead } from './browser-head.ts';

const FORWARDED_CHARS_MAX = 4096;

export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string;
  readonly authorization: string;
  readonly contentType: string;
  readonly contentEncoding: string;
  /** null when the client declared none (chunked) */
  readonly contentLength: number | null;
  readonly hasBody: boolean;
  /**
   * All lines of X-Forwarded-For as one: some proxies add a line of their own instead of adding to
   * the one that came, so the first line alone may be what a client made up. What is too long is cut
   * on the left, where the client's own words are.
   */
  readonly forwardedFor: string;
  /** null but for the dashboard's paths */
  readonly browser: BrowserHead | null;
  /** why the request is refused; null for a head that can be read in one way only */
  readonly fault: string | null;
}

/** Copies the head; call before the handler of uWebSockets.js returns. */
export function readHead(request: HttpRequest, response: HttpResponse): RequestHead {
  const path = request.getUrl();
  let host: string | null = null;
  let authorization: string | null = null;
  let contentType: string | null = null;
  let contentEncoding: string | null = null;
  let length: string | null = null;
  let transferEncoding: string | null = null;
  let forwarded = '';
  let twice: string | null = null;
  const once = (name: string, former: string | null, value: string): string => {
    if (former === null) return value;
    twice = name;
    return former;
  };
  request.forEach((name, value) => {
    switch (name) {
      case 'host':
        host = once(name, host, value);
        break;
      case 'authorization':
        authorization = once(name, authorization, value);
        break;
      case 'content-type':
        contentType = once(name, contentType, value);
        break;
      case 'content-encoding':
        contentEncoding = once(name, contentEncoding, value);
        break;
      case 'content-length':
        length = once(name, length, value);
        break;
      case 'transfer-encoding':
        transferEncoding = once(name, transferEncoding, value);
        break;
      case 'x-forwarded-for':
        forwarded = forwarded === '' ? value : `${forwarded},${value}`;
        break;
    }
  });
  const forwardedFor = forwarded.slice(-FORWARDED_CHARS_MAX);
  return {
    method: request.getCaseSensitiveMethod(),
    path,
    query: request.getQuery() ?? '',
    host: host ?? '',
    authorization: authorization ?? '',
    contentType: contentType ?? '',
    contentEncoding: contentEncoding ?? '',
    contentLength: lengthOf(length),
    hasBody: transferEncoding !== null || (lengthOf(length) ?? 0) > 0,
    forwardedFor,
    browser: readBrowserHead(request, response, { path, forwardedFor }),
    fault: faultOf(twice, length, transferEncoding),
  };
}

function lengthOf(text: string | null): number | null {
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}

function faultOf(
  twice: string | null,
  length: string | null,
  transferEncoding: string | null,
): string | null {
  if (twice !== null) return `The header ${twice} may come only once.`;
  if (length !== null && lengthOf(length) === null) return 'Content-Length is no number.';
  if (transferEncoding === null) return null;
  if (length !== null) return 'Content-Length and Transfer-Encoding exclude each other.';
  return /^chunked$/i.test(transferEncoding) ? null : 'The only transfer encoding is chunked.';
}
