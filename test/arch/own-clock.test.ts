/**
 * A process's own clock may be wrong: what is stored, compared with what is stored, or deleted goes by
 * PostgreSQL's clock, and time limits by one that never jumps (`performance.now()`).
 */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { filesIn } from './source-file.ts';

const OWN_CLOCK = /\bDate\.now\b|new Date\(\)/;

/** Files that may read it, and why. */
const ALLOWED: Readonly<Record<string, string>> = {
  'src/db/database-clock.ts': "compares it with PostgreSQL's",
  'src/http/transport/exchange.ts': 'the Date header of answers',
  'src/relay/queue/queue-age.ts': 'once at the start of a relay, which has no database',
  'src/cli/replay/run-replay.ts': 'a command that sends: the times of the spans that it moves',
  'src/relay/upstream.ts': 'Retry-After as a date',
  'src/db/embedded/launch.ts': 'the age of a file of this machine',
};

test("the process's own clock is read where nothing depends on it, and nowhere else", () => {
  const readers = filesIn('src').filter(
    (path) => path.endsWith('.ts') && OWN_CLOCK.test(readFileSync(path, 'utf8')),
  );
  expect(readers.sort()).toEqual(Object.keys(ALLOWED).sort());
});
