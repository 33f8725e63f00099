/**
 * The cookies of the dashboard: written and read here only. Behind TLS their names begin with
 * `__Host-`, which browsers accept from this very host over TLS only, so that neither a neighbour
 * under the same domain nor plain HTTP can plant one.
 */

/** `lax` only for what has to come back with a redirect from another site. */
export type SameSite = 'Strict' | 'Lax';

export interface CookieJar {
  /** the session's token as the browser sent it; null when there is none that could be one */
  readonly readSession: (cookieHeader: string) => string | null;
  /** value of Set-Cookie */
  readonly writeSession: (token: string, expiresAt: Date) => string;
  /** value of Set-Cookie that takes the session's cookie away */
  readonly clearSession: () => string;
  /** what a sign-in through a provider keeps in the browser; null when there is none */
  readonly readFlow: (cookieHeader: string) => string | null;
  /** value of Set-Cookie */
  readonly writeFlow: (value: string, seconds: number) => string;
  readonly clearFlow: () => string;
}

/** 32 bytes in base64url. */
const TOKEN = /^[\w-]{43}$/;
const FLOW = /^[\w.-]{1,2000}$/;

/** The value under a name; null when it is absent, or there twice: then somebody planted one. */
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
  };
}
