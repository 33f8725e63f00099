/**
 * A browser as far as the dashboard's interface can tell: keeps the session's cookie, says where its
 * writes come from, and follows no redirect by itself.
 */
import { type Answer, request } from './gateway.ts';

const COOKIE = 'sluice_session';
/** Writes that are about no workspace. */
const OF_ACCOUNT = /^\/app\/(api\/(session|password|sign-|invitations\/accept)|sign-|invitation\/)/;

export class Browser {
  readonly baseUrl: string;
  /** the session's token; null when it has none */
  token: string | null;
  /** other cookies, by name */
  readonly cookies = new Map<string, string>();

  constructor(baseUrl: string, token: string | null = null) {
    this.baseUrl = baseUrl;
    this.token = token;
  }

  /** Sends anything; `headers` replace what a browser would say. */
  async send(
    method: string,
    path: string,
    { body, headers = {} }: { body?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const own = this.token === null ? [] : [`${COOKIE}=${this.token}`];
    const cookie = [...own, ...[...this.cookies].map(([name, value]) => `${name}=${value}`)];
    const answer = await request(`${this.baseUrl}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(cookie.length > 0 ? { cookie: cookie.join('; ') } : {}),
        ...(method === 'GET' ? {} : { origin: new URL(this.baseUrl).origin }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    for (const line of answer.headers.getSetCookie()) this.#keep(line);
    return answer;
  }

  #keep(line: string): void {
    const [pair = ''] = line.split(';');
    const at = pair.indexOf('=');
    const name = pair.slice(0, at);
    const value = pair.slice(at + 1);
    if (name === COOKIE) this.token = value === '' ? null : value;
    else if (value === '') this.cookies.delete(name);
    else this.cookies.set(name, value);
  }

  get(path: string): Promise<Answer> {
    return this.send('GET', path);
  }

  /** Names the workspace that the session looks at, as the dashboard's own pages do. */
  async write(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<Answer> {
    const named = path.includes('?') ? path : `${path}${await this.#naming(path)}`;
    return await this.send(method, named, body === undefined ? {} : { body: JSON.stringify(body) });
  }

  async #naming(path: string): Promise<string> {
    if (this.token === null || OF_ACCOUNT.test(path)) return '';
    const answer = await this.get('/app/api/session');
    if (answer.status !== 200) return '';
    const { workspace } = JSON.parse(answer.text) as { workspace: { slug: string } | null };
    return workspace === null ? '' : `?workspace=${workspace.slug}`;
  }

  /** Reads JSON; anything but 200 fails the test. */
  async read<Body>(path: string): Promise<Body> {
    const answer = await this.get(path);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as Body;
  }

  signIn(email: string, password: string): Promise<Answer> {
    return this.write('POST', '/app/api/sign-in', { email, password });
  }
}

/** What an answer's body says. */
export function bodyOf<Body = Record<string, unknown>>(answer: Answer): Body {
  return JSON.parse(answer.text) as Body;
}
