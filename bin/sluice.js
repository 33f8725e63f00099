#!/usr/bin/env node
/** The command `sluice`: registers the TypeScript loader, then hands over to src/cli.ts. */
import { register } from 'tsx/esm/api';

register();
await import('../src/cli.ts');
