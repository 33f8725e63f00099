#!/usr/bin/env node
/** The command `sluice`: hands over to what was built from src/cli.ts. */
import { existsSync } from 'node:fs';

const program = new URL('../dist/cli.js', import.meta.url);
if (existsSync(program)) {
  await import(program.href);
} else {
  process.stderr.write('sluice: dist/ is missing: run `npm ci`, or `npm run build` after it\n');
  process.exitCode = 1;
}
