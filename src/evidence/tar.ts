/**
 * Tar archives (POSIX ustar) of plain files with the same bytes for the same files: no times, owners or links.
 * The reader accepts exactly what the writer writes, so that no byte of an archive is without meaning.
 */

const BLOCK_BYTES = 512;
export const TAR_END: Buffer = Buffer.alloc(2 * BLOCK_BYTES);
const NAME_BYTES_MAX = 100;
/** Largest file that is read: it is in memory as a whole. */
const FILE_BYTES_MAX = 512 * 1024 * 1024;
/** Most files that are read of an archive. */
const FILES_MAX = 20_000;
/** Relative, without empty or hidden parts. */
const SAFE_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const NAME_FIELD = { start: 0, end: NAME_BYTES_MAX } as const;
const SIZE_FIELD = { start: 124, end: 135 } as const;
const CHECKSUM_FIELD = { start: 148, end: 156 } as const;

const isSafe = (name: string): boolean => SAFE_NAME.test(name) && name.length <= NAME_BYTES_MAX;

function header(name: string, bytes: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');
  block.write(name, NAME_FIELD.start, 'latin1');
  block.write('0000644\0', 100, 'latin1');
  block.write('0000000\0', 108, 'latin1');
  block.write('0000000\0', 116, 'latin1');
  block.write(`${octal(bytes, 11)}\0`, SIZE_FIELD.start, 'latin1');
  block.write(`${octal(0, 11)}\0`, 136, 'latin1');
  block.fill(' ', CHECKSUM_FIELD.start, CHECKSUM_FIELD.end);
  block.write('0', 156, 'latin1');
  block.write('ustar\u000000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, CHECKSUM_FIELD.start, 'latin1');
  return block;
}

const paddingOf = (bytes: number): number => (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;

export function tarFile(name: string, content: Buffer): Buffer {
  if (!isSafe(name)) throw new Error(`not a name for an archive: ${name}`);
  const padding = Buffer.alloc(paddingOf(content.length));
  return Buffer.concat([header(name, content.length), content, padding]);
}

export interface Archive {
  /** returns fewer bytes at the end only */
  readonly read: (from: number, bytes: number) => Buffer;
}

/** An archive that the writer of this file did not write, or that is damaged. */
export class TarFault extends Error {}

function headerAt(archive: Archive, at: number): { name: string; bytes: number } | null {
  const block = archive.read(at, BLOCK_BYTES);
  if (block.length < BLOCK_BYTES) throw new TarFault('the file is cut off');
  if (block.every((byte) => byte === 0)) return null;
  const name = block.toString('latin1', NAME_FIELD.start, NAME_FIELD.end).replace(/\0+$/, '');
  if (!isSafe(name)) throw new TarFault(`the name of the file at byte ${at} is not a safe one`);
  const bytes = Number.parseInt(block.toString('latin1', SIZE_FIELD.start, SIZE_FIELD.end), 8);
  if (!(bytes >= 0 && bytes <= FILE_BYTES_MAX) || !header(name, bytes).equals(block)) {
    throw new TarFault(`the header of ${name} is damaged`);
  }
  return { name, bytes };
}

/** Reads the files of an archive in their order. @throws {TarFault} for what the writer does not write */
export function* readTar(archive: Archive): Generator<{ name: string; content: Buffer }> {
  const names = new Set<string>();
  let at = 0;
  for (;;) {
    const found = headerAt(archive, at);
    if (found === null) break;
    const { name, bytes } = found;
    if (names.has(name)) throw new TarFault(`${name} is there twice`);
    if (names.size >= FILES_MAX) throw new TarFault(`more than ${FILES_MAX} files`);
    names.add(name);
    at += BLOCK_BYTES;
    const content = archive.read(at, bytes);
    const padding = archive.read(at + bytes, paddingOf(bytes));
    if (content.length < bytes || padding.length < paddingOf(bytes)) {
      throw new TarFault(`the file is cut off in ${name}`);
    }
    if (padding.some((byte) => byte !== 0)) {
      throw new TarFault(`there are bytes between ${name} and the next file`);
    }
    yield { name, content };
    at += bytes + padding.length;
  }
  const end = archive.read(at, TAR_END.length + 1);
  if (!end.equals(TAR_END)) throw new TarFault('the end of the file is damaged');
}
