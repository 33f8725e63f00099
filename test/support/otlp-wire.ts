/**
 * What the wire tests need beside `fetch`: requests as bytes, answers whatever way they come, and
 * how much memory another process has ever held.
 *
 * Every wait is bounded: a server that hangs fails the test instead of stopping it.
 */
import { readFile } from 'node:fs/promises';

import { head, openSocket, statuses } from './raw-socket.ts';

const KIB = 1024;

/** The most memory a process has held since it started, in bytes (Linux: VmHWM). */
export async function peakMemoryBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kilobytes === undefined) throw new Error(`no VmHWM of process ${pid}`);
  return Number(kilobytes) * KIB;
}

/** A whole POST with a body of a declared length, as bytes. */
export function postBytes(path: string, headers: readonly string[], body: Buffer): Buffer {
  const lines = [...headers, `Content-Length: ${body.length}`];
  return Buffer.concat([Buffer.from(head('POST', path, ...lines), 'latin1'), body]);
}

/** Header lines of an authorised OTLP/HTTP JSON request. */
export function otlpHeaderLines(key: string): string[] {
  return [`Authorization: Bearer ${key}`, 'Content-Type: application/json'];
}

/** A promise for `outcome` once `ms` have passed; the timer does not outlive the race it is in. */
function after<Outcome>(ms: number, outcome: Outcome) {
  let timer: NodeJS.Timeout | undefined;
  const promise = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => resolve(outcome), ms);
  });
  return { promise, cancel: () => clearTimeout(timer) };
}

/**
 * Sends bytes that may be no request at all and tells the statuses of what came back.
 *
 * A head that was damaged may announce more than follows, and then silence is the right answer. So
 * after `patienceMs` without a status this side closes, and the server has to follow.
 *
 * @throws when the server keeps the connection `closeWithinMs` after this side has closed
 */
export async function throwAt(
  port: number,
  bytes: Buffer,
  { patienceMs, closeWithinMs }: { readonly patienceMs: number; readonly closeWithinMs: number },
): Promise<number[]> {
  const socket = await openSocket(port);
  const answered = socket.until(/HTTP\/1\.1 \d{3} /).catch(() => socket.received());
  // A server that refuses early may have closed before all of it was taken.
  await socket.send(bytes).catch(() => undefined);
  const patience = after(patienceMs, '');
  await Promise.race([answered, patience.promise]);
  patience.cancel();
  socket.socket.end();
  const limit = after(closeWithinMs, null);
  const text = await Promise.race([socket.closed(), limit.promise]);
  limit.cancel();
  socket.socket.destroy();
  if (text === null) throw new Error('the server holds a connection that its client has closed');
  return statuses(text);
}
