/**
 * The embedded server's log file. It holds no statement and no row (see the settings in
 * cluster.ts), so its last lines may be shown to the operator.
 *
 * Never a pipe to this process, which the server may outlive.
 */
import { type FileHandle, open, rename } from 'node:fs/promises';
import { logFileOf } from './installation.ts';
import { errorCode } from './process.ts';

/** A healthy server writes about 10 MB in a year. */
const LOG_BYTES_MAX = 10 * 1024 * 1024;
const TAIL_BYTES = 4096;
const TAIL_LINES = 6;

/** Opens the log for a new server, whose part begins at `start`; a long one is renamed before. */
export async function openServerLog(home: string): Promise<{ file: FileHandle; start: number }> {
  const path = logFileOf(home);
  const file = await open(path, 'a', 0o600);
  const { size } = await file.stat();
  if (size <= LOG_BYTES_MAX) return { file, start: size };
  await file.close();
  await rename(path, `${path}.1`);
  return { file: await open(path, 'a', 0o600), start: 0 };
}

export async function serverLogTail(home: string, start: number): Promise<string> {
  let file: FileHandle;
  try {
    file = await open(logFileOf(home), 'r');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'it wrote no log';
    throw error;
  }
  try {
    const { size } = await file.stat();
    const from = Math.max(start, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, from);
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
    const messages = lines.map(withoutPrefix).filter((line) => line !== '');
    return messages.length === 0 ? 'it wrote no log' : messages.slice(-TAIL_LINES).join(' · ');
  } finally {
    await file.close();
  }
}

function withoutPrefix(line: string): string {
  return line.replace(/^\d{4}-\d\d-\d\d \S+ \S+ \[\d+\] /, '').trim();
}
