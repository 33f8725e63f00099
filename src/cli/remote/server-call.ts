/**
 * Requests of a signed-in command line to its server. Nothing that a server sends is trusted: an answer
 * has a limit of size and time, and redirects are not followed, so that a token goes nowhere else.
 */
import { z } from 'zod';
import { OperatorError } from '../../errors.ts';
import { plain } from '../../terminal/output.ts';
import type { ServerLogin } from './logins.ts';

const ANSWER_MS_MAX = 30_000;
/** Far above 500 rules or findings. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
/** An evidence package has 256 MiB of records, and some megabytes beside them. */
const DOWNLOAD_BYTES_MAX = 512 * 1024 * 1024;
const DOWNLOAD_MS_MAX = 3_600_000;

const problemBody = z.object({
  title: z.string(),
  detail: z.string(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

export interface Sent {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly query?: Query;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
}

export interface ServerAnswer {
  readonly status: number;
  readonly retryAfterSeconds: number | null;
  readonly body: unknown;
}

async function* chunksOf(response: Response, bytesMax: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    const part = chunk as Uint8Array;
    bytes += part.byteLength;
    if (bytes > bytesMax) throw new OperatorError('The answer of the server is too long.');
    yield part;
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of chunksOf(response, ANSWER_BYTES_MAX)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function bodyOf({ json, form }: Sent): { type: string; text: string } | null {
  if (json !== undefined) return { type: 'application/json', text: JSON.stringify(json) };
  if (form === undefined) return null;
  const text = new URLSearchParams(form).toString();
  return { type: 'application/x-www-form-urlencoded', text };
}

/** Parameters of a request; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | undefined>>;

export function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value);
  }
  return parameters.toString();
}

function urlOf(server: string, path: string, { query }: Sent): string {
  return query === undefined ? `${server}${path}` : `${server}${path}?${queryText(query)}`;
}

function unreachable(server: string, cause: unknown): unknown {
  if (cause instanceof OperatorError) return cause;
  const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const reason = why instanceof Error ? why.message : String(why);
  return new OperatorError(`${server} could not be reached: ${plain(reason)}`, { cause });
}

async function open(
  server: string,
  token: string | null,
  path: string,
  { sent = {}, msMax = ANSWER_MS_MAX }: { readonly sent?: Sent; readonly msMax?: number } = {},
): Promise<Response> {
  const body = bodyOf(sent);
  return await fetch(urlOf(server, path, sent), {
    method: sent.method ?? 'GET',
    redirect: 'error',
    signal: AbortSignal.timeout(msMax),
    headers: {
      accept: 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === null ? {} : { 'content-type': body.type }),
    },
    ...(body === null ? {} : { body: body.text }),
  });
}

function answerOf(server: string, { status, headers }: Response, text: string): ServerAnswer {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const retryAfterSeconds = Number.isFinite(seconds) ? seconds : null;
  try {
    return { status, retryAfterSeconds, body: JSON.parse(text) };
  } catch (cause) {
    throw new OperatorError(
      `${server} answered ${status} without JSON: is this the address of a Sluice server, of ` +
        'this version or a later one?',
      { cause },
    );
  }
}

/** @throws {OperatorError} when the server cannot be reached, or its answer is not JSON */
export async function send(
  server: string,
  token: string | null,
  path: string,
  sent: Sent = {},
): Promise<ServerAnswer> {
  try {
    const response = await open(server, token, path, { sent });
    return answerOf(server, response, await readText(response));
  } catch (cause) {
    throw unreachable(server, cause);
  }
}

/** @throws {OperatorError} also when the server refuses it, or ends it too early */
export async function* download(
  { server, token }: Pick<ServerLogin, 'server' | 'token'>,
  path: string,
): AsyncGenerator<Uint8Array> {
  try {
    const response = await open(server, token, path, { msMax: DOWNLOAD_MS_MAX });
    if (response.status === 200) yield* chunksOf(response, DOWNLOAD_BYTES_MAX);
    else throw refusalOf(server, answerOf(server, response, await readText(response)));
  } catch (cause) {
    throw unreachable(server, cause);
  }
}

export function refusalOf(server: string, { status, body }: ServerAnswer): OperatorError {
  const parsed = problemBody.safeParse(body);
  if (!parsed.success) return new OperatorError(`${server} answered ${status}.`);
  const { title, detail, errors = [] } = parsed.data;
  const faults = errors.map(({ path, message }) => `\n  ${plain(path)}: ${plain(message)}`);
  const refused = plain(`${server} answered ${status}, ${title}: ${detail}`);
  return new OperatorError([refused, ...faults].join(''));
}

/** @throws {OperatorError} also when the server refuses it */
export async function call(
  { server, token }: Pick<ServerLogin, 'server' | 'token'>,
  path: string,
  sent: Sent = {},
): Promise<unknown> {
  const answer = await send(server, token, path, sent);
  if (answer.status === 200) return answer.body;
  throw refusalOf(server, answer);
}
