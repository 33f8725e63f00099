#!/usr/bin/env node
/** The command `sluice`: hands over to what was built from src/cli.ts. */
import { existsSync } from 'node:fs';

const program = new URL('../dist/cli.js', import.meta.url);
if (existsSync(program)) {
  try {
    await import(program.href);
  } catch (error) {
    const { explainLoadFailure } = await import('../dist/terminal/node-runtime.js');
    const explanation = explainLoadFailure(error);
    if (explanation === null) throw error;
    process.stderr.write(`sluice: ${explanation}\n`);
    process.exitCode = 1;
  }
} else {
  process.stderr.write('sluice: dist/ is missing: run `npm ci`, or `npm run build` after it\n');
  process.exitCode = 1;
}
