/**
 * Global set-up of the projects that start the program, its threads or its processes: they run
 * `dist/`, which is built here if it is out of date. Takes a tenth of a second if it is not.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const BUILD = fileURLToPath(new URL('../../bin/build.js', import.meta.url));

/** @throws when it cannot be built */
export default function setUp(): void {
  execFileSync(process.execPath, [BUILD], { stdio: 'inherit' });
}
