/**
 * The folder of a relay's queue is used only if no other user can change it, its files or the way to it.
 */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { OperatorError } from '../../../src/errors.ts';
import { DiskQueue, openQueueFolder } from '../../../src/relay/queue/disk-queue.ts';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const QUEUE_FILE = '00000001.queue';
const OTHER_FOLDER = 'choose another folder with --queue-dir';

let root: string;
let folder: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-queue-folder-')));
  folder = join(root, 'queue');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const modeOf = (path: string): number => statSync(path).mode & 0o7777;

/** The line for the operator; null when the folder is used. */
function refusal(path = folder): string | null {
  try {
    openQueueFolder(path);
  } catch (error) {
    if (error instanceof OperatorError) return error.message;
    throw error;
  }
  return null;
}

function makeFolder(mode = 0o700): void {
  mkdirSync(folder);
  chmodSync(folder, mode);
}

describe('a folder is used', () => {
  test('when it is made now, for this user alone, with the folders above it', () => {
    const deep = join(root, 'state', 'sluice', 'relay');
    expect(openQueueFolder(deep)).toBe(deep);
    for (const path of [deep, join(root, 'state')]) expect(modeOf(path)).toBe(0o700);
  });

  test.each([0o700, 0o750, 0o755])('when only its owner can write to it: mode %o stays', (mode) => {
    makeFolder(mode);
    writeFileSync(join(folder, QUEUE_FILE), '');
    mkdirSync(join(folder, 'lost+found'));
    expect(openQueueFolder(folder)).toBe(folder);
    expect(modeOf(folder)).toBe(mode);
  });

  test.each([
    ['a group can write to the one above', 0o2775],
    ['all can write to the one above, which has the sticky bit', 0o1777],
  ])('when %s', (_what, mode) => {
    chmodSync(root, mode);
    expect(openQueueFolder(folder)).toBe(folder);
  });

  test('by its real path when a link of this user leads to the one above', () => {
    symlinkSync(root, `${root}-link`);
    try {
      expect(openQueueFolder(join(`${root}-link`, 'queue'))).toBe(folder);
    } finally {
      rmSync(`${root}-link`);
    }
  });
});

describe('a folder is refused', () => {
  test('when it is a symbolic link, also one that leads nowhere', () => {
    const target = join(root, 'target');
    symlinkSync(target, folder);
    expect(refusal()).toBe(
      `${folder} is a symbolic link: put the folder itself in its place, or ${OTHER_FOLDER}`,
    );
    expect(readdirSync(root)).toEqual(['queue']);
    mkdirSync(target, { mode: 0o755 });
    expect(refusal()).toContain('is a symbolic link');
    expect(modeOf(target)).toBe(0o755);
  });

  test.each([0o720, 0o702, 0o775, 0o1777])(
    'when group or others can write to it: mode %o',
    (mode) => {
      makeFolder(mode);
      expect(refusal()).toBe(
        `${folder} can be written by other users (mode ${mode.toString(8).padStart(4, '0')}): check ` +
          `what they put there, then run chmod go-w ${folder}, or ${OTHER_FOLDER}`,
      );
      expect(modeOf(folder)).toBe(mode);
    },
  );

  test.each([
    ['itself', () => folder],
    ['above it', () => root],
  ])('when all can write to a folder above it: %s', (_what, inside) => {
    const above = inside();
    if (above === folder) makeFolder();
    chmodSync(above, 0o777);
    expect(refusal(join(above, 'a'))).toBe(
      `${above} can be written by all users (mode 0777), who could replace what is in it: run ` +
        `chmod o-w ${above}, or ${OTHER_FOLDER}`,
    );
    expect(readdirSync(above)).toEqual([]);
  });

  test('when it is a file, or its parent is one', () => {
    writeFileSync(folder, '');
    expect(refusal()).toBe(`${folder} is not a folder: ${OTHER_FOLDER}`);
    expect(refusal(join(folder, 'a'))).toBe(
      `The folder of the queue cannot be used: ${join(folder, 'a')}`,
    );
  });

  test.runIf(isRoot)('when it, or one above it, belongs to another user', () => {
    makeFolder();
    chownSync(folder, NOBODY, NOBODY);
    expect(refusal()).toBe(
      `${folder} belongs to uid ${NOBODY}, and Sluice runs as uid 0: start Sluice as that user, ` +
        `remove the folder if it holds nothing, or ${OTHER_FOLDER}`,
    );
    expect(refusal(join(folder, 'a'))).toBe(
      `${folder} belongs to uid ${NOBODY}, who can replace it: ${OTHER_FOLDER}`,
    );
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a file in it', () => {
  test.each([QUEUE_FILE, 'sent', 'lock', 'owner.1'])(
    'that is a symbolic link is refused: %s',
    (name) => {
      makeFolder();
      const target = join(root, 'target');
      writeFileSync(target, 'precious');
      symlinkSync(target, join(folder, name));
      expect(refusal()).toBe(
        `${join(folder, name)} is not a regular file, so another user may have put it there: ` +
          'move it out of the folder',
      );
      expect(readFileSync(target, 'utf8')).toBe('precious');
    },
  );

  test.runIf(isRoot)('that belongs to another user is refused', () => {
    makeFolder();
    const path = join(folder, QUEUE_FILE);
    writeFileSync(path, '');
    chownSync(path, NOBODY, NOBODY);
    expect(refusal()).toContain(`${path} belongs to uid ${NOBODY}`);
  });

  test('that became a link is not read and not written through', () => {
    makeFolder();
    const target = join(root, 'target');
    writeFileSync(target, 'precious');
    const open = () =>
      new DiskQueue(folder, 1 << 20, { queueDamaged: () => {}, incompleteRecordDropped: () => {} });
    symlinkSync(target, join(folder, 'sent'));
    expect(open).toThrow(/ELOOP/);
    rmSync(join(folder, 'sent'));
    symlinkSync(target, join(folder, QUEUE_FILE));
    expect(() => open().next()).toThrow(/ELOOP/);
    expect(readFileSync(target, 'utf8')).toBe('precious');
  });
});
