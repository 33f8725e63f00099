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

/** What the lines of one head say; used again for every head, as the walk goes over each line. */
class HeaderLines {
  host: string | null = null;
  authorization: string | null = null;
  contentType: string | null = null;
  contentEncoding: string | null = null;
  length: string | null = null;
  transferEncoding: string | null = null;
  forwardedFor = '';
  /** a field that came twice and may come once */
  twice: string | null = null;

  read(request: HttpRequest): void {
    this.host = null;
    this.authorization = null;
    this.contentType = null;
    this.contentEncoding = null;
    this.length = null;
    this.transferEncoding = null;
    this.forwardedFor = '';
    this.twice = null;
    request.forEach(this.#take);
  }

  readonly #take = (name: string, value: string): void => {
    switch (name) {
      case 'host':
        this.host = this.#once(name, this.host, value);
        break;
      case 'authorization':
        this.authorization = this.#once(name, this.authorization, value);
        break;
      case 'content-type':
        this.contentType = this.#once(name, this.contentType, value);
        break;
      case 'content-encoding':
        this.contentEncoding = this.#once(name, this.contentEncoding, value);
        break;
      case 'content-length':
        this.length = this.#once(name, this.length, value);
        break;
      case 'transfer-encoding':
        this.transferEncoding = this.#once(name, this.transferEncoding, value);
        break;
      case 'x-forwarded-for':
        this.forwardedFor = this.forwardedFor === '' ? value : `${this.forwardedFor},${value}`;
        break;
    }
  };

  #once(name: string, former: string | null, value: string): string {
    if (former !== null) this.twice = name;
    return former ?? value;
  }
}

/** Of this thread. */
const lines = new HeaderLines();

/** Copies the head; call before the handler of uWebSockets.js returns. */
export function readHead(request: HttpRequest, response: HttpResponse): RequestHead {
  lines.read(request);
  const path = request.getUrl();
  const contentLength = lengthOf(lines.length);
  const forwardedFor = lines.forwardedFor.slice(-FORWARDED_CHARS_MAX);
  return {
    method: request.getCaseSensitiveMethod(),
    path,
    query: request.getQuery() ?? '',
    host: lines.host ?? '',
    authorization: lines.authorization ?? '',
    contentType: lines.contentType ?? '',
    contentEncoding: lines.contentEncoding ?? '',
    contentLength,
    hasBody: lines.transferEncoding !== null || (contentLength ?? 0) > 0,
    forwardedFor,
    browser: readBrowserHead(request, response, { path, forwardedFor }),
    fault: faultOf(lines, contentLength),
  };
}

function lengthOf(text: string | null): number | null {
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}

function faultOf(
  { twice, length, transferEncoding }: HeaderLines,
  contentLength: number | null,
): string | null {
  if (twice !== null) return `The header ${twice} may come only once.`;
  if (length !== null && contentLength === null) return 'Content-Length is no number.';
  if (transferEncoding === null) return null;
  if (length !== null) return 'Content-Length and Transfer-Encoding exclude each other.';
  return /^chunked$/i.test(transferEncoding) ? null : 'The only transfer encoding is chunked.';
}
