#!/usr/bin/env -S node --v8-pool-size=0
/**
 * The command `sluice`: registers the TypeScript loader, then hands over to src/cli.ts. The flag is
 * that of `npm start` (docs/decisions/0013-v8-helper-threads.md).
 */
import { register } from 'tsx/esm/api';

register();
await import('../src/cli.ts');
