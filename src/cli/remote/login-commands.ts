/** `sluice login`, `sluice logout` and `sluice whoami`: signing this command line in to a remote server. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import { readLoginFolder } from '../../config/command-settings.ts';
import { OperatorError } from '../../errors.ts';
import { note, paint, plain } from '../../terminal/output.ts';
import { answer, type OutputOptions, shownTime } from '../answer.ts';
import {
  chooseServer,
  type PlaceOptions,
  readLogins,
  removeLogin,
  type ServerLogin,
  saveLogin,
  serverOption,
  serverUrl,
} from './logins.ts';
import { call, refusalOf, type ServerAnswer, send } from './server-call.ts';

const CLIENT = 'sluice';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
/** Added to the interval by each `slow_down` (RFC 8628, 3.5), and when the server does not answer. */
const SLOWER_SECONDS = 5;
const MS_PER_SECOND = 1000;
const DEVICE_NAME_CHARS_MAX = 100;

interface LoginOptions extends OutputOptions {
  readonly name?: string;
  readonly allowHttp?: boolean;
}

const begunBody = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.number().positive(),
  interval: z.number().positive(),
});
const tokenBody = z.object({
  access_token: z.string(),
  email: z.string(),
  workspace: z.string(),
  role: z.string(),
  expires_at: z.string(),
});
const errorBody = z.object({ error: z.string() });
const sessionBody = z.object({
  email: z.string(),
  workspace: z.string(),
  role: z.string(),
  plan: z.string(),
  device_name: z.string(),
  expires_at: z.string(),
});

type Begun = z.infer<typeof begunBody>;

async function begin(server: string, deviceName: string): Promise<Begun> {
  const begun = await send(server, null, '/cli/v1/device-authorization', {
    method: 'POST',
    form: { client_id: CLIENT, device_name: deviceName.slice(0, DEVICE_NAME_CHARS_MAX) },
  });
  const parsed = begunBody.safeParse(begun.body);
  if (begun.status === 200 && parsed.success) return parsed.data;
  throw refusalOf(server, begun);
}

const isBusy = ({ status }: ServerAnswer): boolean => status === 429 || status === 503;

function errorOf({ body }: ServerAnswer): string | null {
  const parsed = errorBody.safeParse(body);
  return parsed.success ? parsed.data.error : null;
}

async function waitForToken(server: string, begun: Begun): Promise<z.infer<typeof tokenBody>> {
  const endsAtMs = performance.now() + begun.expires_in * MS_PER_SECOND;
  const form = { client_id: CLIENT, grant_type: GRANT_TYPE, device_code: begun.device_code };
  let intervalSeconds = begun.interval;
  let pauseSeconds = intervalSeconds;
  while (performance.now() < endsAtMs) {
    await sleep(pauseSeconds * MS_PER_SECOND);
    const polled = await send(server, null, '/cli/v1/token', { method: 'POST', form }).catch(
      (error: unknown) => {
        // The server restarts, or the network is away for a moment: the code stays valid.
        note(error instanceof Error ? error.message : String(error));
        return null;
      },
    );
    pauseSeconds = intervalSeconds;
    if (polled === null) {
      pauseSeconds += SLOWER_SECONDS;
      continue;
    }
    const token = tokenBody.safeParse(polled.body);
    if (polled.status === 200 && token.success) return token.data;
    const error = errorOf(polled);
    if (error === 'access_denied') throw new OperatorError('The login was denied.');
    if (error === 'expired_token') break;
    if (error === 'slow_down') {
      intervalSeconds += SLOWER_SECONDS;
      pauseSeconds = intervalSeconds;
    } else if (isBusy(polled)) {
      pauseSeconds = Math.max(intervalSeconds, polled.retryAfterSeconds ?? 0);
    } else if (error !== 'authorization_pending') {
      throw refusalOf(server, polled);
    }
  }
  throw new OperatorError('The code has expired: run sluice login again.');
}

/** Ends a login on its server; false when it had ended before. */
async function endOnServer({ server, token }: ServerLogin): Promise<boolean> {
  const ended = await send(server, token, '/cli/v1/session', { method: 'DELETE' });
  if (ended.status === 200) return true;
  if (ended.status === 401) return false;
  throw refusalOf(server, ended);
}

async function logIn(url: string, options: LoginOptions): Promise<void> {
  const server = serverUrl(url, options.allowHttp ?? false);
  const folder = readLoginFolder(process.env);
  const former = readLogins(folder).all.find((one) => one.server === server);
  const begun = await begin(server, options.name ?? hostname());
  note(
    `Open ${plain(begun.verification_uri)} in a browser and enter this code:\n\n` +
      `    ${paint.bold(plain(begun.user_code))}\n\n` +
      `or open ${plain(begun.verification_uri_complete)}\n` +
      `The code is valid for ${Math.round(begun.expires_in / 60)} minutes. Waiting …`,
  );
  const { access_token: token, ...account } = await waitForToken(server, begun);
  saveLogin(folder, { server, token, ...account });
  // The file has the new token before the old one ends, so that neither is lost.
  if (former !== undefined) await endOnServer(former);
  const shown = { server, ...account };
  answer(options, shown, () =>
    [
      `${paint.green('Signed in')} to ${server} as ${plain(account.email)}, workspace ` +
        `"${plain(account.workspace)}", ${plain(account.role)}.`,
      `The login is kept in ${folder} and ends on ${shownTime(new Date(account.expires_at))} UTC; ` +
        'sluice logout ends it now.',
    ].join('\n'),
  );
}

async function logOut(url: string | undefined, options: OutputOptions): Promise<void> {
  const folder = readLoginFolder(process.env);
  const logins = readLogins(folder);
  const server = url === undefined ? null : serverUrl(url);
  const login = server === null ? logins.default : logins.all.find((one) => one.server === server);
  if (login === null || login === undefined) {
    throw new OperatorError(`You are not signed in${server === null ? '' : ` to ${server}`}.`);
  }
  const ended = await endOnServer(login).catch((error: unknown) => {
    removeLogin(folder, login.server);
    const why = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `${why}\nThe login is removed here, but still valid on the server: end it in the dashboard, ` +
        'under Settings, Your sessions.',
    );
  });
  removeLogin(folder, login.server);
  answer(options, { server: login.server, ended }, () =>
    ended
      ? `Signed out of ${login.server}.`
      : `The login on ${login.server} had ended before; it is removed here.`,
  );
}

async function whoAmI(options: OutputOptions & PlaceOptions): Promise<void> {
  const login = chooseServer(options);
  if (login === null) {
    answer(options, { server: null }, () => 'Commands here use the local database.');
    return;
  }
  const session = sessionBody.parse(await call(login, '/cli/v1/session'));
  answer(options, { server: login.server, ...session }, () =>
    [
      `Server     ${login.server}`,
      `Account    ${plain(session.email)}`,
      `Workspace  ${plain(session.workspace)}, plan ${plain(session.plan)}`,
      `Role       ${plain(session.role)}`,
      `Device     ${plain(session.device_name)}`,
      `Ends       ${shownTime(new Date(session.expires_at))} UTC`,
    ].join('\n'),
  );
}

export function addLoginCommands(program: Command): void {
  program
    .command('login')
    .description('sign in to a server, confirmed in its dashboard')
    .argument('<url>', 'base URL of the server')
    .option('--name <name>', 'device name in your list of sessions; the host name by default')
    .option('--allow-http', 'allow a remote server without TLS')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice login https://sluice.example.org')
    .action(logIn);
  program
    .command('logout')
    .description('sign out, on the server and here')
    .argument('[url]', 'base URL of the server; the last one signed in to by default')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice logout https://sluice.example.org')
    .action(logOut);
  program
    .command('whoami')
    .description('show the server, account, workspace and role that commands use')
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice whoami')
    .action(whoAmI);
}
