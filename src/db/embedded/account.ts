/**
 * The account that the embedded server runs as. PostgreSQL refuses to run as root, so root runs it as
 * a system user, which is created if it is missing.
 *
 * Never touches an account that exists.
 */
import { OperatorError } from '../../errors.ts';
import { oneLine, runProgram, type SystemAccount } from './process.ts';

const COMMAND_TIMEOUT_MS = 30_000;

/** The usual name: where a distribution's PostgreSQL was ever installed, the user exists. */
const SYSTEM_USER = 'postgres';

/** The account for the server: this process's, or for root the system user. */
export async function databaseAccount(): Promise<SystemAccount> {
  if (process.getuid?.() !== 0) return null;
  return systemAccount(SYSTEM_USER);
}

/** Looks the system user up; makes it and its group when it is missing. @throws OperatorError */
export async function systemAccount(name: string): Promise<{ uid: number; gid: number }> {
  const found = await lookUp(name);
  if (found !== null) return found;
  const said = await makeUser(name);
  const made = await lookUp(name);
  if (made !== null) return made;
  throw new OperatorError(
    `PostgreSQL does not run as root and the user '${name}' could not be created (${oneLine(said)}); ` +
      'start Sluice as an ordinary user, or set DATABASE_URL',
  );
}

async function lookUp(name: string): Promise<{ uid: number; gid: number } | null> {
  const uid = await run(['id', '-u', name]);
  const gid = await run(['id', '-g', name]);
  if (uid.code !== 0 || gid.code !== 0) return null;
  return { uid: Number(uid.output), gid: Number(gid.output) };
}

/** The output of the last tool; a second lookup of the user shows whether it worked. */
async function makeUser(name: string): Promise<string> {
  let said = 'neither useradd nor adduser is installed';
  for (const commands of userCommands(name)) {
    for (const command of commands) {
      const result = await run(command);
      if (!result.missing) said = result.output;
    }
    if ((await lookUp(name)) !== null) break;
  }
  return said;
}

/** shadow's tools first (Debian, Fedora), then busybox's. A group that exists is a mere message. */
function userCommands(name: string): readonly (readonly string[])[][] {
  const shadow = ['--system', '--gid', name, '--no-create-home', '--home-dir', '/nonexistent'];
  return [
    [
      ['groupadd', '--system', name],
      ['useradd', ...shadow, '--shell', '/usr/sbin/nologin', name],
    ],
    [
      ['addgroup', '-S', name],
      ['adduser', '-S', '-D', '-H', '-h', '/nonexistent', '-s', '/sbin/nologin', '-G', name, name],
    ],
  ];
}

function run(command: readonly string[]): ReturnType<typeof runProgram> {
  const [file = '', ...args] = command;
  return runProgram(file, args, { account: null, timeoutMs: COMMAND_TIMEOUT_MS });
}
