/**
 * Copies the head of a request in one pass over its header lines, while uWebSockets.js still owns
 * it, and refuses heads that another server could read differently (request smuggling, RFC 9112
 * §11.2).
 *
 * Of a header that may appear only once, uWebSockets.js (3.0.6) takes the first line and ignores a
 * second; it treats every Transfer-Encoding as `chunked`. A proxy that takes the last line, or
 * another coding, would see different requests. uWebSockets.js itself refuses folded lines, control
 * characters, Content-Length together with Transfer-Encoding, and a length that is not a number;
 * the last one only after the handler has run. On Node 22 and newer it refuses a second Host, too.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';

import { DEDUPLICATE_HEADER } from '../../otlp/deduplicate-header.ts';
import { type BrowserHead, readBrowserHead } from './browser-head.ts';

export const FORWARDED_CHARS_MAX = 4096;

type McpHeaders = readonly (readonly [name: string, value: string])[];
const NO_MCP: McpHeaders = [];

/** The relevant header lines of one head; the object is reused for every request. */
class HeaderLines {
  host: string | null = null;
  authorization: string | null = null;
  contentType: string | null = null;
  userAgent = '';
  accept = '';
  origin = '';
  contentEncoding: string | null = null;
  length: string | null = null;
  transferEncoding: string | null = null;
  forwardedFor = '';
  deduplicate = '';
  mcp: McpHeaders = NO_MCP;
  /** name of a header that appeared twice but may appear only once */
  twice: string | null = null;

  read(request: HttpRequest): void {
    this.host = null;
    this.authorization = null;
    this.contentType = null;
    this.userAgent = '';
    this.accept = '';
    this.origin = '';
    this.contentEncoding = null;
    this.length = null;
    this.transferEncoding = null;
    this.forwardedFor = '';
    this.deduplicate = '';
    this.mcp = NO_MCP;
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
      case 'user-agent':
        this.userAgent = value;
        break;
      case 'accept':
        this.accept = value;
        break;
      case 'origin':
        this.origin = value;
        break;
      case DEDUPLICATE_HEADER:
        this.deduplicate = value;
        break;
      case 'x-forwarded-for':
        this.forwardedFor = this.forwardedFor === '' ? value : `${this.forwardedFor},${value}`;
        break;
      default:
        if (name.startsWith('mcp-')) this.mcp = [...this.mcp, [name, value]];
    }
  };

  #once(name: string, former: string | null, value: string): string {
    if (former !== null) this.twice = name;
    return former ?? value;
  }
}

/** One per thread. */
const lines = new HeaderLines();

/** The head of one request. Create it before the handler of uWebSockets.js returns. */
export class RequestHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string;
  readonly authorization: string;
  readonly contentType: string;
  readonly userAgent: string;
  readonly accept: string;
  /** of the page that sends it; empty for a program */
  readonly origin: string;
  readonly contentEncoding: string;
  /** of `Sluice-Deduplicate`; empty without one */
  readonly deduplicate: string;
  readonly mcp: McpHeaders;
  /** null when the client declared none (chunked) */
  readonly contentLength: number | null;
  readonly hasBody: boolean;
  /**
   * All X-Forwarded-For lines, joined: some proxies add a line instead of appending to the existing
   * one, so the first line alone may be forged by the client. A long value is cut on the left, the
   * part that the client controls.
   */
  readonly forwardedFor: string;
  /** null except on the dashboard's paths */
  readonly browser: BrowserHead | null;
  /** why the head is refused as ambiguous; null if it is not */
  readonly fault: string | null;

  constructor(request: HttpRequest, response: HttpResponse) {
    lines.read(request);
    this.method = request.getCaseSensitiveMethod();
    this.path = request.getUrl();
    this.query = request.getQuery() ?? '';
    this.host = lines.host ?? '';
    this.authorization = lines.authorization ?? '';
    this.contentType = lines.contentType ?? '';
    this.userAgent = lines.userAgent;
    this.accept = lines.accept;
    this.origin = lines.origin;
    this.contentEncoding = lines.contentEncoding ?? '';
    this.deduplicate = lines.deduplicate;
    this.mcp = lines.mcp;
    this.contentLength = lengthOf(lines.length);
    this.hasBody = lines.transferEncoding !== null || (this.contentLength ?? 0) > 0;
    this.forwardedFor = lines.forwardedFor.slice(-FORWARDED_CHARS_MAX);
    this.browser = readBrowserHead(request, response, this);
    this.fault = faultOf(lines, this.contentLength);
  }
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
