/**
 * A browser as far as the dashboard can tell: keeps the session's cookie, says where its writes come
 * from, and follows no redirect by itself.
 */
import { type Answer, request } from './gateway.ts';

const COOKIE = 'sluice_session';
/** Forms about the signed-in user, or sent by nobody signed in: they name no workspace. */
const OF_ACCOUNT = /^\/app\/(workspace$|password$|sessions\/|sign-|invitation\/)/;
const FORM_TYPE = 'application/x-www-form-urlencoded';

export type Fields = Readonly<Record<string, string>>;

/** What the settings page says about the session. */
export interface ShownAccount {
  readonly email: string;
  readonly role: string;
  readonly plan: string;
  /** slug of the workspace that the session shows */
  readonly workspace: string;
  /** slugs of all workspaces that the page offers; empty when there is one only */
  readonly workspaces: readonly string[];
}

export class Browser {
  readonly baseUrl: string;
  /** the session's token; null when it has none */
  token: string | null;
  /** other cookies, by name */
  readonly cookies = new Map<string, string>();
  /** the workspace that the session shows, once a page has said so */
  #shown: { readonly token: string; readonly slug: string } | null = null;

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
    if (OF_ACCOUNT.test(path)) this.#shown = null;
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

  /** Sends a form, for the workspace that the session shows, as the dashboard's own pages do. */
  async submit(path: string, fields: Fields = {}): Promise<Answer> {
    return await this.send('POST', await this.#named(path), {
      body: new URLSearchParams(fields).toString(),
      headers: { 'content-type': FORM_TYPE },
    });
  }

  /** Sends JSON, for the workspace that the session shows. */
  async put(path: string, body: unknown): Promise<Answer> {
    return await this.send('PUT', await this.#named(path), { body: JSON.stringify(body) });
  }

  async #named(path: string): Promise<string> {
    if (this.token === null || OF_ACCOUNT.test(path) || path.includes('?')) return path;
    if (this.#shown?.token !== this.token) {
      const account = await this.account();
      if (account === null) return path;
      this.#shown = { token: this.token, slug: account.workspace };
    }
    return `${path}?workspace=${this.#shown?.slug}`;
  }

  /** Who is signed in; null without a session, or one of no workspace. */
  async account(): Promise<ShownAccount | null> {
    const { status, text } = await this.get('/app/settings');
    if (status !== 200) return null;
    const fact = (name: string): string =>
      new RegExp(`<dt>${name}</dt><dd>(?:<code>)?([^<]*)<`).exec(text)?.[1] ?? '';
    const choice = /<select name="workspace">(.*?)<\/select>/.exec(text)?.[1] ?? '';
    return {
      email: /of your account, ([^<]*)\.<\/p>/.exec(text)?.[1] ?? '',
      role: fact('Your role'),
      plan: fact('Plan'),
      workspace: fact('Slug'),
      workspaces: [...choice.matchAll(/value="([^"]*)"/g)].map(([, slug = '']) => slug),
    };
  }

  /** Whether the session is open, of a workspace or not. */
  async isSignedIn(): Promise<boolean> {
    return (await this.get('/app/settings')).status !== 303;
  }

  signIn(email: string, password: string): Promise<Answer> {
    return this.submit('/app/sign-in', { email, password });
  }
}

/** What an answer's body says. */
export function bodyOf<Body = Record<string, unknown>>(answer: Answer): Body {
  return JSON.parse(answer.text) as Body;
}

/** The key or link that an answer shows this once. */
export function secretOf({ status, text }: Answer): string {
  const secret = /<code class="secret">([^<]+)</.exec(text)?.[1];
  if (secret === undefined) throw new Error(`no secret is shown: ${status} ${text}`);
  return secret;
}
