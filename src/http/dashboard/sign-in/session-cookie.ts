/**
 * Reads and writes the dashboard's cookies. Behind TLS their names start with `__Host-`: browsers
 * accept such a cookie from this host over TLS only, so that neither a sibling domain nor plain HTTP
 * can set one.
 */

/** `Lax` only for the cookie that must be sent after a redirect from another site. */
type SameSite = 'Strict' | 'Lax';

export interface CookieJar {
  /** the session's token; null when the browser sent none of the right form */
  readonly readSession: (cookieHeader: string) => string | null;
  readonly writeSession: (token: string, expiresAt: Date) => string;
  /** value of Set-Cookie that deletes the session's cookie */
  readonly clearSession: () => string;
  /** the cookie of a sign-in through a provider (sign-in-pages.ts), or null */
  readonly readFlow: (cookieHeader: string) => string | null;
  readonly writeFlow: (value: string, seconds: number) => string;
  readonly clearFlow: () => string;
  /** whether the browser has changed something in the last seconds */
  readonly hasChanged: (cookieHeader: string) => boolean;
  /** value of Set-Cookie after a change */
  readonly writeChanged: (seconds: number) => string;
}

/** 32 bytes in base64url. */
const TOKEN = /^[\w-]{43}$/;
const FLOW = /^[\w.-]{1,2000}$/;

/** The value of a cookie; null when it is absent, or appears twice: then one may be forged. */
function cookieOf(cookieHeader: string, name: string): string | null {
  const values = cookieHeader
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? (values[0] ?? null) : null;
}

/**
 * @param brand first part of the cookies' names
 * @param secure whether people reach the server over TLS
 */
export function createCookieJar(brand: string, secure: boolean): CookieJar {
  const prefix = secure ? '__Host-' : '';
  const session = `${prefix}${brand}_session`;
  const flow = `${prefix}${brand}_sign_in`;
  const changed = `${prefix}${brand}_changed`;
  const write = (name: string, value: string, sameSite: SameSite, life: string): string =>
    [
      `${name}=${value}`,
      'Path=/',
      life,
      'HttpOnly',
      `SameSite=${sameSite}`,
      ...(secure ? ['Secure'] : []),
    ].join('; ');
  const read = (header: string, name: string, shape: RegExp): string | null => {
    const value = cookieOf(header, name);
    return value !== null && shape.test(value) ? value : null;
  };
  return {
    readSession: (header) => read(header, session, TOKEN),
    writeSession: (token, expiresAt) =>
      write(session, token, 'Strict', `Expires=${expiresAt.toUTCString()}`),
    clearSession: () => write(session, '', 'Strict', 'Max-Age=0'),
    readFlow: (header) => read(header, flow, FLOW),
    writeFlow: (value, seconds) => write(flow, value, 'Lax', `Max-Age=${seconds}`),
    clearFlow: () => write(flow, '', 'Lax', 'Max-Age=0'),
    hasChanged: (header) => cookieOf(header, changed) !== null,
    writeChanged: (seconds) => write(changed, '1', 'Strict', `Max-Age=${seconds}`),
  };
}
